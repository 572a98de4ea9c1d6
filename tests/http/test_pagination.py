"""Limit/offset pagination, as functions and over HTTP, on lists of 100 and of 0 records."""

from math import ceil
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.errors import ValidationError
from fieldgate.http.operations import Operation, Routes
from fieldgate.http.pagination_links import MAX_OFFSET, page_links, parse_page
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT, ListResult, PageRequest
from tests.conftest import BASE_URL, Service, StartService

ADDRESS = "http://127.0.0.1:8000/api/v2/numbers/"


class Number(msgspec.Struct):
    number: int


class NumberQuery(msgspec.Struct):
    parity: str = ""


def numbers(count: int) -> Operation:
    """An operation that lists this many numbers."""

    @Routes(tag="x", scope=Scope.NONE).get_list(
        "/api/v2/numbers/",
        response=Number,
        title=Message("Permissions"),
        description=Message("Permissions"),
        depends_on=(),
    )
    async def number_list(page: PageRequest, query: NumberQuery) -> ListResult[Number]:
        matching = [
            Number(n)
            for n in range(1, count + 1)
            if not query.parity or n % 2 == (query.parity == "odd")
        ]
        return ListResult(len(matching), matching[page.offset : page.offset + page.limit])

    return number_list


@given(
    count=st.integers(0, 300),
    limit=st.integers(1, 400),
    offset=st.integers(0, 400),
    others=st.dictionaries(
        st.sampled_from(["search", "format", "ordering", "a b"]), st.text(max_size=5)
    ),
)
def test_links_reach_every_record_once(
    count: int, limit: int, offset: int, others: dict[str, str]
) -> None:
    """Following `next` from the start, and `previous` from anywhere, gives each record exactly once."""
    records = list(range(count))
    seen: list[int] = []
    page = PageRequest(limit, 0)
    for _ in range(count + 1):
        seen += records[page.offset : page.offset + page.limit]
        link, _ = page_links(ADDRESS, others, page, count)
        if link is None:
            break
        parameters = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
        page = parse_page(parameters)
        assert page.limit == limit
        assert {
            name: value for name, value in parameters.items() if name not in ("limit", "offset")
        } == others
    assert seen == records

    page = PageRequest(limit, offset)
    back, steps = page_links(ADDRESS, others, page, count)[1], 0
    while back is not None:
        before = page
        page = parse_page(dict(parse_qsl(urlsplit(back).query, keep_blank_values=True)))
        assert page.offset < before.offset
        assert records[page.offset : page.offset + page.limit], "one step back shows records"
        back, steps = page_links(ADDRESS, others, page, count)[1], steps + 1
    assert page.offset == 0 or count == 0
    assert steps <= ceil(max(offset, count) / limit) + 1


