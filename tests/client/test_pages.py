"""Pages are the same whether their records are JSON or decoded with the page."""

from typing import Any

import msgspec
import pytest
from fieldgate_client.pages import DamagedPage, NotAList, Page, parse_page
from fieldgate_client.records import Asset, Event, Permission
from hypothesis import given
from hypothesis import strategies as st

RECORD = dict[str, Any]
values = st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=3), st.lists(st.integers(), max_size=1))
records = st.dictionaries(st.sampled_from(["id", "_id", "uid", "codename", "url", "name"]), values, max_size=6)


def page_of(results: Any, record_type: Any = msgspec.Raw, **envelope: Any) -> Page:
    body = msgspec.json.encode({"count": len(results), "next": None, "results": results, **envelope})
    return parse_page(body, {}, 0, 1000, record_type)


@given(st.lists(records, max_size=4), st.booleans())
def test_dicts_are_the_json_records(results: list[RECORD], is_array: bool) -> None:
    body = msgspec.json.encode(results if is_array else {"count": len(results), "next": None, "results": results})
    raw, decoded = parse_page(body, {}, 0, 1000), parse_page(body, {}, 0, 1000, RECORD)
    assert decoded.records == [msgspec.json.decode(record) for record in raw.records] == results
    assert decoded.count == raw.count == len(results)
    assert len(decoded.keys) == len(raw.keys) == len(results)
    if all(isinstance(each, str) or each is None for record in results for each in record.values()):
        assert decoded.keys == raw.keys
    for record, key in zip(results, decoded.keys, strict=True):
        assert page_of([record], RECORD).keys == [key], "the same on every page"


@pytest.mark.parametrize(
    ("record_type", "results", "keys"),
    [
        (Event, [{"id": 0, "name": "a"}, {"id": 7}], [0, 7]),
        (Asset, [{"uid": "aX", "id": 3}, {"uid": "aY", "id": 4}], [3, 4]),
        (Asset, [{"uid": "aX"}, {"uid": "aY"}], ["aX", "aY"]),
        (Permission, [{"codename": "add"}], ["add"]),
        (RECORD, [{"id": 0}, {"id": "x"}], [0, "x"]),
        (RECORD, [{"id": 1}, {"_id": 2}, {"uid": "u"}], [1, 2, "u"]),
    ],
)
def test_keys_of_decoded_records(record_type: Any, results: list[RECORD], keys: list[int | str]) -> None:
    page = page_of(results, record_type)
    assert page.keys == page_of(results).keys == keys
    assert page.records == msgspec.convert(results, list[record_type])


def test_records_that_are_not_utf_8_are_damaged() -> None:
    body = b'{"count":1,"next":null,"results":[{"id":1,"name":"\xff"}]}'
    for record_type in (msgspec.Raw, RECORD, Event):
        with pytest.raises(DamagedPage):
            parse_page(body, {}, 0, 1000, record_type)


def test_records_without_an_identifier_have_keys_by_content() -> None:
    results = [{"name": "a"}, {"name": "b"}, {"name": "a"}]
    raw, decoded = page_of(results), page_of(results, RECORD)
    assert decoded.keys == raw.keys
    assert decoded.keys[0] == decoded.keys[2] != decoded.keys[1]


def test_numbers_as_text_are_accepted_in_records() -> None:
    assert page_of([{"id": "12", "num_affected": "7"}], Event).records == [Event(id=12, num_affected=7)]


def test_a_record_of_the_wrong_type() -> None:
    with pytest.raises(NotAList, match=r"results\[1\]\.id"):
        page_of([{"id": 1}, {"id": {}}], Event)


@pytest.mark.parametrize("body", [b'{"count":1,"results":[{"id":1', b"[1,", b'{"count":1}', b'{"results":5}', b""])
@pytest.mark.parametrize("record_type", [msgspec.Raw, RECORD, Event])
def test_damaged_pages_are_requested_again(body: bytes, record_type: Any) -> None:
    with pytest.raises(DamagedPage):
        parse_page(body, {}, 0, 1000, record_type)


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
def test_the_position_of_the_next_page_is_the_one_that_the_server_set(offset: int, links: RECORD) -> None:
    body = msgspec.json.encode({"count": 99, "results": [{"id": id_} for id_ in range(10)], **links})
    assert parse_page(body, {}, offset, 10).end == offset + 10
    for other in ({0, 10, 20} - {offset}) | {offset + 10, offset + 20}:
        with pytest.raises(DamagedPage):
            parse_page(body, {}, other, 10)


def test_a_next_page_at_the_same_position_is_damaged() -> None:
    for results in ([{"id": 1}], []):
        with pytest.raises(DamagedPage, match="begins at 0"):
            page_of(results, count=9, next="?limit=1&offset=0&start=0")
