"""The graph of permissions shows what the catalogue says."""

from fieldgate.permissions.catalogue import PERMISSIONS
from fieldgate.web.charts.permission_graph import ARROWS

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
