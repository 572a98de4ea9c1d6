"""`/api/v2/event/`: lists, filters, formats, visibility and invalid parameters."""

import csv
import io
from typing import Any

import msgspec
import pytest

from fieldgate.events.rows import COLUMNS
from tests.conftest import Service
from tests.events.event_service import PATH, PUBLIC_COUNT, event_service

__all__ = ["event_service"]


async def get_list(service: Service, query: str = "", **options: Any) -> dict[str, Any]:
    response = await service.get(PATH + query, **options)
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


async def get_ids(service: Service, query: str = "", **options: Any) -> list[int]:
    return [record["id"] for record in (await get_list(service, query, **options))["results"]]


async def test_default_page_is_newest_50(event_service: Service) -> None:
    page = await get_list(event_service)
    assert page["count"] == PUBLIC_COUNT
    assert [record["id"] for record in page["results"]][:4] == [107, 102, 101, 100]
    assert len(page["results"]) == 50


async def test_languages_and_fallbacks(event_service: Service) -> None:
    french = (await get_list(event_service, "?id=107", headers={"Accept-Language": "fr"}))[
        "results"
    ][0]
    assert (french["name"], french["countries"][0]["name"]) == ("Inondation 107", "Népal")
    assert french["ifrc_severity_level_display"] == "Jaune"
    spanish = (await get_list(event_service, "?id=107", headers={"Accept-Language": "es"}))[
        "results"
    ][0]
    assert spanish["name"] == "Flood 107", "falls back to the original language"
    arabic = (await get_list(event_service, "?id=101", headers={"Accept-Language": "ar"}))[
        "results"
    ][0]
    assert arabic["name"] == "بلدان"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?countries__in=84", [101]),
        ("?countries__in=290%2C84", [102, 101]),
        ("?countries__in= 290 , 84 ,", [102, 101]),
        ("?countries__in=99999999999", []),
        ("?regions__in=99", []),
        ("?regions__in=0", [102]),
        ("?regions__in=0,2&countries__in=84", [101]),
        ("?countries__iso3__in=ssd,IND", [102, 101]),
        ("?countries__iso3=ssd", [102]),
        ("?countries__iso3=SSD&countries__in=84", []),
        ("?countries__iso3=XXX", []),
        ("?countries__iso3=&limit=2", [107, 102]),
        ("?glide=DR-2026-000102-SSD", [102]),
        ("?glide=dr-2026-000102-ssd", [102]),
        ("?appeal_code=mdrnp007", [107]),
        ("?appeal_type=0,1", [107]),
        ("?is_featured=1", [101]),
        ("?is_featured=true", [101]),
        ("?ifrc_severity_level__in=1,2", [102]),
        ("?id__in=3,1,2,104", [3, 2, 1]),
        ("?dtype=12&id__in=101,102", [102]),
        ("?search=two countr", [101]),
        ('?search="two countries"', [101]),
        ("?search=SOUDAN", [102]),
        ("?search=بلدان", [101]),
        ("?search=two three", []),
        ("?disaster_start_date__gte=2026-04-12", [107, 102, 101]),
        ("?disaster_start_date__lt=2026-01-03T00:00:00.000Z", [1]),
        ("?updated_at__gte=2026-04-13T00:00:00 00:00&ordering=updated_at", [102, 107]),
        ("?ordering=disaster_start_date&limit=2", [1, 2]),
        ("?ordering=-disaster_start_date&limit=2", [107, 102]),
        ("?ordering=-ifrc_severity_level,id&limit=2", [102, 1]),
        ("?ordering=-name&limit=1", [99]),
    ],
)
async def test_filters(event_service: Service, query: str, expected: list[int]) -> None:
    assert await get_ids(event_service, query) == expected


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=all", "offset=-1", "is_featured=2", "is_featured=yes", "ordering=x"]
)
async def test_values_that_ifrc_go_ignores_are_refused(event_service: Service, query: str) -> None:
    response = await event_service.get(f"{PATH}?{query}")
    assert response.status_code == 400
    assert list(response.json()) == [query.partition("=")[0]]


async def test_appeals_and_field_reports_are_in_events_only(event_service: Service) -> None:
    for path in ("/api/v2/appeal/", "/api/v2/field-report/"):
        assert (await event_service.get(path)).status_code == 404
    [record] = (await get_list(event_service, "?appeal_code=MDRNP007"))["results"]
    assert [appeal["id"] for appeal in record["appeals"]] == [3]
    assert [report["id"] for report in record["field_reports"]] == [6]


async def test_visibility_by_caller(event_service: Service) -> None:
    member = {"Authorization": f"Token {await event_service.create_token()}"}
    indian = {"Authorization": f"Token {await event_service.create_token(countries=('IND',))}"}
    ifrc = {"Authorization": f"Token {await event_service.create_token(is_ifrc=True)}"}
    visible = {name: await get_ids(event_service, "?limit=6", headers=headers) for name, headers in
            (("public", {}), ("member", member), ("indian", indian), ("ifrc", ifrc))}  # fmt: skip
    assert visible["public"][:2] == [107, 102]
    assert visible["member"][:3] == [107, 103, 102]
    assert visible["indian"][:4] == [107, 105, 103, 102]
    assert visible["ifrc"][:5] == [107, 105, 104, 103, 102]
    for id_, allowed in ((103, (member, indian, ifrc)), (104, (ifrc,)), (105, (indian, ifrc))):
        for headers in ({}, member, indian, ifrc):
            status = (await event_service.get(f"{PATH}{id_}/", headers=headers)).status_code
            assert status == (200 if headers in allowed else 404)


async def test_visibility_of_reports_and_contacts(event_service: Service) -> None:
    member = {"Authorization": f"Token {await event_service.create_token()}"}
    for path in (f"{PATH}?id=107", f"{PATH}107/"):
        for headers, reports, people in (({}, [6], 0), (member, [6, 5], 1)):
            body = (await event_service.get(path, headers=headers)).json()
            record = body["results"][0] if "results" in body else body
            assert [report["id"] for report in record["field_reports"]] == reports
            assert len(record["field_reports"][0]["contacts"]) == people
            assert len(record.get("contacts", [None] * people)) == people


async def test_detail_record(event_service: Service) -> None:
    record = (await event_service.get(f"{PATH}107")).json()
    assert record["dtype"] == 12
    assert record["visibility"] == 3
    report = record["field_reports"][0]
    assert report["num_affected"] == 7
    assert "recent_affected" not in report
    assert "gov_num_affected" not in report
    assert (await event_service.get(f"{PATH}south-sudan")).json()["id"] == 102
    assert (await event_service.get(f"{PATH}106/")).json()["parent_event"] == 102, (
        "merged events are available by id"
    )


@pytest.mark.parametrize(
    "name", ["999", "0", "-1", "99999999999999999999", "abc", "12abc", "1.5", "%F0%9F%98%80"]
)
async def test_unknown_event(event_service: Service, name: str) -> None:
    assert (await event_service.get(f"{PATH}{name}/")).status_code == 404


async def test_mini_records(event_service: Service) -> None:
    page = (
        await event_service.get(
            f"{PATH}mini/?limit=3&regions__in=0,2", headers={"Accept-Language": "fr"}
        )
    ).json()
    assert page["count"] == PUBLIC_COUNT
    assert [record["id"] for record in page["results"]] == [107, 102, 101]
    assert list(page["results"][0]) == [
        "id", "slug", "dtype", "auto_generated_source", "emergency_response_contact_email",
        "countries_for_preview", "name", "translation_module_original_language",
    ]  # fmt: skip
    assert page["results"][0]["countries_for_preview"][0]["name"] == "Népal"


GO_COLUMNS = (
    "appeals.id", "auto_generated", "countries.id", "countries.iso", "countries.iso3", "countries.name",
    "countries.society_name", "created_at", "disaster_start_date", "dtype", "dtype.id", "dtype.name", "dtype.summary",
    "dtype.translation_module_original_language", "field_reports.id", "glide", "id", "ifrc_severity_level",
    "ifrc_severity_level_display", "ifrc_severity_level_update_date", "is_featured", "is_featured_region", "name",
    "num_affected", "parent_event", "slug", "summary", "updated_at",
)  # fmt: skip


@pytest.mark.parametrize(
    "path", ["response-activity/", "response-activity", "response-activity/?limit=1"]
)
async def test_path_of_the_live_system_that_is_not_here(event_service: Service, path: str) -> None:
    missing = await event_service.get(f"{PATH}{path}")
    assert (missing.status_code, missing.json()) == (
        404,
        {
            "detail": "This service does not have “event/response-activity/” of IFRC GO. Events are at /api/v2/event/. "
            "All endpoints are listed at /api/v2/."
        },
    )


async def test_csv(event_service: Service) -> None:
    response = await event_service.get(f"{PATH}?format=csv&id__in=101,107")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["id"] for row in rows] == ["107", "101"]
    assert rows[1]["countries.name"] == "India, Nepal"
    assert rows[1]["name"] == "'=Two countries", "not a formula"
    assert rows[0]["appeals.id"] == "3"
    assert [(row["dtype"], row["dtype.id"]) for row in rows] == [("", "12"), ("", "")]
    assert COLUMNS[:28] == GO_COLUMNS, "then our own"
    empty = await event_service.get(f"{PATH}?format=csv&id=999")
    assert empty.text == ",".join(COLUMNS) + "\r\n"
    assert (
        (await event_service.get(PATH, headers={"Accept": "text/csv"}))
        .headers["Content-Type"]
        .startswith("text/csv")
    )


async def test_flat_records(event_service: Service) -> None:
    flat = await get_list(event_service, "?tableau=true&limit=3")
    nested = await get_list(event_service, "?tableau=false&limit=3")
    assert flat["next"].endswith("limit=3&offset=3&tableau=true")
    joined = {"appeals", "countries", "field_reports"}
    for record, full in zip(flat["results"], nested["results"], strict=True):
        assert {name: record[name] for name in record if name not in joined} == {
            name: full[name] for name in record if name not in joined
        }
    lines = await event_service.get(f"{PATH}?tableau=1&format=ndjson&limit=3")
    assert [msgspec.json.decode(line) for line in lines.content.splitlines()] == flat["results"]
    table = (await event_service.get(f"{PATH}?tableau=true&format=csv")).text
    assert table == (await event_service.get(f"{PATH}?format=csv")).text, "CSV is always flat"
    refused = await event_service.get(f"{PATH}?tableau=yes")
    assert (refused.status_code, refused.json()) == (400, {"tableau": ["Enter true or false."]})


INVALID_FILTERS = [
    ("countries__in", "abc"), ("countries__in", "1,abc"), ("regions__in", "Africa"), ("dtype", "flood"),
    ("dtype", "12.5"), ("dtype__in", "1;2"), ("id", "x"), ("id__in", "1,2,x"), ("appeal_type", "77"),
    ("is_featured", "maybe"), ("is_featured_region", "2"), ("auto_generated_source", "me"),
    ("ifrc_severity_level", "9"), ("ifrc_severity_level__in", "0,red"), ("disaster_start_date", "yesterday"),
    ("disaster_start_date__gte", "2026-13-01"), ("created_at__lt", "01/02/2026"), ("updated_at__gt", "-"),
    ("ordering", "foo"), ("ordering", "name,--id"), ("search", "x" * 300), ("search", "a " * 40),
    ("glide", "g" * 30), ("appeal_code", "c" * 30), ("countries__iso3__in", "NPL\0"),
]  # fmt: skip
INVALID_PAGES = [("limit", "0"), ("offset", "-1")]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        *((PATH, *invalid) for invalid in INVALID_FILTERS + INVALID_PAGES),
        *((f"{PATH}{path}/", *INVALID_FILTERS[0]) for path in ("mini", "export", "summary")),
        (f"{PATH}mini/", *INVALID_PAGES[0]),
        *((f"{PATH}deleted/", *invalid) for invalid in [("since", "yesterday"), *INVALID_PAGES]),
    ],
)
async def test_invalid_values(event_service: Service, path: str, name: str, value: str) -> None:
    messages = set()
    for language in ("en", "ar"):
        response = await event_service.get(
            path, params={name: value}, headers={"Accept-Language": language}
        )
        assert response.status_code == 400, response.text
        assert list(response.json()) == [name]
        messages.add(response.json()[name][0])
    assert len(messages) == 2, "translated"