@given(
    st.dictionaries(
        st.sampled_from(["limit", "offset", "start", "page", "page_size"]),
        st.one_of(st.text(max_size=6), st.integers(-5, 10**30).map(str)),
    )
)
def test_any_input_is_a_page_or_a_validation_error(parameters: dict[str, str]) -> None:
    page, named = PageRequest(), set[str]()
    try:
        page = parse_page(parameters)
    except ValidationError as problem:
        named = set(problem.fields)
    assert named <= set(parameters)
    assert 1 <= page.limit <= MAX_LIMIT
    assert 0 <= page.offset <= MAX_OFFSET


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, PageRequest(DEFAULT_LIMIT, 0)),
        ({"limit": "", "offset": " "}, PageRequest(DEFAULT_LIMIT, 0)),
        ({"limit": "7"}, PageRequest(7, 0)),
        ({"limit": " +7 "}, PageRequest(7, 0)),
        ({"limit": "٣"}, PageRequest(3, 0)),
        ({"limit": "1000"}, PageRequest(1000, 0)),
        ({"limit": "1001"}, PageRequest(1000, 0, is_clipped=True)),
        ({"limit": "100000000000"}, PageRequest(1000, 0, is_clipped=True)),
        ({"limit": "9" * 5000}, PageRequest(1000, 0, is_clipped=True)),
        ({"start": "20"}, PageRequest(DEFAULT_LIMIT, 20)),
        ({"start": "20", "offset": "30"}, PageRequest(DEFAULT_LIMIT, 30)),
        ({"start": "20", "offset": ""}, PageRequest(DEFAULT_LIMIT, 20)),
        ({"offset": "9" * 5000}, PageRequest(DEFAULT_LIMIT, MAX_OFFSET)),
        ({"offset": str(MAX_OFFSET + 1)}, PageRequest(DEFAULT_LIMIT, MAX_OFFSET)),
        ({"offset": "1000000000000000000"}, PageRequest(DEFAULT_LIMIT, 10**18)),
        ({"page": "1"}, PageRequest(DEFAULT_LIMIT, 0)),
        ({"page": "3"}, PageRequest(DEFAULT_LIMIT, 100)),
        ({"page": "", "page_size": " "}, PageRequest(DEFAULT_LIMIT, 0)),
        ({"page_size": "20"}, PageRequest(20, 0)),
        ({"page": "3", "page_size": "20"}, PageRequest(20, 40)),
        ({"page": "3", "limit": "20"}, PageRequest(20, 40)),
        ({"page": "2", "page_size": "3", "limit": "4"}, PageRequest(4, 3)),
        ({"page": "2", "page_size": "5000"}, PageRequest(1000, 1000, is_clipped=True)),
        ({"page": "2", "page_size": "5000", "limit": "4"}, PageRequest(4, 1000)),
        ({"page": "2", "page_size": "3", "offset": "7"}, PageRequest(3, 7)),
        ({"page": "2", "page_size": "3", "start": "7"}, PageRequest(3, 7)),
        ({"page": "2", "page_size": "3", "offset": "0"}, PageRequest(3, 0)),
        ({"page": "2", "page_size": "3", "offset": ""}, PageRequest(3, 3)),
        ({"page": "2", "offset": "7"}, PageRequest(DEFAULT_LIMIT, 7)),
        ({"page_size": "5", "limit": "7"}, PageRequest(7, 0)),
        ({"page": "9" * 5000, "page_size": "1000"}, PageRequest(1000, MAX_OFFSET)),
        ({"page": "٢", "page_size": "٣"}, PageRequest(3, 3)),
    ],
)
def test_parse_page(parameters: dict[str, str], expected: PageRequest) -> None:
    assert parse_page(parameters) == expected


