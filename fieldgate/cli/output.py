"""Tables on standard output, and progress bars on standard error."""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import click

PROGRESS_SECONDS = 10.0  # between two lines of progress
PROGRESS_SECONDS_VARIABLE = "_FIELDGATE_PROGRESS_SECONDS"  # for tests: another interval
REDIRECTED_WIDTH_CHARS = 500  # so that files and pipes get whole lines

ProgressReporter = Callable[[int, int | None], None]  # records done, and in all if known


def table_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else REDIRECTED_WIDTH_CHARS


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table. Numbers are aligned right; None is an empty cell."""
    from rich.console import Console  # not needed by `serve`
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    shown = [["" if cell is None else str(cell) for cell in row] for row in rows]
    for number, column in enumerate(columns):
        is_number = bool(shown) and all(row[number].isdigit() for row in shown)
        table.add_column(column, justify="right" if is_number else "left", no_wrap=True)
    for row in shown:
        table.add_row(*map(escape, row))
    Console(highlight=False, width=table_width()).print(table)


def ignore_progress(_done: int, _total: int | None) -> None:
    pass


@contextmanager
def progress_bar(
    total: int | None = None, status: Callable[[], str] = str, unit: str = "events"
) -> Iterator[ProgressReporter]:
    """Show a progress bar if standard error is a terminal, otherwise print a line every ten seconds.

    `status` returns what the command does now or waits for, or nothing.
    """
    if not sys.stderr.isatty():
        with _progress_lines(total, status, unit) as report:
            yield report
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class StatusColumn(ProgressColumn):
        def render(self, _task: Task) -> Text:
            return Text(status())

    clock = TimeElapsedColumn() if total is None else TimeRemainingColumn()
    columns = BarColumn(), MofNCompleteColumn(), clock, StatusColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _progress_lines(
    total: int | None, status: Callable[[], str], unit: str
) -> Iterator[ProgressReporter]:
    """Print lines of progress from a thread: the command may be waiting, or busy."""
    interval = float(os.environ.get(PROGRESS_SECONDS_VARIABLE) or PROGRESS_SECONDS)
    began = time.monotonic()
    latest: tuple[int, int | None] = (0, total)
    ended = threading.Event()

    def report(done: int, in_all: int | None) -> None:
        nonlocal latest
        latest = (done, in_all)

    def print_lines() -> None:
        while not ended.wait(interval):
            done, in_all = latest
            count = f"{done} {unit}" if in_all is None else f"{done} of {in_all} {unit}"
            parts = [f"{time.monotonic() - began:.0f} s", count, status()]
            click.echo(": ".join([parts[0], ", ".join(filter(None, parts[1:]))]), err=True)

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        ended.set()
        thread.join()
