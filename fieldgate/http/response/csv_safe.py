"""Tables as CSV, which people open in spreadsheets: a text that one would run as a formula begins with an apostrophe.

csv_lines([["user"], ["=1+1"]])  # b"user\\r\\n'=1+1\\r\\n"
"""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA_STARTS = "=+-@\t\r\n"

CSVCell = str | int | float | None


def encode_csv(rows: Iterable[Sequence[CSVCell]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["" if cell is None else _escape_formula(cell) for cell in row] for row in rows])
    return text.getvalue().encode()


def _escape_formula(cell: CSVCell) -> CSVCell:
    """A text a spreadsheet would run as a formula, made one it shows."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in FORMULA_STARTS and cell else cell


def unescape_formula(cell: str) -> str:
    """A text that was kept from being run as a formula, as it was."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in FORMULA_STARTS and cell[1:] else cell
