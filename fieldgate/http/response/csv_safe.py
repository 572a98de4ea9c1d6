"""CSV that is safe to open in a spreadsheet: text that looks like a formula gets an apostrophe before it.

encode_csv([["user"], ["=1+1"], ["a;=1+1"]])  # b"user\\r\\n'=1+1\\r\\n\\"a;'=1+1\\"\\r\\n"

The rules for cells are those of the client library.
"""

import csv
import io
import sys
from collections.abc import Iterable, Iterator, Sequence

from fieldgate_client.csv_cells import encode_text
from fieldgate_client.csv_cells import unescape_formula as unescape_formula

CSVCell = str | int | float | None


def encode_csv(rows: Iterable[Sequence[CSVCell]]) -> bytes:
    return b"".join([encode_cells(*row) + b"\r\n" for row in rows])


def encode_cells(*cells: CSVCell) -> bytes:
    """Encode cells for the middle of a row: without the end of the line."""
    return ",".join(map(_encode_cell, cells)).encode()


def decode_csv(encoded: bytes) -> Iterator[list[str]]:
    """The rows that `encode_csv` encoded, as texts."""
    csv.field_size_limit(
        sys.maxsize
    )  # of all readers of this process; others limit the size of what they read
    for row in csv.reader(io.StringIO(encoded.decode(), newline="")):
        yield [unescape_formula(cell) if "'" in cell else cell for cell in row]


def _encode_cell(cell: CSVCell) -> str:
    if isinstance(cell, str):
        if not cell or cell.isalnum():  # most cells, and neither formulas nor in need of quotes
            return cell
        return encode_text(cell)
    return "" if cell is None else str(cell)
