"""CSV that is safe to open in a spreadsheet: text that looks like a formula gets a leading apostrophe.

encode_csv([["user"], ["=1+1"]])  # b"user\\r\\n'=1+1\\r\\n"
"""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"  # in some languages Excel takes the wide characters, too

CSVCell = str | int | float | None


def encode_csv(rows: Iterable[Sequence[CSVCell]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["" if cell is None else _escape_formula(cell) for cell in row] for row in rows])
    return text.getvalue().encode()


def _escape_formula(cell: CSVCell) -> CSVCell:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in FORMULA_STARTS and cell else cell


def unescape_formula(cell: str) -> str:
    """Undo the escaping of `encode_csv`."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in FORMULA_STARTS and cell[1:] else cell
