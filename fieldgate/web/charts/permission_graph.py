"""Which permission comes with which, drawn in columns with arrows. Places are fixed: there are ten permissions."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from fieldgate.permissions.catalogue import implied

COLUMN_WIDTH, COLUMN_GAP = 168.0, 56.0
BOX_HEIGHT = 44.0
WIDTH, HEIGHT = 4 * COLUMN_WIDTH + 3 * COLUMN_GAP, 284.0
LINE_LENGTH = 22  # characters of a label in a line
MAX_LINES = 2

# Column and upper edge of each box. The first column is on the right in languages that are written from right to left.
PLACES = {
    "manage_asset": (0, 120.0),
    "change_asset": (1, 0.0),
    "delete_submissions": (1, 60.0),
    "validate_submissions": (1, 120.0),
    "discover_asset": (1, 180.0),
    "change_submissions": (1, 240.0),
    "partial_submissions": (2, 60.0),
    "view_submissions": (2, 120.0),
    "add_submissions": (2, 200.0),
    "view_asset": (3, 120.0),
}
# Direct needs only: what follows from two arrows has none of its own.
ARROWS = tuple(
    (source, target)
    for source in sorted(PLACES)
    for target in sorted(implied(source))
    if not any(target in implied(each) for each in implied(source))
)
# Where an arrow passes the column between its boxes.
PASSAGES = {("change_asset", "view_asset"): 42.0, ("discover_asset", "view_asset"): 182.0}


class GraphBox(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    x: float
    y: float
    width: float = COLUMN_WIDTH
    height: float = BOX_HEIGHT
    lines: Sequence[str]
    text: str  # the whole label
    href: str


class GraphArrow(msgspec.Struct, frozen=True):
    source: str
    target: str
    path: str  # SVG path data


class PermissionGraph(msgspec.Struct, frozen=True, kw_only=True):
    """What the macro `permission_graph` draws."""

    boxes: Sequence[GraphBox]
    arrows: Sequence[GraphArrow]
    width: float = WIDTH
    height: float = HEIGHT


def build_graph(labels: Sequence[tuple[str, str, str]], *, is_rtl: bool = False) -> PermissionGraph:
    """Draw the permissions. `labels` are the codename, label and address of each."""
    boxes = [
        GraphBox(
            id=codename,
            x=_left_edge(PLACES[codename][0], is_rtl),
            y=PLACES[codename][1],
            lines=wrap_label(label),
            text=label,
            href=href,
        )
        for codename, label, href in labels
    ]
    arrows = [
        GraphArrow(source, target, _curve(source, target, is_rtl)) for source, target in ARROWS
    ]
    return PermissionGraph(boxes=boxes, arrows=arrows)


def wrap_label(label: str, length: int = LINE_LENGTH, max_lines: int = MAX_LINES) -> list[str]:
    """Break a label into lines at spaces. What does not fit in the last line ends in …"""
    lines = [""]
    for word in label.split():
        joined = f"{lines[-1]} {word}".strip()
        if len(joined) <= length or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(word)
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], " ".join(lines[max_lines - 1 :])]
    return [line if len(line) <= length else line[: length - 1].rstrip() + "…" for line in lines]


def _left_edge(column: int, is_rtl: bool) -> float:
    return (3 - column if is_rtl else column) * (COLUMN_WIDTH + COLUMN_GAP)


def _curve(source: str, target: str, is_rtl: bool) -> str:
    """An arrow from the side of a box to the side of another. It bends between columns, and is straight in them."""
    (first, start_y), (last, end_y) = PLACES[source], PLACES[target]
    passage = [(first + 1, PASSAGES[source, target])] if last - first > 1 else []
    stops = [(first, start_y + BOX_HEIGHT / 2), *passage, (last, end_y + BOX_HEIGHT / 2)]
    step, bend = (-COLUMN_WIDTH, -COLUMN_GAP / 2) if is_rtl else (COLUMN_WIDTH, COLUMN_GAP / 2)
    # Where arrows enter each column.
    lines = [
        (_left_edge(column, is_rtl) + (COLUMN_WIDTH if is_rtl else 0), y) for column, y in stops
    ]
    path = f"M{lines[0][0] + step:g} {lines[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(lines):
        start = x0 + step
        path += f"C{start + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1:g} {y1:g}"
        if (x1, y1) != lines[-1]:
            path += f"H{x1 + step:g}"
    return path
