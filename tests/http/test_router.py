"""Routing of paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.application import Router

ROUTES = Router(
    {
        "/": "root",
        "/a/": "a",
        "/a/{id}/": "one",
        "/a/{id}/b/{name}": "two",
        "/a/mini/": "mini",
        "/x": "x",
    }
)


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
        ("a/7", None),
        ("/a/7/c/d", None),
        ("/a/7/b/c/d", None),
    ],
)
def test_match(path: str, expected: object) -> None:
    assert ROUTES.match(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/a/7.xls", ("file", {"id": "7"})),
        ("/a/7.xls/", ("file", {"id": "7"})),
        ("/a/7.5.xls", ("file", {"id": "7.5"})),
        ("/a/7.xlsx", ("one", {"id": "7.xlsx"})),
        ("/a/.xls", ("one", {"id": ".xls"})),
        ("/a/mini.xls", ("mini", {})),
        ("/a/7/8.xls", ("nested", {"id": "7", "name": "8"})),
    ],
)
def test_parameter_with_a_suffix(path: str, expected: object) -> None:
    routes = Router(
        {
            "/a/{id}/": "one",
            "/a/{id}.xls": "file",
            "/a/mini.xls": "mini",
            "/a/{id}/{x}/": "",
            "/a/{id}/{name}.xls": "nested",
        }
    )
    assert routes.match(path) == expected


def test_literal_segment_wins_over_a_parameter_in_any_order() -> None:
    routes = Router(
        {
            "/a/{id}/{part}/": "part",
            "/a/{id}/bulk/": "bulk",
            "/a/{id}/bulk.json": "bulk",
            "/a/x/{part}/": "x",
        }
    )
    assert routes.match("/a/7/bulk/") == ("bulk", {"id": "7"})
    assert routes.match("/a/7/bulk.json") == ("bulk", {"id": "7"})
    assert routes.match("/a/7/other") == ("part", {"id": "7", "part": "other"})
    assert routes.match("/a/x/bulk/") == ("x", {"part": "bulk"})


@given(
    st.lists(st.text(st.characters(exclude_characters="/"), min_size=1), max_size=5),
    st.sampled_from(["", "/"]),
)
def test_parameters_are_returned_as_sent(segments: list[str], end: str) -> None:
    found = ROUTES.match("/" + "/".join(segments) + end)
    match segments:
        case ["a", "mini"]:
            assert found == ("mini", {})
        case ["a", number]:
            assert found == ("one", {"id": number})
        case ["a", number, "b", name]:
            assert found == ("two", {"id": number, "name": name})
        case ["a"] | ["x"]:
            assert found == (segments[0], {})
        case _:
            assert found == (("root", {}) if not segments and not end else None)
