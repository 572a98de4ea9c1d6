"""Problems of a form as a table of text."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fieldgate_client.terminal_text import clean_line, clip_text, display_width, pad_text, wrap_text

if TYPE_CHECKING:
    from fieldgate_client.records import Problem

MIN_MESSAGE_COLUMNS = 30
MAX_MESSAGE_COLUMNS = 2000
MAX_PLACE_COLUMNS = 32  # of the name of a sheet or column
MAX_ROWS = 200


def format_problems(problems: Sequence[Problem], width: int | None = None, title: str = "problem") -> str:
    """One line per problem: sheet, row, column and message, which is wrapped to the width of the terminal."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    shown = problems[:MAX_ROWS]
    places = [(_cell(each.sheet), "" if each.row is None else str(each.row), _cell(each.column)) for each in shown]
    table = [(("sheet", "row", "column"), title), *zip(places, (each.message for each in shown), strict=True)]
    widths = [max(display_width(cells[number]) for cells, _ in table) for number in range(3)]
    indent = sum(widths) + 2 * len(widths)
    space = max(MIN_MESSAGE_COLUMNS, width - indent)
    lines = []
    for (sheet, row, column), message in table:
        place = f"{pad_text(sheet, widths[0])}  {row:>{widths[1]}}  {pad_text(column, widths[2])}  "
        first, *others = wrap_text(clip_text(clean_line(message), MAX_MESSAGE_COLUMNS), space)
        lines += [(place + first).rstrip(), *(" " * indent + line for line in others)]
    if len(problems) > MAX_ROWS:
        lines.append(f"… and {len(problems) - MAX_ROWS} more")
    return "\n".join(lines)


def _cell(text: str | None) -> str:
    return clip_text(clean_line(text or ""), MAX_PLACE_COLUMNS)
