"""Tables as CSV, safe to open in a spreadsheet: see `csv_cells`.

Lines end with CR LF, as in RFC 4180. Truth values are `true` and `false`. Control characters become U+FFFD: many
readers stop at NUL, and others could take over a terminal that shows the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import BinaryIO

from fieldgate_client.csv_cells import encode_text
from fieldgate_client.exports.flatten import Cell
from fieldgate_client.exports.table import Table

BYTE_ORDER_MARK = "\ufeff"
ROWS_PER_WRITE = 1000
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def write_csv(table: Table, file: BinaryIO, *, bom: bool = False) -> None:
    columns = table.columns()
    file.write(BYTE_ORDER_MARK.encode() if bom else b"")
    if columns:
        file.write(encode_rows([columns]))
    for rows in table.batches(ROWS_PER_WRITE):
        file.write(encode_rows([*map(row.get, columns)] for row in rows))


def encode_rows(rows: Iterable[list[Cell]]) -> bytes:
    lines = [
        ",".join(map(_encode_cell, row)) or '""' * len(row) for row in rows
    ]  # an empty line is no row
    return _CONTROLS.sub("\ufffd", "".join([f"{line}\r\n" for line in lines])).encode()


def _encode_cell(cell: Cell) -> str:
    if type(cell) is str:
        return encode_text(cell)
    if cell is None:
        return ""
    return ("true" if cell else "false") if type(cell) is bool else str(cell)
