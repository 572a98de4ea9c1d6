"""The workbook of an asset: the uploaded file if it is one, otherwise a workbook written from the content."""

import io
import tempfile
import zipfile
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from io import BytesIO
from typing import Any

import msgspec

from fieldgate.assets.workbook_sheets import ContentSheet, MalformedContent, content_sheets
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.overload import Slots, run_in_thread

XLSX_SUFFIX, XLS_SUFFIX = ".xlsx", ".xls"
MEDIA_TYPES = {
    XLSX_SUFFIX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    XLS_SUFFIX: "application/vnd.ms-excel",
}
# Per process of the service. A large form takes seconds.
MAX_WRITERS = 2

_OLE2_MAGIC = b"\xd0\xcf\x11\xe0"
_ZIP_MAGIC = b"PK"
_CONTENT_TYPES = "[Content_Types].xml"
_MAX_CONTENT_TYPES_BYTES = 64 * 1024
_XLSX_MAIN_PART = b"spreadsheetml.sheet.main+xml"  # with macros it is another type


class WorkbookFile(msgspec.Struct, frozen=True):
    data: bytes
    suffix: str


class WorkbookWriter:
    """Writes workbooks in threads, few at a time and one of each user, so that large forms do not block others."""

    def __init__(self) -> None:
        self._slots = Slots(MAX_WRITERS, 1)

    async def write(
        self,
        caller: Hashable,
        load_content: Callable[[], Awaitable[Mapping[str, Any]]],
        title: str | None,
        created: datetime,
    ) -> WorkbookFile:
        """Write a workbook. Equal arguments give equal bytes. Content is loaded last, so that few are in memory."""
        try:
            async with self._slots.slot(caller):
                data = await run_in_thread(_write, await load_content(), title, created)
                return WorkbookFile(data, XLSX_SUFFIX)
        except (MalformedContent, TooLargeForWorkbook) as error:
            raise NotFound(
                Message(
                    "This form does not fit into an Excel workbook: a cell or a sheet is too large. Use its content "
                    "as JSON instead."
                )
            ) from error


def _write(content: Mapping[str, Any], title: str | None, created: datetime) -> bytes:
    return write_workbook(content_sheets(content, title), created)


def as_workbook(data: bytes, wanted_suffix: str) -> WorkbookFile | None:
    """The uploaded file, if it can be sent for a path with this suffix. An xlsx file can be sent for `.xls`, too."""
    suffix = _find_suffix(data)
    return (
        None
        if suffix is None or (suffix, wanted_suffix) == (XLS_SUFFIX, XLSX_SUFFIX)
        else WorkbookFile(data, suffix)
    )


def _find_suffix(data: bytes) -> str | None:
    if data.startswith(_OLE2_MAGIC):
        return XLS_SUFFIX
    if not data.startswith(_ZIP_MAGIC):
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(_CONTENT_TYPES) as part:
            return XLSX_SUFFIX if _XLSX_MAIN_PART in part.read(_MAX_CONTENT_TYPES_BYTES) else None
    except Exception:  # zipfile and its decompressors raise many kinds of errors
        return None  # an ods file, or one that only our reader can read


MAX_CELL_CHARS = 32_767  # Excel's limit for one cell
MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
MAX_SHEET_COLUMNS = 16_384

_COLUMN_WIDTH = 24
_TEXT_FORMAT = {"num_format": "@"}  # what a person types into a cell stays text, too


class TooLargeForWorkbook(Exception):
    """A sheet or a cell is larger than Excel allows. `row` and `column` are those of the cell."""

    def __init__(self, sheet: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(sheet, row, column)
        self.sheet = sheet
        self.row = row
        self.column = column


def write_workbook(sheets: Iterable[ContentSheet], created: datetime) -> bytes:
    """The bytes of an xlsx file, equal for equal arguments.

    Rows are written to a temporary file first, so that few are in memory.
    """
    import xlsxwriter  # most processes never need it

    file = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="fieldgate-workbook-") as folder:
        workbook = xlsxwriter.Workbook(file, {"constant_memory": True, "tmpdir": folder})
        workbook.set_properties({"created": created})
        try:
            for sheet in sheets:
                _write_sheet(workbook, sheet)
            workbook.close()
        finally:
            for worksheet in workbook.worksheets():
                worksheet._opt_close()
    return file.getvalue()


def _write_sheet(workbook: Any, sheet: ContentSheet) -> None:
    if len(sheet.headers) > MAX_SHEET_COLUMNS or len(sheet.rows) >= MAX_SHEET_ROWS:
        raise TooLargeForWorkbook(sheet.name)
    text_format = workbook.add_format(_TEXT_FORMAT)
    worksheet = workbook.add_worksheet(sheet.name)
    worksheet.set_column(0, max(len(sheet.headers) - 1, 0), _COLUMN_WIDTH, text_format)
    worksheet.freeze_panes(1, 0)
    places = {header: place for place, header in enumerate(sheet.headers)}
    rows = ({header: header for header in sheet.headers}, *sheet.rows)
    for number, row in enumerate(rows):
        for header, text in row.items():
            if len(text) > MAX_CELL_CHARS:
                raise TooLargeForWorkbook(sheet.name, number + 1, header)
            worksheet.write_string(number, places[header], text, text_format)
