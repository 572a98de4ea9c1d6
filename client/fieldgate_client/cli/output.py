"""What commands print: results on standard output, everything else on standard error, and no secrets anywhere.

Progress is a bar on a terminal, if rich is installed, otherwise a line every ten seconds.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import BinaryIO

from fieldgate_client.connection import RetryNotice
from fieldgate_client.terminal_text import clean_line, clean_text, format_table

REDIRECTED_WIDTH_CHARS = 500  # so that files and pipes get whole lines
HIDDEN = "[hidden]"
LINE_SECONDS = 10.0  # between two lines of progress
RETRY_SECONDS = 5.0  # between two messages about repeated requests
# In UTF-8: control characters but for tab and line ends, and changes of direction.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]")


class Output:
    def __init__(self, prog: str) -> None:
        self._prog = prog
        self._secrets: set[str] = set()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal with another encoding shows \u codes
                stream.reconfigure(errors="backslashreplace")

    def hide(self, secret: str) -> None:
        """Never print this text: a server could repeat it in a message."""
        if secret:
            self._secrets.add(secret)

    def clean(self, text: str) -> str:
        return self.hide_secrets(clean_text(text))

    def hide_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def print(self, text: str = "") -> None:
        print(self.clean(text), flush=True)

    def print_table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.print(format_table(columns, rows, self.width))

    def note(self, text: str) -> None:
        """A line for people, on standard error."""
        print(clean_line(self.clean(text)), file=sys.stderr, flush=True)

    def error(self, text: str) -> None:
        self.note(f"{self._prog}: error: {text}")

    @property
    def width(self) -> int:
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else REDIRECTED_WIDTH_CHARS

    def print_traceback(self, text: str) -> None:
        print(self.clean(text), file=sys.stderr, flush=True)


class TerminalFile:
    """Standard output for JSON and CSV: control characters, which could take over the terminal, are escaped."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(_CONTROLS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()


class Progress:
    """How far a command is. Pages and retries are reported by the thread of the client."""

    def __init__(
        self, output: Output, unit: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.note = output.note
        self.redraw: Callable[[int, int | None], object] = self._print_line
        self._unit = unit
        self._retries = 0
        self._clock = clock
        self._began = self._last_line = clock()
        self._last_retry_message: float | None = None

    def update(self, done: int, total: int | None) -> None:
        self.redraw(done, total)

    def on_retry(self, notice: RetryNotice) -> None:
        """Tell about a repeated request, unless another one was told a moment ago."""
        self._retries += 1
        now = self._clock()
        if self._last_retry_message is None or now - self._last_retry_message >= RETRY_SECONDS:
            self._last_retry_message = now
            self.note(str(notice))

    def _print_line(self, done: int, total: int | None) -> None:
        now = self._clock()
        if now - self._last_line < LINE_SECONDS:
            return
        self._last_line = now
        of_total = "" if total is None else f" of {total}"
        retries = f", {self._retries} requests repeated" if self._retries else ""
        self.note(f"{now - self._began:.0f} s: {done}{of_total} {self._unit}{retries}")


@contextmanager
def show_progress(output: Output, unit: str, *, is_quiet: bool = False) -> Iterator[Progress]:
    """Show progress while the block runs. Retries are also reported with `is_quiet`."""
    progress = Progress(output, unit)
    if is_quiet:
        progress.redraw = lambda *_: None
    elif sys.stderr.isatty() and find_spec("rich") is not None:  # the extra `cli`
        with _bar(progress, output, unit):
            yield progress
        return
    yield progress


@contextmanager
def _bar(progress: Progress, output: Output, unit: str) -> Iterator[None]:
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.description}"),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    # Without redirection: standard output may be the file that is written.
    with rich.Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task(unit, total=None)
        progress.note = lambda text: console.print(
            output.clean(text), markup=False, highlight=False, soft_wrap=True
        )
        progress.redraw = lambda done, total: bar.update(task, completed=done, total=total)
        yield
