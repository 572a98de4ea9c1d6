"""Sections 2.4 and 4.4: the event record, the list of events, and how clients page through it; on both databases."""

from math import ceil
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import BASE_URL, Service
from tests.events.event_service import PATH, PUBLIC_COUNT, event_service

__all__ = ["event_service"]


async def page(service: Service, address: str) -> dict[str, Any]:
    found: dict[str, Any] = (await service.get(address)).json()
    return found


async def test_2_4_dtype_is_an_object(event_service: Service) -> None:
    """dtype: id (integer), name, summary, translation_module_original_language (strings)."""
    dtype = (await page(event_service, f"{PATH}?limit=1"))["results"][0]["dtype"]
    assert {key: type(value) for key, value in dtype.items()} == {
        "id": int,
        "name": str,
        "summary": str,
        "translation_module_original_language": str,
    }


async def test_2_4_countries_have_thirteen_fields(event_service: Service) -> None:
    """The fields of a country object, by name and type."""
    for record in (await page(event_service, f"{PATH}?limit=1000"))["results"]:
        for country in record["countries"]:
            assert list(country) == [
                "iso", "iso3", "id", "record_type", "record_type_display", "region", "independent", "is_deprecated",
                "fdrs", "average_household_size", "society_name", "name", "translation_module_original_language",
            ]  # fmt: skip
            assert isinstance(country["region"], int)
            assert country["average_household_size"] is None or isinstance(
                country["average_household_size"], float
            )


async def test_2_4_appeals_is_an_array(event_service: Service) -> None:
    """appeals: an array, whose elements clients flatten."""
    assert all(
        isinstance(record["appeals"], list)
        for record in (await page(event_service, PATH))["results"]
    )


async def test_4_4_lists_events_in_the_envelope(event_service: Service) -> None:
    """The response is the list envelope."""
    body = await page(event_service, PATH)
    assert list(body) == ["count", "next", "previous", "results"]
    assert body["count"] == PUBLIC_COUNT


async def test_4_4_both_filters_narrow_count(event_service: Service) -> None:
    """regions__in and countries__in narrow count."""
    counts = [
        (await page(event_service, f"{PATH}?{query}"))["count"]
        for query in (
            "",
            "regions__in=2",
            "regions__in=2&countries__in=84",
            "regions__in=0&countries__in=84",
        )
    ]
    assert counts == [PUBLIC_COUNT, PUBLIC_COUNT - 1, 1, 0]


async def test_4_4_limit_offset_and_format(event_service: Service) -> None:
    """limit, offset and format are kept by the links, in alphabetical order."""
    body = await page(
        event_service, f"{PATH}?regions__in=2&offset=20&limit=10&format=json&countries__in=123,84"
    )
    query = "countries__in=123%2C84&format=json&limit=10&offset={}&regions__in=2"
    assert body["next"] == f"{BASE_URL}{PATH}?{query.format(30)}"
    assert body["previous"] == f"{BASE_URL}{PATH}?{query.format(10)}"


async def test_4_4_a_filter_given_twice(event_service: Service) -> None:
    """regions__in, countries__in: of a parameter that is given twice the last value counts, and is the one in links."""
    body = await page(event_service, f"{PATH}?limit=1&regions__in=0&regions__in=2")
    assert (
        body["count"]
        == (await page(event_service, f"{PATH}?regions__in=2"))["count"]
        == PUBLIC_COUNT - 1
    )
    assert parse_qs(urlsplit(body["next"]).query)["regions__in"] == ["2"]
    assert (await page(event_service, f"{PATH}?regions__in=2&regions__in=0"))["count"] == 1


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html"])
async def test_4_5_format_api_selects_the_page_of_events(
    event_service: Service, accept: str
) -> None:
    """format=api selects the browsable rendering, whatever Accept says."""
    for path in (PATH, f"{PATH}101/"):
        answer = await event_service.get(f"{path}?format=api", headers={"Accept": accept})
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "<h1" in answer.text


@pytest.mark.parametrize("path", [PATH, f"{PATH}?limit=5&regions__in=2"])
async def test_4_4_head_has_the_headers_of_get(event_service: Service, path: str) -> None:
    """Section 4: HTTP 200 with Allow and Vary; HEAD works wherever GET does, with the same headers and no body."""
    head = await event_service.request("HEAD", path)
    answer = await event_service.get(path)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("Allow", "Vary", "Content-Type", "Content-Language", "ETag", "Link"):
        assert head.headers.get(name) == answer.headers.get(name)
        assert name in head.headers


