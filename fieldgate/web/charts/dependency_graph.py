"""A layered graph: what depends on what, drawn in columns with arrows."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

COLUMN_WIDTH, COLUMN_GAP = 168.0, 56.0
BOX_HEIGHT, ROW_GAP = 44.0, 16.0
PASSAGE_HEIGHT = 4.0  # of an arrow that passes a column
LINE_LENGTH = 22  # characters of a label in a line
MAX_LINES = 2
SWEEPS = 8

# A place in a column: of the box of a node (its id), or of an arrow that passes (source, target, column).
Slot = tuple[str] | tuple[str, str, int]


class GraphNode(msgspec.Struct, frozen=True):
    id: str
    label: str
    href: str | None = None


class GraphBox(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]
    text: str  # the whole label
    href: str | None
    needs: Sequence[str]  # ids of the boxes its arrows point to


class GraphArrow(msgspec.Struct, frozen=True):
    source: str
    target: str
    path: str  # SVG path data


class DependencyGraph(msgspec.Struct, frozen=True, kw_only=True):
    """What the macro `dependency_graph` draws."""

    width: float
    height: float
    boxes: Sequence[GraphBox]
    arrows: Sequence[GraphArrow]


def build_graph(
    nodes: Sequence[GraphNode], edges: Iterable[tuple[str, str]], *, is_rtl: bool = False
) -> DependencyGraph:
    """Make a graph. An edge leads from a node to one that it needs; those that follow from others are left out.

    No arrow crosses a box: one that passes a column has a place of its own there.
    Raises ValueError if nodes need each other in a circle.
    """
    needs: dict[str, set[str]] = {node.id: set() for node in nodes}
    for source, target in edges:
        if source in needs and target in needs and source != target:
            needs[source].add(target)
    direct = _reduce(needs)
    columns, routes = _route(_assign_layers(nodes, direct), direct)
    columns = _order_columns(columns, routes)
    heights = [sum(map(_height, column)) + ROW_GAP * (len(column) - 1) for column in columns]
    height = max(heights, default=0.0)
    width = len(columns) * (COLUMN_WIDTH + COLUMN_GAP) - COLUMN_GAP if columns else 0.0
    corners: dict[Slot, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        x = (len(columns) - 1 - number if is_rtl else number) * (COLUMN_WIDTH + COLUMN_GAP)
        y = (height - heights[number]) / 2
        for slot in column:
            corners[slot] = x, y
            y += _height(slot) + ROW_GAP
    boxes = [
        GraphBox(
            id=node.id,
            x=corners[node.id,][0],
            y=corners[node.id,][1],
            width=COLUMN_WIDTH,
            height=BOX_HEIGHT,
            lines=wrap_label(node.label),
            text=node.label,
            href=node.href,
            needs=sorted(direct[node.id]),
        )
        for node in nodes
    ]
    arrows = [
        GraphArrow(route[0][0], route[-1][0], _curve([(*corners[slot], _height(slot)) for slot in route], is_rtl))
        for route in routes
    ]
    return DependencyGraph(width=width, height=height, boxes=boxes, arrows=arrows)


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


def _reduce(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Keep only direct edges (transitive reduction)."""
    reachable: dict[str, set[str]] = {}

    def visit(name: str, path: tuple[str, ...]) -> set[str]:
        if name in path:
            raise ValueError(f"{name} needs itself")
        if name not in reachable:
            found: set[str] = set()
            for target in needs[name]:
                found |= {target} | visit(target, (*path, name))
            reachable[name] = found
        return reachable[name]

    for name in needs:
        visit(name, ())
    return {
        name: {target for target in targets if not any(target in reachable[other] for other in targets)}
        for name, targets in needs.items()
    }


def _assign_layers(nodes: Sequence[GraphNode], direct: Mapping[str, set[str]]) -> dict[str, int]:
    """The column of each node: after what needs it. What nothing needs comes next to what it needs itself."""
    layers: dict[str, int] = {}

    def layer_of(name: str) -> int:
        if name not in layers:
            above = [source for source in direct if name in direct[source]]
            layers[name] = 1 + max((layer_of(source) for source in above), default=-1)
        return layers[name]

    for node in nodes:
        layer_of(node.id)
    needed = {target for targets in direct.values() for target in targets}
    moved = {
        name: min(layers[target] for target in targets) - 1
        for name, targets in direct.items()
        if targets and name not in needed
    }
    return {node.id: moved.get(node.id, layers[node.id]) for node in nodes}


def _route(layers: Mapping[str, int], direct: Mapping[str, set[str]]) -> tuple[list[list[Slot]], list[list[Slot]]]:
    """The slots of each column, and the slots that each arrow leads through."""
    columns: list[list[Slot]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for name, layer in layers.items():
        columns[layer].append((name,))
    routes: list[list[Slot]] = []
    for source, targets in direct.items():
        for target in sorted(targets):
            passed: list[Slot] = []
            for layer in range(layers[source] + 1, layers[target]):
                passed.append((source, target, layer))
                columns[layer].append(passed[-1])
            routes.append([(source,), *passed, (target,)])
    return columns, routes


def _order_columns(columns: list[list[Slot]], routes: Sequence[Sequence[Slot]]) -> list[list[Slot]]:
    """Order each column by the mean place of its neighbours, which avoids most crossings."""
    near: dict[Slot, set[Slot]] = {slot: set() for column in columns for slot in column}
    for route in routes:
        for before, after in pairwise(route):
            near[before].add(after)
            near[after].add(before)

    def sort_column(column: list[Slot], other: list[Slot]) -> list[Slot]:
        places = {slot: place / len(other) for place, slot in enumerate(other)}

        def mean(slot: Slot) -> float:
            found = [places[each] for each in near[slot] if each in places]
            return sum(found) / len(found) if found else column.index(slot) / len(column)

        return sorted(column, key=mean)

    ordered = [list(column) for column in columns]
    for _ in range(SWEEPS):
        for at in range(1, len(ordered)):
            ordered[at] = sort_column(ordered[at], ordered[at - 1])
        for at in range(len(ordered) - 2, -1, -1):
            ordered[at] = sort_column(ordered[at], ordered[at + 1])
    return ordered


def _height(slot: Slot) -> float:
    return BOX_HEIGHT if len(slot) == 1 else PASSAGE_HEIGHT


def _curve(slots: Sequence[tuple[float, float, float]], is_rtl: bool) -> str:
    """An arrow from the side of a box to the side of another. It bends between columns, and is straight in them.

    `slots` are the corners and heights of what it leads through.
    """
    step, bend = (-COLUMN_WIDTH, -COLUMN_GAP / 2) if is_rtl else (COLUMN_WIDTH, COLUMN_GAP / 2)
    # Where arrows enter and leave each slot.
    lines = [(x + COLUMN_WIDTH if is_rtl else x, y + height / 2) for x, y, height in slots]
    path = f"M{lines[0][0] + step:g} {lines[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(lines):
        start = x0 + step
        path += f"C{start + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1:g} {y1:g}"
        if (x1, y1) != lines[-1]:
            path += f"H{x1 + step:g}"
    return path
