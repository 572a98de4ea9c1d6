"""Tables on the terminal, whole where they go to a file or another program."""

import sys
from collections.abc import Iterable, Sequence

REDIRECTED_WIDTH_CHARS = 500  # characters


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Numbers line up on the right, everything else on the left; None is shown as nothing."""
    from rich.console import Console  # here: a service that prints no tables does without
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    shown = [["" if cell is None else str(cell) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        is_number = bool(shown) and all(row[number].isdigit() for row in shown)
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    for row in shown:
        table.add_row(*row)
    Console(highlight=False, width=None if sys.stdout.isatty() else REDIRECTED_WIDTH_CHARS).print(table)