async def test_4_4_options_names_the_methods(event_service: Service) -> None:
    """Section 4: OPTIONS is allowed; it answers 200 with Allow and a description in JSON."""
    answer = await event_service.request("OPTIONS", PATH)
    assert answer.status_code == 200
    assert {"GET", "HEAD", "OPTIONS"} <= set(answer.headers["Allow"].split(", "))
    assert answer.headers["Allow"] == (await event_service.get(PATH)).headers["Allow"]
    assert answer.json()["name"]


# How clients in production walk the list, each with its own rule to stop.


async def test_walk_until_next_is_null(event_service: Service) -> None:
    """A notebook: countries__in, limit 50, follows `next`."""
    address: str | None = f"{PATH}?countries__in=123%2C84&format=json&limit=50"
    seen: list[int] = []
    while address:
        body = await page(event_service, address)
        seen += [record["id"] for record in body["results"]]
        address = body["next"] and body["next"].removeprefix(BASE_URL)
    assert len(seen) == len(set(seen)) == body["count"] == PUBLIC_COUNT - 1


async def test_walk_until_results_are_empty(event_service: Service) -> None:
    """A notebook: the offset grows by 50 until the page is empty."""
    seen: list[int] = []
    offset = 0
    while True:
        query = (
            f"regions__in=0,2&disaster_start_date__gte=2012-01-01T00:00:00&offset={offset}&limit=50"
        )
        results = (await page(event_service, f"{PATH}?{query}"))["results"]
        if not results:
            break
        seen += [record["id"] for record in results]
        offset += 50
    assert len(seen) == len(set(seen)) == PUBLIC_COUNT


async def test_walk_with_one_huge_limit(event_service: Service) -> None:
    """Scripts: limit=199999 or 100000000000, and only one request."""
    for limit in ("9999", "199999", "100000000000"):
        response = await event_service.get(f"{PATH}?limit={limit}")
        assert len(response.json()["results"]) == PUBLIC_COUNT
        assert response.headers["Fieldgate-Limit"] == "1000"


async def test_walk_of_a_tableau_connector(event_service: Service) -> None:
    """tableau-wdc: tableau=true&limit=199999, with joined texts instead of lists of objects."""
    results = (await page(event_service, f"{PATH}?tableau=true&limit=199999"))["results"]
    assert len(results) == PUBLIC_COUNT
    assert all(len(record) == 20 for record in results)
    by_id = {record["id"]: record for record in results}
    assert by_id[101]["countries"] == {"id": "84, 123", "name": "India, Nepal"}
    assert by_id[101]["dtype"] is None
    assert (by_id[101]["appeals"], by_id[101]["field_reports"]) == ({"id": ""}, {"id": ""})
    assert by_id[107]["dtype"]["name"] == "Flood"
    assert (by_id[107]["appeals"], by_id[107]["field_reports"]) == ({"id": "3"}, {"id": "6"})


async def test_walk_by_count(event_service: Service) -> None:
    """Count first, then every offset below it; the last page is the shorter one."""
    limit = 20
    count = (await page(event_service, f"{PATH}?limit=1"))["count"]
    pages = [
        (await page(event_service, f"{PATH}?limit={limit}&offset={limit * n}"))["results"]
        for n in range(ceil(count / limit))
    ]
    assert [len(each) for each in pages] == [20, 20, 20, 20, 20, PUBLIC_COUNT - 100]
    assert len({record["id"] for each in pages for record in each}) == count


async def test_requests_of_dashboards(event_service: Service) -> None:
    """Other requests seen in production."""
    for query in (
        "limit=30&ordering=-disaster_start_date",
        "limit=5&ordering=-disaster_start_date&dtype=12",
        "is_featured=1",
        "is_featured=true",
        "appeal_type=0,1",
        "disaster_start_date__gt=2026-01-01T00:00:00.000Z",
        "auto_generated_source=New field report",
        "search=flo",
        "ordering=-created_at",
    ):
        body = await page(event_service, f"{PATH}?{query}")
        assert body["count"] == 0 or body["results"], query
    featured = await page(event_service, f"{PATH}?is_featured=1")
    assert [record["id"] for record in featured["results"]] == [101]


async def test_every_link_of_a_walk_is_of_this_service(event_service: Service) -> None:
    """Links are absolute, and lead to the same path."""
    body = await page(event_service, f"{PATH}?limit=1")
    assert urlsplit(body["next"])[:3] == ("http", "127.0.0.1:8000", PATH)
