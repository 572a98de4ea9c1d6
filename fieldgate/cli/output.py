"""Tables on standard output, and progress bars on standard error."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

REDIRECTED_WIDTH_CHARS = 500  # so that files and pipes get whole lines

ProgressReporter = Callable[[int, int | None], None]  # records done, and in all if known


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


def ignore_progress(_done: int, _total: int | None) -> None:
    pass


@contextmanager
def progress_bar(total: int | None = None) -> Iterator[ProgressReporter]:
    """Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn() if total is None else TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)
