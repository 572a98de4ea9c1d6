"""Layered graphs: direct edges only, columns, and no boxes on top of each other."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.permissions.catalogue import PERMISSIONS
from fieldgate.web.charts.dependency_graph import DependencyGraph, GraphNode, build_graph, wrap_label

edges_of_a_dag = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]), max_size=30
)


def make_graph(edges: list[tuple[int, int]], *, is_rtl: bool = False) -> DependencyGraph:
    nodes = [GraphNode(str(number), f"Node {number}") for number in range(10)]
    return build_graph(nodes, [(str(source), str(target)) for source, target in edges], is_rtl=is_rtl)


def _closure(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(edges)
    while True:
        more = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


@given(edges_of_a_dag)
def test_arrows_are_the_direct_edges(edges: list[tuple[int, int]]) -> None:
    wanted = {(str(source), str(target)) for source, target in edges}
    drawn = {(arrow.source, arrow.target) for arrow in make_graph(edges).arrows}
    assert drawn <= wanted
    assert _closure(drawn) == _closure(wanted), "what follows from arrows is not drawn"
    for arrow in drawn:
        assert arrow not in _closure(drawn - {arrow}), "each arrow is needed"


@given(edges_of_a_dag, st.booleans())
def test_boxes_do_not_overlap_and_arrows_go_forward(edges: list[tuple[int, int]], is_rtl: bool) -> None:
    graph = make_graph(edges, is_rtl=is_rtl)
    corners = {box.id: (box.x, box.y) for box in graph.boxes}
    assert len(set(corners.values())) == len(graph.boxes) == 10
    for box in graph.boxes:
        assert box.x >= 0
        assert box.x + box.width <= graph.width
        assert box.y >= 0
        assert box.y + box.height <= graph.height
    for arrow in graph.arrows:
        source, target = corners[arrow.source][0], corners[arrow.target][0]
        assert source > target if is_rtl else source < target


def _points(path: str) -> Iterator[tuple[float, float]]:
    """Points along an arrow, close to each other."""
    x = y = 0.0
    for command, text in re.findall(r"([MCH])([^MCH]*)", path):
        numbers = [float(each) for each in text.split()]
        if command == "M":
            x, y = numbers
            yield x, y
            continue
        x1, y1, x2, y2, x3, y3 = numbers if command == "C" else (x, y, numbers[0], y, numbers[0], y)
        for step in range(1, 41):
            t = step / 40
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            yield a * x + b * x1 + c * x2 + d * x3, a * y + b * y1 + c * y2 + d * y3
        x, y = x3, y3


def _assert_arrows_cross_no_box(graph: DependencyGraph) -> None:
    boxes = {box.id: box for box in graph.boxes}
    for arrow in graph.arrows:
        points = list(_points(arrow.path))
        for box in graph.boxes:
            for x, y in points:
                is_inside = box.x < x < box.x + box.width and box.y < y < box.y + box.height
                assert not is_inside, f"the arrow from {arrow.source} to {arrow.target} crosses {box.id}"
        for name, (x, y) in ((arrow.source, points[0]), (arrow.target, points[-1])):
            box = boxes[name]
            assert x in (box.x, box.x + box.width)
            assert y == box.y + box.height / 2
        assert all(0 <= y <= graph.height for _, y in points)


@given(edges_of_a_dag, st.booleans())
def test_no_arrow_crosses_a_box(edges: list[tuple[int, int]], is_rtl: bool) -> None:
    _assert_arrows_cross_no_box(make_graph(edges, is_rtl=is_rtl))


@pytest.mark.parametrize("is_rtl", [False, True])
def test_no_arrow_of_the_permissions_crosses_a_box(is_rtl: bool) -> None:
    nodes = [GraphNode(each.codename, each.codename) for each in PERMISSIONS]
    edges = [(each.codename, granted) for each in PERMISSIONS for granted in each.grants]
    _assert_arrows_cross_no_box(build_graph(nodes, edges, is_rtl=is_rtl))


def test_what_nothing_needs_is_next_to_what_it_needs() -> None:
    boxes = {box.id: box.x for box in make_graph([(0, 1), (1, 2), (2, 3), (4, 3)]).boxes}
    assert boxes["0"] < boxes["1"] < boxes["2"] == boxes["4"] < boxes["3"]


def test_circle_is_refused() -> None:
    with pytest.raises(ValueError, match="needs itself"):
        build_graph([GraphNode("a", "A"), GraphNode("b", "B")], [("a", "b"), ("b", "a")])


def test_graph_of_the_permissions_is_narrow_enough() -> None:
    nodes = [GraphNode(each.codename, each.codename) for each in PERMISSIONS]
    graph = build_graph(nodes, [(each.codename, granted) for each in PERMISSIONS for granted in each.grants])
    assert len(graph.boxes) == len(PERMISSIONS)
    assert graph.arrows
    assert graph.width < 1000


def test_nothing() -> None:
    assert build_graph([], []).boxes == []


@given(st.text())
def test_labels_are_wrapped(label: str) -> None:
    lines = wrap_label(label, 10, 2)
    assert 1 <= len(lines) <= 2
    assert all(len(line) <= 10 for line in lines)


def test_label_is_broken_at_spaces() -> None:
    assert wrap_label("View submissions of some people only", 16) == ["View submissions", "of some people…"]
