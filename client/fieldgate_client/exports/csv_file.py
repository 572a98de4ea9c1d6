"""CSV that is safe to open in a spreadsheet: text that looks like a formula gets an apostrophe before it.

Lines end with CR LF, as in RFC 4180. Truth values are `true` and `false`. Control characters become U+FFFD: many
readers stop at NUL, and others could take over a terminal that shows the file.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from typing import IO, NamedTuple

import msgspec

from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice
from fieldgate_client.exports.columns import Columns
from fieldgate_client.exports.flatten import Cell, decode_record, flatten
from fieldgate_client.exports.output_file import OutputFile, Target

# Spreadsheets may split at semicolons, tabs or bars, and then quotes in the middle of a cell mean nothing to them. So
# the apostrophe is also written after separators and line breaks within a text. Some leave out white space, control
# characters and characters without width at the start of a cell, and in some languages Excel takes the wide signs, too.
# A text with apostrophes before a formula gets one more, so that what was written can be restored. These are the rules
# of the server (`csv_safe.py`); a test compares the two.
_IGNORED = r"\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff'"
_SIGN = r"[=+\-@＝＋－＠﹦﹢﹣﹫]"
_SEPARATOR = re.compile(r"[;|\t\r\n]")
_FORMULA = re.compile(rf"(?!'*-[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z)(?:'*[\t\r\n]|[{_IGNORED}]*{_SIGN})")
# From its first character on: a search from each of them would take quadratic time.
_BEFORE_SIGN = re.compile(rf'(?<![{_IGNORED};|"])[{_IGNORED};|"]*{_SIGN}')
_QUOTED = re.compile(r'[",;|\t\r\n]')
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
BYTE_ORDER_MARK = "\ufeff"
COPY_BYTES = 1 << 16

# A cell as it is written, with the quotes.
_WRITTEN_CELL = re.compile(r'("[^"]*(?:""[^"]*)*"|[^",\r\n]*)(?:,|\r\n)')


class _Chunk(NamedTuple):
    """The rows of one page in the temporary file."""

    bytes: int
    rows: int
    columns: int  # how many columns the layout had


class CSVWriter:
    """Rows wait in a temporary file until all columns are known. They are rearranged if the first page lacked some."""

    def __init__(
        self,
        target: Target,
        expected: dict[str, int] | None = None,
        choice: ColumnChoice = ALL_COLUMNS,
        *,
        bom: bool = False,
    ) -> None:
        self._output = OutputFile(target)
        self._columns = Columns(expected, choice)
        self._bom = bom
        self._rows: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 -- closed by `close`
            prefix="fieldgate-", dir=self._output.folder
        )
        self._layout: list[str] = []  # columns of the rows in the temporary file: only grows
        self._chunks: list[_Chunk] = []

    def write(self, records: list[msgspec.Raw]) -> None:
        rows = [flatten(decode_record(record)) for record in records]
        for row in rows:
            self._columns.add(row)
        if self._chunks:
            known = {*self._layout}
            self._layout += [name for name in self._columns.filled() if name not in known]
        else:
            self._layout = self._columns.ordered()  # usually those of the whole list
        data = encode_rows([[*map(row.get, self._layout)] for row in rows])
        self._rows.write(data)
        self._chunks.append(_Chunk(len(data), len(rows), len(self._layout)))

    def finish(self) -> None:
        columns = self._columns.complete()
        header = encode_rows([columns]) if columns else b""
        self._output.file.write((BYTE_ORDER_MARK.encode() if self._bom else b"") + header)
        self._rows.seek(0)
        if columns == self._layout and all(chunk.columns == len(columns) for chunk in self._chunks):
            shutil.copyfileobj(self._rows, self._output.file, COPY_BYTES)
        else:
            self._rearrange(columns)
        self._output.commit()

    def close(self) -> None:
        self._rows.close()
        self._output.discard()

    def _rearrange(self, columns: list[str]) -> None:
        places = {name: place for place, name in enumerate(self._layout)}
        missing = len(places)  # a cell after the last one, which is empty
        order = [places.get(name, missing) for name in columns]
        for chunk in self._chunks:
            cells = _WRITTEN_CELL.findall(self._rows.read(chunk.bytes).decode())
            padding = [""] * (missing + 1 - chunk.columns)
            lines = []
            for start in range(0, chunk.rows * chunk.columns, chunk.columns or 1):
                row = cells[start : start + chunk.columns] + padding
                lines.append(",".join([row[place] for place in order]))
            lines += ["," * (len(order) - 1)] * (chunk.rows - len(lines))  # records without any field
            if len(order) == 1:
                lines = [line or '""' for line in lines]  # an empty line is no row
            self._output.file.write("".join([f"{line}\r\n" for line in lines]).encode())


def encode_rows(rows: list[list[Cell]]) -> bytes:
    lines = [",".join(map(_encode_cell, row)) or '""' * len(row) for row in rows]  # an empty line is no row
    return _CONTROLS.sub("\ufffd", "".join([f"{line}\r\n" for line in lines])).encode()


def _encode_cell(cell: Cell) -> str:
    if type(cell) is str:
        text = _escape_formula(cell)
        return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
    if cell is None:
        return ""
    return ("true" if cell else "false") if type(cell) is bool else str(cell)


def _escape_formula(text: str) -> str:
    if _SEPARATOR.search(text):
        text = _BEFORE_SIGN.sub(lambda found: _SEPARATOR.sub(r"\g<0>'", found[0]), text)
    return f"'{text}" if _FORMULA.match(text) else text
