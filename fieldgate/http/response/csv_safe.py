"""CSV that is safe to open in a spreadsheet: text that looks like a formula gets a leading apostrophe.

encode_csv([["user"], ["=1+1"]])  # b"user\\r\\n'=1+1\\r\\n"

A text that begins with apostrophes before a formula gets one more, so that `unescape_formula` restores every text.
"""

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

# Some spreadsheets leave out white space, control characters and characters without width at the start of a cell. In
# some languages Excel also takes the wide signs. The client library has the same pattern; a test compares the two.
FORMULA = re.compile(
    r"'*(?:[\t\r\n]|[\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫])"
)

CSVCell = str | int | float | None


def encode_csv(rows: Iterable[Sequence[CSVCell]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["" if cell is None else _escape_formula(cell) for cell in row] for row in rows])
    return text.getvalue().encode()


def encode_cells(*cells: CSVCell) -> bytes:
    """Encode cells for the middle of a row: without the end of the line."""
    # A row of one empty cell would be quoted, so there is one more cell.
    return encode_csv([[*cells, None]])[: -len(b",\r\n")]


def decode_csv(encoded: bytes) -> Iterator[list[str]]:
    """The rows that `encode_csv` encoded, as texts."""
    csv.field_size_limit(sys.maxsize)  # of all readers of this process; others limit the size of what they read
    for row in csv.reader(io.StringIO(encoded.decode(), newline="")):
        yield [unescape_formula(cell) if cell[:1] == "'" else cell for cell in row]


def _escape_formula(cell: CSVCell) -> CSVCell:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Undo the escaping of `encode_csv`."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell
