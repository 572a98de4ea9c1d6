"""A layered graph: what depends on what, drawn in columns with arrows."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

COLUMN_WIDTH, COLUMN_GAP = 168.0, 56.0
BOX_HEIGHT, ROW_GAP = 44.0, 16.0
LINE_LENGTH = 22  # characters of a label in a line
MAX_LINES = 2
SWEEPS = 8


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

    Raises ValueError if nodes need each other in a circle.
    """
    needs: dict[str, set[str]] = {node.id: set() for node in nodes}
    for source, target in edges:
        if source in needs and target in needs and source != target:
            needs[source].add(target)
    direct = _reduce(needs)
    layers = _order_layers(_assign_layers(nodes, direct), direct)
    columns = len(layers)
    rows = max((len(layer) for layer in layers), default=0)
    height = rows * (BOX_HEIGHT + ROW_GAP) - ROW_GAP if rows else 0
    width = columns * (COLUMN_WIDTH + COLUMN_GAP) - COLUMN_GAP if columns else 0
    corners: dict[str, tuple[float, float]] = {}
    for column, layer in enumerate(layers):
        place = columns - 1 - column if is_rtl else column
        used = len(layer) * (BOX_HEIGHT + ROW_GAP) - ROW_GAP
        for row, name in enumerate(layer):
            corners[name] = (
                place * (COLUMN_WIDTH + COLUMN_GAP),
                (height - used) / 2 + row * (BOX_HEIGHT + ROW_GAP),
            )
    boxes = [
        GraphBox(
            id=node.id,
            x=corners[node.id][0],
            y=corners[node.id][1],
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
        GraphArrow(source, target, _curve(corners[source], corners[target], is_rtl))
        for source in direct
        for target in sorted(direct[source])
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


def _assign_layers(nodes: Sequence[GraphNode], direct: Mapping[str, set[str]]) -> list[list[str]]:
    """The columns: what nothing else needs comes first, and everything as late as what needs it demands."""
    depth: dict[str, int] = {}

    def depth_of(name: str) -> int:
        if name not in depth:
            above = [source for source in direct if name in direct[source]]
            depth[name] = 1 + max((depth_of(source) for source in above), default=-1)
        return depth[name]

    layers: list[list[str]] = [[] for _ in range(max((depth_of(node.id) for node in nodes), default=-1) + 1)]
    for node in nodes:
        layers[depth_of(node.id)].append(node.id)
    return layers


def _order_layers(layers: list[list[str]], direct: Mapping[str, set[str]]) -> list[list[str]]:
    """Order each column by the mean place of its neighbours, which avoids most crossings."""

    def sort_layer(layer: list[str], other: list[str]) -> list[str]:
        places = {name: place / len(other) for place, name in enumerate(other)}

        def mean(name: str) -> float:
            near = [places[each] for each in other if each in direct[name] or name in direct[each]]
            return sum(near) / len(near) if near else layer.index(name) / len(layer)

        return sorted(layer, key=mean)

    ordered = [list(layer) for layer in layers]
    for _ in range(SWEEPS):
        for at in range(1, len(ordered)):
            ordered[at] = sort_layer(ordered[at], ordered[at - 1])
        for at in range(len(ordered) - 2, -1, -1):
            ordered[at] = sort_layer(ordered[at], ordered[at + 1])
    return ordered


def _curve(source: tuple[float, float], target: tuple[float, float], is_rtl: bool) -> str:
    """An arrow from the side of one box to the side of another."""
    if is_rtl:
        start_x, end_x = source[0], target[0] + COLUMN_WIDTH
        bend = -COLUMN_GAP / 2
    else:
        start_x, end_x = source[0] + COLUMN_WIDTH, target[0]
        bend = COLUMN_GAP / 2
    start_y, end_y = source[1] + BOX_HEIGHT / 2, target[1] + BOX_HEIGHT / 2
    return f"M{start_x:g} {start_y:g}C{start_x + bend:g} {start_y:g} {end_x - bend:g} {end_y:g} {end_x:g} {end_y:g}"
