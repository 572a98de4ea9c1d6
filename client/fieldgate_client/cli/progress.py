"""Progress on standard error: a bar on a terminal, otherwise a line every ten seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fieldgate_client.cli.output import Output
    from fieldgate_client.connection import RetryNotice

LINE_SECONDS = 10.0  # between two lines of progress
LINE_SECONDS_VARIABLE = "_FIELDGATE_PROGRESS_SECONDS"  # for tests: another interval
UPDATE_SECONDS = 0.1  # between two updates of the line on a terminal
RETRY_SECONDS = 5.0  # between two messages about repeated requests


class ProgressState:
    """How far a command is. Pages and retries are reported by the thread of the client."""

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.done = 0
        self.total: int | None = None
        self.retries = 0
        self._unit = unit
        self._clock = clock
        self._began = clock()
        self._last_retry_message: float | None = None

    def update(self, done: int, total: int | None) -> None:
        self.done, self.total = done, total

    def count_retry(self, notice: RetryNotice) -> str:
        """A message about a repeated request, or nothing if there was one a moment ago."""
        self.retries += 1
        now = self._clock()
        if self._last_retry_message is not None and now - self._last_retry_message < RETRY_SECONDS:
            return ""
        self._last_retry_message = now
        return f"{notice.reason.rstrip('.')}. Trying again in {notice.pause:.1f} s (attempt {notice.attempt} failed)."

    def line(self) -> str:
        total = "" if self.total is None else f" of {self.total}"
        retries = f", {self.retries} requests repeated" if self.retries else ""
        return f"{self._clock() - self._began:.0f} s: {self.done}{total} {self._unit}{retries}"


class ProgressDisplay:
    """What commands report to."""

    def __init__(self, state: ProgressState, note: Callable[[str], None], redraw: Callable[[], None]) -> None:
        self.state = state
        self._note = note
        self._redraw = redraw

    def update(self, done: int, total: int | None) -> None:
        self.state.update(done, total)
        self._redraw()

    def on_retry(self, notice: RetryNotice) -> None:
        message = self.state.count_retry(notice)
        if message:
            self._note(message)


@contextmanager
def show_progress(output: Output, unit: str, *, is_quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Show progress while the block runs. Retries are also reported with `is_quiet`."""
    state = ProgressState(unit)
    if is_quiet:
        yield ProgressDisplay(state, output.note, _nothing)
    elif not sys.stderr.isatty():
        with _lines(state, output):
            yield ProgressDisplay(state, output.note, _nothing)
    else:
        try:
            import rich.progress  # noqa: F401 -- the extra `cli`
        except ImportError:
            with _updating_line(state, output) as display:
                yield display
        else:
            with _bar(state, output, unit) as display:
                yield display


@contextmanager
def _lines(state: ProgressState, output: Output) -> Iterator[None]:
    """Print lines from a thread: the command may be waiting, or busy."""
    interval = float(os.environ.get(LINE_SECONDS_VARIABLE) or LINE_SECONDS)
    ended = threading.Event()

    def print_lines() -> None:
        while not ended.wait(interval):
            output.note(state.line())

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _updating_line(state: ProgressState, output: Output) -> Iterator[ProgressDisplay]:
    """One line that is written again and again, without rich."""
    last = 0.0

    def clear() -> None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def redraw() -> None:
        nonlocal last
        if time.monotonic() - last >= UPDATE_SECONDS:
            last = time.monotonic()
            print(f"\r{state.line()}\x1b[K", end="", file=sys.stderr, flush=True)

    def note(text: str) -> None:
        clear()
        output.note(text)

    try:
        redraw()
        yield ProgressDisplay(state, note, redraw)
    finally:
        clear()


@contextmanager
def _bar(state: ProgressState, output: Output, unit: str) -> Iterator[ProgressDisplay]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    # Without redirection: standard output may be the file that is written.
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(unit, total=None)

        def note(text: str) -> None:
            console.print(output.clean(text), markup=False, highlight=False, soft_wrap=True)

        yield ProgressDisplay(state, note, lambda: bar.update(task, completed=state.done, total=state.total))


def _nothing() -> None:
    pass
