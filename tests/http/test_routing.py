"""Which target a path leads to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.routing import Routes

ROUTES = Routes({"/": "root", "/a/": "a", "/a/{id}/": "one", "/a/{id}/b/{name}": "two", "/a/mini/": "mini", "/x": "x"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ("root", {})),
        ("/a", ("a", {})),
        ("/a/", ("a", {})),
        ("/x/", ("x", {})),
        ("/a/7", ("one", {"id": "7"})),
        ("/a/7/", ("one", {"id": "7"})),
        ("/a/mini", ("mini", {})),
        ("/a/7/b/c", ("two", {"id": "7", "name": "c"})),
        ("", None),
        ("/b", None),
        ("/A/", None),
        ("/a//", None),
        ("/a//b/c", None),
        ("//a", None),
        ("/a/7/c/d", None),
        ("/a/7/b/c/d", None),
    ],
)
def test_finding(path: str, expected: object) -> None:
    assert ROUTES.find(path) == expected


@given(st.text())
def test_any_path_has_an_answer(path: str) -> None:
    found = ROUTES.find(path)
    assert found is None or path.startswith("/") or path.count("/") <= 1
