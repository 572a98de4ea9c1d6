"""Tables as CSV, which people open in spreadsheets: a text that one would run as a formula begins with an apostrophe.

csv_lines([["user"], ["=1+1"]])  # b"user\\r\\n'=1+1\\r\\n"
"""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA_STARTS = "=+-@\t\r\n"

Cell = str | int | float | None


def csv_lines(table: Iterable[Sequence[Cell]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["" if cell is None else _harmless(cell) for cell in row] for row in table])
    return text.getvalue().encode()


def _harmless(cell: Cell) -> Cell:
    """A text a spreadsheet would run as a formula, made one it shows."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in FORMULA_STARTS and cell else cell


def as_written(cell: str) -> str:
    """A text that was kept from being run as a formula, as it was."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in FORMULA_STARTS and cell[1:] else cell
