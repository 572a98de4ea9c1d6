"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from fieldgate_client.terminal_text import clean_line, display_width, pad_text, wrap_text

MIN_WRAPPED_CHARS = 20
GAP = "  "


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """A table of text. Cells of wide columns are wrapped, so that it fits the width of the terminal if possible."""
    cells = [[clean_line(cell) for cell in row] for row in [columns, *rows]]
    widths = fit_widths([max(display_width(row[number]) for row in cells) for number in range(len(columns))], width)
    lines = []
    for row in cells:
        wrapped = [wrap_text(cell, size) for cell, size in zip(row, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            lines.append(GAP.join(map(pad_text, parts, widths)).rstrip())
    return "\n".join(lines)


def fit_widths(widths: Sequence[int], available: int) -> list[int]:
    """Make the widest columns narrower until the table fits."""
    fitted = [*widths]
    space = available - len(GAP) * (len(fitted) - 1)
    while sum(fitted) > space and max(fitted) > MIN_WRAPPED_CHARS:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted
