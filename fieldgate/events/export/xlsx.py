"""Exports of events as an Excel workbook."""

import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from fieldgate.events.csv_rows import COLUMNS, HXL_HASHTAGS, REPORT_FIGURES
from fieldgate.events.export.file_context import FileContext
from fieldgate.http.response.csv_safe import decode_csv
from fieldgate.http.response.responses import CHUNK_BYTES
from fieldgate.i18n.messages import Message, translate
from fieldgate.overload import run_in_thread

MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
# Dates in Excel are numbers of days. It has none before March 1900, the end of a leap day that did not exist.
DAY_0, ONE_DAY, FIRST_DAY = datetime(1899, 12, 30, tzinfo=UTC), timedelta(days=1), 60
SHEET_NAME = "events"
DATE_FORMAT, FIGURE_FORMAT = "yyyy-mm-dd hh:mm", "#,##0"


class WorkbookColumn(NamedTuple):
    name: str  # in CSV
    title: Message
    kind: Literal["text", "number", "figure", "date", "boolean"] = "text"
    width: int = 12  # in characters


# What people look for first.
SHEET_COLUMNS = (
    WorkbookColumn("id", Message("Number"), "number", 9),
    WorkbookColumn("name", Message("Name"), width=45),
    WorkbookColumn("dtype.name", Message("Type"), width=18),
    WorkbookColumn("countries.name", Message("Countries"), width=25),
    WorkbookColumn("regions.name", Message("Regions"), width=20),
    WorkbookColumn("disaster_start_date", Message("Start (UTC)"), "date", 17),
    WorkbookColumn("ifrc_severity_level_display", Message("Severity")),
    WorkbookColumn("num_affected", Message("People affected"), "figure", 16),
    WorkbookColumn("appeals.count", Message("Number of appeals"), "figure", 18),
    WorkbookColumn("amount_requested", Message("Requested (CHF)"), "figure", 17),
    WorkbookColumn("amount_funded", Message("Funded (CHF)"), "figure", 17),
    *(
        WorkbookColumn(f"field_reports.{name}", Message("{figure} (field reports)", figure=title), "figure", 24)
        for name, title in REPORT_FIGURES.items()
    ),
    WorkbookColumn("glide", Message("GLIDE number"), width=21),
    WorkbookColumn("summary", Message("What happened"), width=60),
    WorkbookColumn("updated_at", Message("Updated (UTC)"), "date", 17),
    WorkbookColumn("created_at", Message("First reported (UTC)"), "date", 20),
    WorkbookColumn("countries.iso3", Message("ISO codes of the countries")),
    WorkbookColumn("countries.iso", Message("Two-letter codes of the countries")),
    WorkbookColumn("countries.society_name", Message("National societies"), width=30),
    WorkbookColumn("ifrc_severity_level", Message("Severity from 0 to 2"), "number"),
    WorkbookColumn("ifrc_severity_level_update_date", Message("Severity since (UTC)"), "date", 20),
    WorkbookColumn("demo", Message("Invented (demo)"), "boolean", 16),
    WorkbookColumn("is_featured", Message("Featured"), "boolean"),
    WorkbookColumn("is_featured_region", Message("Featured in its region"), "boolean"),
    WorkbookColumn("auto_generated", Message("Created automatically"), "boolean"),
    WorkbookColumn("parent_event", Message("Part of number"), "number"),
    WorkbookColumn("slug", Message("Name in addresses"), width=18),
    WorkbookColumn("dtype.summary", Message("About the type"), width=18),
    WorkbookColumn("dtype.translation_module_original_language", Message("Language of the type")),
    WorkbookColumn("dtype.id", Message("Id of the type"), "number"),
    WorkbookColumn("countries.id", Message("Ids of the countries")),
    WorkbookColumn("regions.id", Message("Ids of the regions")),
    WorkbookColumn("appeals.id", Message("Ids of the appeals")),
    WorkbookColumn("field_reports.id", Message("Ids of the field reports")),
)
_PLACES = [COLUMNS.index(column.name) for column in SHEET_COLUMNS]


