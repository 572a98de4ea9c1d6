"""What the command prints: results on standard output, everything else on standard error, and no secrets anywhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from fieldgate_client.terminal_text import clean_line, clean_text

REDIRECTED_WIDTH_CHARS = 500  # so that files and pipes get whole lines
HIDDEN = "[hidden]"


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
        text = clean_text(text)
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def print(self, text: str = "") -> None:
        print(self.clean(text), flush=True)

    def print_table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        from fieldgate_client.cli.text_table import format_table

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
