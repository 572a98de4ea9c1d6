"""Tables on standard output."""

import sys
from collections.abc import Iterable, Sequence

REDIRECTED_WIDTH_CHARS = 500  # so that files and pipes get whole lines


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table. Numbers are aligned right; None is an empty cell."""
    from rich.console import Console  # not needed by `serve`
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    shown = [["" if cell is None else str(cell) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        is_number = bool(shown) and all(row[number].isdigit() for row in shown)
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    for row in shown:
        table.add_row(*row)
    Console(highlight=False, width=None if sys.stdout.isatty() else REDIRECTED_WIDTH_CHARS).print(table)
