"""Large tables as an Excel workbook: rows are written to the archive as they come, in constant memory.

xlsxwriter makes the workbook without these rows, in memory. It would take several times as long to write them.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO

MAX_CELL_UNITS = 32_767  # Excel's limit for one cell, in units of UTF-16
MAX_SHEET_ROWS = 1_048_576  # Excel's limit for one sheet, with the header
MAX_SHEET_BYTES = 2**31 - 2**28  # no archive reader needs an extension for files of this size
COMPRESSION_LEVEL = 4  # a third less time than the usual level 6, files are 13 % larger

_ROWS_END = b"</sheetData>"
_DIMENSION = re.compile(rb"<dimension [^>]*/>")  # the number of rows is not known when a sheet begins

_INVALID = r"\x00-\x08\x0b-\x1f\ufffe\uffff"  # characters that XML does not allow, or changes
_ESCAPE = "_x[0-9a-fA-F]{4}_"  # how Excel writes such a character
_is_special = re.compile(rf"[&<>{_INVALID}]|{_ESCAPE}|^\s|\s\Z").search
_escape_like = re.compile(f"_(?={_ESCAPE[1:]})")  # two may share an underscore; xlsxwriter misses the second
_invalid = re.compile(f"[{_INVALID}]")


class LargeWorkbook:
    """Writes rows of texts, with a new sheet whenever one is full."""

    def __init__(
        self, file: IO[bytes], name: str, header: Sequence[Sequence[str]], number_columns: frozenset[str]
    ) -> None:
        """`name` is that of the first sheet. The first row of `header` has the names of the columns."""
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)
        self._name = name
        self._header = header
        self._columns = [(_column_letters(place), column in number_columns) for place, column in enumerate(header[0])]
        self._sheet_names: list[str] = []
        self._begin_sheet()

    def add(self, rows: Iterable[Sequence[str]]) -> None:
        """Add rows with a text for each column, in columns of numbers an integer. Empty cells are left out."""
        lines: list[str] = []
        for row in rows:
            if self._row == MAX_SHEET_ROWS or self._sheet_bytes > MAX_SHEET_BYTES:
                self._write_lines(lines)
                lines = []
                self._end_sheet()
                self._begin_sheet()
            self._row += 1
            lines.append(self._line(row))
        self._write_lines(lines)

    def close(self) -> None:
        """Write the rest of the workbook."""
        self._end_sheet()
        written = set(self._archive.namelist())
        for file, content in _make_workbook(self._sheet_names, self._header).items():
            if file not in written:
                self._archive.writestr(file, content)
        self._archive.close()

    def abandon(self) -> None:
        """End without a usable file, after an error."""
        self._sheet.close()
        self._archive.close()

    def _line(self, row: Sequence[str]) -> str:
        number = self._row
        cells = []
        for (letters, is_number), text in zip(self._columns, row, strict=True):
            if not text:
                continue
            if is_number:
                cells.append(f'<c r="{letters}{number}"><v>{text}</v></c>')
            elif len(text) > MAX_CELL_UNITS // 2 or _is_special(text):
                cells.append(f'<c r="{letters}{number}" t="inlineStr"><is>{_text_element(text)}</is></c>')
            else:
                cells.append(f'<c r="{letters}{number}" t="inlineStr"><is><t>{text}</t></is></c>')
        return f'<row r="{number}">{"".join(cells)}</row>'

    def _write_lines(self, lines: Sequence[str]) -> None:
        content = "".join(lines).encode()
        self._sheet_bytes += len(content)
        self._sheet.write(content)

    def _begin_sheet(self) -> None:
        number = len(self._sheet_names) + 1
        self._sheet_names.append(self._name if number == 1 else f"{self._name} {number}")
        file = f"xl/worksheets/sheet{number}.xml"
        content = _DIMENSION.sub(b"", _make_workbook(self._sheet_names, self._header)[file])
        beginning, _, self._sheet_end = content.rpartition(_ROWS_END)
        self._sheet = self._archive.open(file, "w")
        self._sheet.write(beginning)
        self._sheet_bytes = 0
        self._row = len(self._header)

    def _end_sheet(self) -> None:
        self._sheet.write(_ROWS_END + self._sheet_end)
        self._sheet.close()


def _make_workbook(sheet_names: Sequence[str], header: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """The files of a workbook whose sheets only have a header."""
    import xlsxwriter  # most processes never need it

    file = io.BytesIO()
    # Texts are in the sheets themselves, as with large files.
    options = {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}
    workbook = xlsxwriter.Workbook(file, options)
    for name in sheet_names:
        sheet = workbook.add_worksheet(name)
        for place, row in enumerate(header):
            sheet.write_row(place, 0, row)
        sheet.freeze_panes(len(header), 0)
    workbook.close()
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _text_element(text: str) -> str:
    """A text with everything that is special in XML or in workbooks."""
    text = _shortened(text)
    text = _escape_like.sub("_x005F_", text)
    text = _invalid.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    space = ' xml:space="preserve"' if text[:1].isspace() or text[-1:].isspace() else ""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<t{space}>{text}</t>"


def _shortened(text: str) -> str:
    if len(text) <= MAX_CELL_UNITS // 2:
        return text
    return text.encode("utf-16-le")[: 2 * MAX_CELL_UNITS].decode("utf-16-le", "ignore")


def _column_letters(place: int) -> str:
    """The name of a column: A to Z, then AA."""
    rest, last = divmod(place, 26)
    return (_column_letters(rest - 1) if rest else "") + chr(ord("A") + last)
