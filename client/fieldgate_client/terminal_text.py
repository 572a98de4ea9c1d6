"""Text from servers and files for a terminal: without control characters, with the width that it really takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

# Escape sequences as a whole: CSI such as colours, OSC such as titles and links, and those of two characters.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -~]?"
)
# Control characters but for tab and newline, changes of direction that reorder a line, and halves of characters.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff\ufeff]")
_ELLIPSIS = "…"
_MIN_WRAPPED_CHARS = 20
_GAP = "  "


def clean_text(text: str) -> str:
    """Remove what could control the terminal. Newlines stay."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text)).replace("\t", " ")


def clean_line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean_text(text).split())


def display_width(text: str) -> int:
    """How many columns a text takes: two for Chinese, none for combining marks."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def pad_text(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def clip_text(text: str, max_chars: int) -> str:
    """Shorten a text."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + _ELLIPSIS


def _character_width(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table of text. Cells of wide columns are wrapped, so that it fits the width of the terminal if possible."""
    cells = [[clean_line(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(display_width(row[number]) for row in cells) for number in range(len(columns))]
    while sum(widths) > width - len(_GAP) * (len(widths) - 1) and max(widths) > _MIN_WRAPPED_CHARS:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in cells:
        wrapped = [
            wrap(cell, size, break_on_hyphens=False) or [""]
            for cell, size in zip(row, widths, strict=True)
        ]
        for parts in zip_longest(*wrapped, fillvalue=""):
            lines.append(_GAP.join(map(pad_text, parts, widths)).rstrip())
    return "\n".join(lines)
