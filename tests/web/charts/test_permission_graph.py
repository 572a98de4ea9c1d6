"""The graph of permissions shows what the catalogue says."""

import pytest

from fieldgate.permissions.catalogue import PERMISSIONS
from fieldgate.web.charts.permission_graph import ARROWS, build_graph, wrap_label

LABELS = [(each.codename, each.codename, "/") for each in PERMISSIONS]


def _closure(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def test_arrows_are_the_implications_of_the_catalogue() -> None:
    implied = {(each.codename, granted) for each in PERMISSIONS for granted in each.grants}
    assert _closure(set(ARROWS)) == _closure(implied)
    for arrow in ARROWS:
        assert arrow not in _closure(set(ARROWS) - {arrow}), "what follows from arrows is not drawn"


@pytest.mark.parametrize("is_rtl", [False, True])
def test_boxes_are_apart_and_in_the_picture(is_rtl: bool) -> None:
    graph = build_graph(LABELS, is_rtl=is_rtl)
    assert [box.id for box in graph.boxes] == [each.codename for each in PERMISSIONS]
    for box in graph.boxes:
        assert 0 <= box.x <= graph.width - box.width
        assert 0 <= box.y <= graph.height - box.height
        assert not [
            other.id
            for other in graph.boxes
            if other != box and abs(other.x - box.x) < box.width and abs(other.y - box.y) < box.height
        ]


def test_arrow_that_passes_a_column() -> None:
    paths = {(arrow.source, arrow.target): arrow.path for arrow in build_graph(LABELS).arrows}
    assert paths["change_asset", "view_asset"] == "M392 22C420 22 420 42 448 42H616C644 42 644 142 672 142"
    paths = {(arrow.source, arrow.target): arrow.path for arrow in build_graph(LABELS, is_rtl=True).arrows}
    assert paths["change_asset", "view_asset"] == "M448 22C420 22 420 42 392 42H224C196 42 196 142 168 142"


def test_label_is_broken_at_spaces() -> None:
    assert wrap_label("View submissions of some people only", 16) == ["View submissions", "of some people…"]
