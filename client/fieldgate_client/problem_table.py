"""Problems of a form as a table of text."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fieldgate_client.records import Problem

MIN_MESSAGE_CHARS = 30


def format_problems(problems: Sequence[Problem], width: int | None = None) -> str:
    """One line per problem: sheet, row, column and message, which is wrapped to the width of the terminal."""
    width = width or shutil.get_terminal_size((100, 24)).columns
    rows = [(each.sheet or "", "" if each.row is None else str(each.row), each.column or "") for each in problems]
    header = ("sheet", "row", "column")
    widths = [max(len(header[number]), *(len(row[number]) for row in rows), 0) for number in range(3)]
    indent = sum(widths) + 2 * len(widths)
    space = max(MIN_MESSAGE_CHARS, width - indent)

    def line(cells: tuple[str, str, str], message: str) -> list[str]:
        place = f"{cells[0]:<{widths[0]}}  {cells[1]:>{widths[1]}}  {cells[2]:<{widths[2]}}  "
        wrapped = textwrap.wrap(" ".join(message.split()), space) or [""]
        return [(place + wrapped[0]).rstrip(), *(" " * indent + more for more in wrapped[1:])]

    lines = line(header, "problem")
    for cells, problem in zip(rows, problems, strict=True):
        lines += line(cells, problem.message)
    return "\n".join(lines)
