"""Layered graphs: direct edges only, columns, and no boxes on top of each other."""

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
