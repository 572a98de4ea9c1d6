"""Pages of lists: their records, what identifies these, and where the next page begins."""

from typing import Any

import msgspec
import pytest
from fieldgate_client.pages import DamagedPage, Page, parse_page
from hypothesis import given
from hypothesis import strategies as st

RECORD = dict[str, Any]
values = st.one_of(
    st.none(), st.integers(-5, 5), st.text(max_size=3), st.lists(st.integers(), max_size=1)
)
records = st.dictionaries(
    st.sampled_from(["id", "_id", "uid", "codename", "url", "name"]), values, max_size=6
)


def page_of(results: Any, **envelope: Any) -> Page:
    body = msgspec.json.encode(
        {"count": len(results), "next": None, "results": results, **envelope}
    )
    return parse_page(body, {}, 0, 1000)


@given(st.lists(records, max_size=4), st.booleans())
def test_records_have_the_same_keys_on_every_page(results: list[RECORD], is_array: bool) -> None:
    body = msgspec.json.encode(
        results if is_array else {"count": len(results), "next": None, "results": results}
    )
    page = parse_page(body, {}, 0, 1000)
    assert [msgspec.json.decode(record) for record in page.records] == results
    assert page.count == len(results)
    assert page.keys == [page_of([record]).keys[0] for record in results]


@pytest.mark.parametrize(
    ("results", "keys"),
    [
        ([{"id": 0, "name": "a"}, {"id": 7}], [0, 7]),
        ([{"uid": "aX", "id": 3}, {"uid": "aY"}], [3, "aY"]),
        ([{"codename": "add"}, {"url": "/1/"}, {"id": "x"}], ["add", "/1/", "x"]),
        ([{"id": 1}, {"_id": 2}, {"_id": 0}, {"id": {}, "uid": "u"}], [1, 2, 0]),
    ],
)
def test_keys(results: list[RECORD], keys: list[int | str]) -> None:
    assert page_of(results).keys[: len(keys)] == keys


def test_records_without_an_identifier_have_keys_by_content() -> None:
    keys = page_of([{"name": "a"}, {"name": "b"}, {"name": "a"}]).keys
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize(
    "body", [b'{"count":1,"results":[{"id":1', b"[1,", b'{"count":1}', b'{"results":5}', b""]
)
def test_damaged_pages_are_requested_again(body: bytes) -> None:
    with pytest.raises(DamagedPage):
        parse_page(body, {}, 0, 1000)


@pytest.mark.parametrize(
    ("offset", "links"),
    [
        (0, {"next": "?limit=10&offset=0&start=10"}),  # KoboToolbox sets `start`
        (0, {"next": "?limit=10&offset=10&start=0"}),  # IFRC GO sets `offset`
        (20, {"next": "?limit=10&offset=30", "previous": "?limit=10&offset=10"}),  # Fieldgate
        (10, {"next": "?limit=10&offset=10&start=20", "previous": "?limit=10&offset=10"}),
        (20, {"next": "?limit=10&offset=30&start=20", "previous": "?limit=10&offset=10&start=20"}),
    ],
)
def test_the_position_of_the_next_page_is_the_one_that_the_server_set(
    offset: int, links: RECORD
) -> None:
    body = msgspec.json.encode(
        {"count": 99, "results": [{"id": id_} for id_ in range(10)], **links}
    )
    assert parse_page(body, {}, offset, 10).end == offset + 10
    for other in ({0, 10, 20} - {offset}) | {offset + 10, offset + 20}:
        with pytest.raises(DamagedPage):
            parse_page(body, {}, other, 10)
