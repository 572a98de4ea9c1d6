"""Exports of events as an Excel workbook."""

import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from fieldgate.events.export.file_context import FileContext
from fieldgate.events.rows import COLUMNS, REPORT_FIGURES
from fieldgate.http.response.csv_safe import decode_csv
from fieldgate.http.response.responses import CHUNK_BYTES
from fieldgate.i18n.messages import Message, translate
from fieldgate.overload import run_in_thread

MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
MAX_CELL_UNITS = 32_767  # Excel's limit for one cell, in units of UTF-16
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
        WorkbookColumn(
            f"field_reports.{name}", Message("{figure} (field reports)", figure=title), "figure", 24
        )
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
_LETTERS = [chr(ord("A") + place) for place in range(26)]
_LETTERS += ["A" + letter for letter in _LETTERS]
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_SPECIAL = re.compile(f"[&<>]|{_CONTROL.pattern}|{_ESCAPED.pattern}")


async def write_xlsx(
    batches: AsyncIterable[list[bytes]], context: FileContext
) -> AsyncGenerator[bytes, None]:
    """Write a workbook to a temporary file, then stream it. The batches are rows of CSV.

    A workbook is a zip archive with its index at the end, so it is only complete after the last row. Empty chunks are
    yielded meanwhile: they let the caller notice that the client has left.
    """
    header = [[translate(column.title, context.language) for column in SHEET_COLUMNS]]
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
        self._date_index, self._figure_index = (
            self._workbook.add_format({"num_format": each})._get_xf_index()
            for each in (DATE_FORMAT, FIGURE_FORMAT)
        )
        self._header = header
        self._begin_sheet()

    def add(self, rows: Sequence[bytes]) -> None:
        """Add rows of CSV."""
        lines: list[str] = []
        for row in decode_csv(b"".join(rows)):
            if self._row == MAX_SHEET_ROWS:
                self._write_lines(lines)
                self._begin_sheet()
            self._row += 1
            cells = [
                self._cell(place, row[source])
                for place, source in enumerate(_PLACES)
                if row[source]
            ]
            lines.append(f'<row r="{self._row}">{"".join(cells)}</row>')
        self._write_lines(lines)

    def _cell(self, place: int, text: str) -> str:
        """The XML of a cell. The methods of xlsxwriter would take several times as long."""
        kind, reference = SHEET_COLUMNS[place].kind, f"{_LETTERS[place]}{self._row}"
        if kind == "number":
            return f'<c r="{reference}"><v>{int(text)}</v></c>'
        if kind == "figure":
            return f'<c r="{reference}" s="{self._figure_index}"><v>{float(text)}</v></c>'
        if kind == "boolean":
            return f'<c r="{reference}" t="b"><v>{int(text == "True")}</v></c>'
        if (
            kind == "date"
            and (days := (datetime.fromisoformat(text) - DAY_0) / ONE_DAY) > FIRST_DAY
        ):
            return f'<c r="{reference}" s="{self._date_index}"><v>{days}</v></c>'
        return f'<c r="{reference}" t="inlineStr"><is><t xml:space="preserve">{_escape(text)}</t></is></c>'

    def _write_lines(self, lines: list[str]) -> None:
        self._sheet._check_dimensions(self._row - 1, len(SHEET_COLUMNS) - 1)
        self._sheet.row_data_fh.write("".join(lines))
        lines.clear()

    def complete(self) -> Path:
        """Write the rest of the workbook."""
        self._workbook.close()
        return self._file

    def close_files(self) -> None:
        for sheet in self._workbook.worksheets():
            sheet._opt_close()

    def _begin_sheet(self) -> None:
        number = len(self._workbook.worksheets()) + 1
        self._sheet = self._workbook.add_worksheet(
            SHEET_NAME if number == 1 else f"{SHEET_NAME} {number}"
        )
        for place, column in enumerate(SHEET_COLUMNS):
            self._sheet.set_column(place, place, column.width)
        for place, row in enumerate(self._header):
            self._sheet.write_row(place, 0, row, self._bold)
        self._sheet.freeze_panes(len(self._header), 0)
        self._row = len(self._header)
        self._sheet._write_single_row(
            self._row
        )  # ends the header: what follows is written without xlsxwriter


def _escape(text: str) -> str:
    """The text in XML, cut at Excel's limit."""
    if len(text) > MAX_CELL_UNITS // 2:
        text = text.encode("utf-16-le")[: MAX_CELL_UNITS * 2].decode("utf-16-le", "ignore")
    if _SPECIAL.search(text) is None:
        return text
    # Excel writes control characters as `_x0001_`, and a text that looks like that as `_x005F_x0001_`.
    text = _CONTROL.sub(lambda match: f"_x{ord(match[0]):04X}_", _ESCAPED.sub("_x005F_", text))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
