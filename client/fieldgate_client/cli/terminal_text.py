"""Text of servers on a terminal: without control characters, and in tables."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from typing import BinaryIO

_SEQUENCES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"  # OSC: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c|$)"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[ -/]*[0-~]"
)
# What is left of control characters, and the overrides of the direction of text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")
_JSON_CONTROLS = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
MIN_WRAPPED_CHARS = 20
GAP = "  "


def clean_text(text: str) -> str:
    """Without escape sequences and control characters, except line feeds and tabs."""
    return _CONTROLS.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    return " ".join(clean_text(text).split())


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table of text. Cells of wide columns are wrapped, so that it fits the width of the terminal if possible."""
    cells = [[one_line(cell) for cell in row] for row in [columns, *rows]]
    widths = fit_widths([max(display_width(row[number]) for row in cells) for number in range(len(columns))], width)
    lines = []
    for row in cells:
        wrapped = [_wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            padded = [part + " " * (size - display_width(part)) for part, size in zip(parts, widths, strict=True)]
            lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def fit_widths(widths: Sequence[int], available: int) -> list[int]:
    """Make the widest columns narrower until the table fits."""
    fitted = [*widths]
    space = available - len(GAP) * (len(fitted) - 1)
    while sum(fitted) > space and max(fitted) > MIN_WRAPPED_CHARS:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) if display_width(text) > width else [text]


def display_width(text: str) -> int:
    """Columns on a terminal: East Asian characters take two, combining characters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )


class TerminalJSON:
    """Standard output for JSON on a terminal. JSON escapes most control characters; this escapes the others."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        self._file.write(_JSON_CONTROLS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data))
        return len(data)

    def flush(self) -> None:
        self._file.flush()