@pytest.mark.parametrize("name", ["limit", "offset", "start", "page", "page_size"])
@pytest.mark.parametrize(
    "text", ["-1", "abc", "1.5", "1e3", "0x10", "1_000", "--1", "-" + "9" * 5000, "½", "1 2"]
)
def test_invalid_page_names_the_parameter(name: str, text: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_page({name: text})
    assert list(refused.value.fields) == [name]


def test_zero_is_an_offset_and_nothing_else() -> None:
    for name in ("limit", "page", "page_size"):
        with pytest.raises(ValidationError):
            parse_page({name: "0"})
    with pytest.raises(ValidationError) as refused:
        parse_page({"page": "0", "page_size": "x"})
    assert sorted(refused.value.fields) == ["page", "page_size"]
    with pytest.raises(ValidationError) as refused:
        parse_page({"page": "0", "page_size": "x", "limit": "4", "offset": "8"})
    assert sorted(refused.value.fields) == ["page", "page_size"], "also if others take precedence"
    assert parse_page({"offset": "0"}).offset == 0


async def _walk(service: Service, path: str) -> list[int]:
    found: list[int] = []
    link: str | None = path
    while link:
        assert link is path or f"offset={len(found)}" in link
        body = (await service.get(link)).json()
        found += [record["number"] for record in body["results"]]
        link = body["next"]
    return found


async def test_every_stop_rule_of_clients_ends(start: StartService) -> None:
    """The four stop rules seen in clients: next is null, results are empty, fewer than limit, offsets up to count."""
    everything = list(range(1, 101))
    async with start(numbers(100)) as service:
        for limit in (1, 7, 20, 50, 99, 100, 101, 5000):
            assert await _walk(service, f"/api/v2/numbers/?limit={limit}") == everything
            used = min(limit, MAX_LIMIT)
            by_empty: list[int] = []
            while len(by_empty) <= 100:
                page = (
                    await service.get(f"/api/v2/numbers/?limit={limit}&offset={len(by_empty)}")
                ).json()
                if not page["results"]:
                    break
                by_empty += [record["number"] for record in page["results"]]
            by_count: list[int] = []
            count = (await service.get("/api/v2/numbers/?limit=1")).json()["count"]
            for number in range(ceil(count / used)):
                batch = (
                    await service.get(f"/api/v2/numbers/?limit={limit}&offset={number * used}")
                ).json()["results"]
                by_count += [record["number"] for record in batch]
            assert by_empty == by_count == everything


async def test_links_over_http(start: StartService) -> None:
    async with start(numbers(100)) as service:
        answer = await service.get(
            "/api/v2/numbers/?parity=odd&offset=10&limit=20&a=%2C&limit=10&format=json"
        )
        body = answer.json()
        assert (
            body["next"]
            == f"{BASE_URL}/api/v2/numbers/?a=%2C&format=json&limit=10&offset=20&parity=odd"
        )
        assert (
            body["previous"]
            == f"{BASE_URL}/api/v2/numbers/?a=%2C&format=json&limit=10&offset=0&parity=odd"
        )
        assert (
            answer.headers["Link"]
            == f'<{body["next"]}>; rel="next", <{body["previous"]}>; rel="prev"'
        )
        assert [record["number"] for record in body["results"]] == list(range(21, 41, 2))
        assert "Link" not in (await service.get("/api/v2/numbers/?limit=1000")).headers


async def test_page_numbers_over_http(start: StartService) -> None:
    everything = list(range(1, 101))
    async with start(numbers(100)) as service:
        for size in (1, 7, 50, 100, 101):
            found: list[int] = []
            for number in range(1, ceil(100 / size) + 1):
                body = (
                    await service.get(f"/api/v2/numbers/?page={number}&page_size={size}")
                ).json()
                found += [record["number"] for record in body["results"]]
            assert found == everything
            assert await _walk(service, f"/api/v2/numbers/?page=1&page_size={size}") == everything
        answer = await service.get("/api/v2/numbers/?page=2&page_size=10&parity=odd&format=json")
        assert (
            answer.json()["next"]
            == f"{BASE_URL}/api/v2/numbers/?format=json&limit=10&offset=20&parity=odd"
        )
        assert (
            answer.json()["previous"]
            == f"{BASE_URL}/api/v2/numbers/?format=json&limit=10&offset=0&parity=odd"
        )
        assert "Fieldgate-Ignored" not in answer.headers
        strict = {"Prefer": "handling=strict"}
        assert (
            await service.get("/api/v2/numbers/?page=2&page_size=10", headers=strict)
        ).status_code == 200
        past = (await service.get("/api/v2/numbers/?page=99&page_size=30")).json()
        assert (past["results"], past["next"]) == ([], None)
        assert past["previous"] == f"{BASE_URL}/api/v2/numbers/?limit=30&offset=70"
        clipped = await service.get("/api/v2/numbers/?page=1&page_size=9999")
        assert clipped.headers["Fieldgate-Limit"] == "1000"
        for query, name in (("page=0", "page"), ("page=x", "page"), ("page_size=0", "page_size")):
            refused = await service.get(f"/api/v2/numbers/?{query}")
            assert (refused.status_code, list(refused.json())) == (400, [name])


async def test_clipped_limit_is_reported_in_a_header(start: StartService) -> None:
    async with start(numbers(1500)) as service:
        answer = await service.get("/api/v2/numbers/?limit=9999")
        assert answer.headers["Fieldgate-Limit"] == "1000"
        assert len(answer.json()["results"]) == 1000
        assert answer.json()["next"] == f"{BASE_URL}/api/v2/numbers/?limit=1000&offset=1000"
        assert "Fieldgate-Limit" not in (await service.get("/api/v2/numbers/?limit=1000")).headers


async def test_an_empty_list(start: StartService) -> None:
    async with start(numbers(0)) as service:
        empty: dict[str, object] = {"count": 0, "next": None, "previous": None, "results": []}
        for query in ("", "?limit=1", "?offset=5", "?offset=99999999999999999999"):
            assert (await service.get(f"/api/v2/numbers/{query}")).json() == empty


async def test_long_urls_are_left_out_of_the_link_header(start: StartService) -> None:
    async with start(numbers(100)) as service:
        answer = await service.get("/api/v2/numbers/", params={"limit": "5", "unknown": "x" * 5000})
        assert answer.json()["next"]
        assert "Link" not in answer.headers