async def write_xlsx(batches: AsyncIterable[list[bytes]], context: FileContext) -> AsyncGenerator[bytes, None]:
    """Write a workbook to a temporary file, then stream it. The batches are rows of CSV.

    A workbook is a zip archive with its index at the end, so it is only complete after the last row. Empty chunks are
    yielded meanwhile: they let the caller notice that the client has left.
    """
    header = [[translate(column.title, context.language) for column in SHEET_COLUMNS]]
    if context.with_hashtags:
        header.append([HXL_HASHTAGS[column.name] for column in SHEET_COLUMNS])
    with tempfile.TemporaryDirectory(prefix="fieldgate-export-") as folder:
        workbook = await run_in_thread(EventWorkbook, Path(folder), header)
        try:
            async for rows in batches:
                await run_in_thread(workbook.add, rows)
                yield b""
            file = await run_in_thread(workbook.complete)
        finally:
            workbook.close_files()
        with file.open("rb") as content:
            while chunk := content.read(CHUNK_BYTES):
                yield chunk


class EventWorkbook:
    """A workbook in a folder. Rows are written to files as they come; a full sheet is followed by another."""

    def __init__(self, folder: Path, header: Sequence[Sequence[str]]) -> None:
        import xlsxwriter  # most processes never need it

        self._file = folder / "events.xlsx"
        options = {
            "constant_memory": True,
            "tmpdir": str(folder),
            "strings_to_urls": False,
            "strings_to_formulas": False,
        }
        self._workbook = xlsxwriter.Workbook(str(self._file), options)
        self._workbook.use_zip64()
        self._bold = self._workbook.add_format({"bold": True})
        self._date = self._workbook.add_format({"num_format": DATE_FORMAT})
        self._figure = self._workbook.add_format({"num_format": FIGURE_FORMAT})
        self._header = header
        self._begin_sheet()

    def add(self, rows: Sequence[bytes]) -> None:
        """Add rows of CSV."""
        for row in decode_csv(b"".join(rows)):
            if self._row == MAX_SHEET_ROWS:
                self._begin_sheet()
            for place, (column, source) in enumerate(zip(SHEET_COLUMNS, _PLACES, strict=True)):
                if row[source]:
                    self._write(place, column.kind, row[source])
            self._row += 1

    def _write(self, place: int, kind: str, text: str) -> None:
        if kind == "number":
            self._sheet.write_number(self._row, place, int(text))
        elif kind == "figure":
            self._sheet.write_number(self._row, place, float(text), self._figure)
        elif kind == "boolean":
            self._sheet.write_boolean(self._row, place, text == "True")
        elif kind == "date" and (days := (datetime.fromisoformat(text) - DAY_0) / ONE_DAY) > FIRST_DAY:
            self._sheet.write_number(self._row, place, days, self._date)  # faster than `write_datetime`
        else:
            self._sheet.write_string(self._row, place, _no_markup(text))

    def complete(self) -> Path:
        """Write the rest of the workbook."""
        self._workbook.close()
        return self._file

    def close_files(self) -> None:
        for sheet in self._workbook.worksheets():
            sheet._opt_close()

    def _begin_sheet(self) -> None:
        number = len(self._workbook.worksheets()) + 1
        self._sheet = self._workbook.add_worksheet(SHEET_NAME if number == 1 else f"{SHEET_NAME} {number}")
        for place, column in enumerate(SHEET_COLUMNS):
            self._sheet.set_column(place, place, column.width)
        for place, row in enumerate(self._header):
            self._sheet.write_row(place, 0, row, self._bold)
        self._sheet.freeze_panes(len(self._header), 0)
        self._row = len(self._header)


def _no_markup(text: str) -> str:
    """The text; with a space at the end if xlsxwriter would take it as markup, and write it as it is."""
    return text + " " if text.startswith("<r>") and text.endswith("</r>") else text
