"""`/api/v2/event/summary/`: figures, languages, visibility, invalid parameters, caching."""

from typing import Any

import pytest

from tests.conftest import Service
from tests.events.event_service import INDIA, NEPAL, PATH, PUBLIC_COUNT, SUDAN, event_service

__all__ = ["event_service"]

SUMMARY = PATH + "summary/"


async def get_summary(service: Service, query: str = "", **options: Any) -> dict[str, Any]:
    response = await service.get(SUMMARY + query, **options)
    assert response.status_code == 200, response.text
    summary: dict[str, Any] = response.json()
    return summary


async def get_count(service: Service, query: str, **options: Any) -> int:
    response = await service.get(f"{PATH}?{query}", **options)
    assert response.status_code == 200, response.text
    return int(response.json()["count"])


def counts(entries: list[dict[str, Any]]) -> dict[int, int]:
    return {entry["id"]: entry["count"] for entry in entries}


async def test_totals_and_lists(event_service: Service) -> None:
    summary = await get_summary(event_service)
    assert summary["count"] == PUBLIC_COUNT
    assert (summary["appeals"], summary["events_with_num_affected"], summary["query"]) == (1, 0, "")
    assert counts(summary["countries"]) == {NEPAL: 102, SUDAN: 1, INDIA: 1}, "most events first, then by name"
    assert counts(summary["types"]) == {12: PUBLIC_COUNT - 1}, "one event has no type"
    assert counts(summary["severities"]) == {0: PUBLIC_COUNT - 1, 2: 1}
    assert counts(summary["regions"]) == {0: 1, 2: 102}
    assert summary["interval"] == "month"
    assert [(period["start"], period["end"], period["count"]) for period in summary["periods"]] == [
        ("2026-01-01", "2026-01-31", 30),
        ("2026-02-01", "2026-02-28", 28),
        ("2026-03-01", "2026-03-31", 31),
        ("2026-04-01", "2026-04-30", 14),
    ]
    nepal = summary["countries"][0]
    assert (nepal["name"], nepal["iso"], nepal["iso3"], nepal["region"]) == ("Nepal", "NP", "NPL", 2)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "countries__in=84",
        "countries__iso3__in=ind&search=two",
        "countries__in=84,290&regions__in=2",
        "regions__in=0,2&ordering=-name",
        "countries__all=84&dtype=12",
        "disaster_start_date__gte=2026-01-20T12:00:00Z&disaster_start_date__lt=2026-02-03",
        "disaster_start_date__gt=2026-04-01&ifrc_severity_level__in=0,2",
        "appeal_type=1&is_featured=false",
        "search=%22Flood%201%22%20%26%20nepal",
        "search=nothing",
    ],
)
async def test_queries_find_what_entries_count(event_service: Service, query: str) -> None:
    summary = await get_summary(event_service, f"?{query}")
    entries = [summary]
    for name in ("periods", "countries", "regions", "types", "severities"):
        entries += summary[name]
    assert summary["count"] == await get_count(event_service, query)
    for entry in entries:
        assert entry["count"] == await get_count(event_service, entry["query"]), entry


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ("April 2026", "Nepal", "Asia Pacific", "Flood", "Yellow")),
        ("fr", ("avril 2026", "Népal", "Asie-Pacifique", "Inondation", "Jaune")),
        ("es", ("abril de 2026", "Nepal", "Asia y el Pacífico", "Inundación", "Amarillo")),
        ("ar", ("أبريل 2026", "نيبال", "آسيا والمحيط الهادئ", "فيضان", "أصفر")),
    ],
)
async def test_names_are_localised(event_service: Service, language: str, expected: tuple[str, ...]) -> None:
    summary = await get_summary(event_service, "?id=107", headers={"Accept-Language": language})
    lists = ("periods", "countries", "regions", "types", "severities")
    assert tuple(summary[name][0]["name"] for name in lists) == expected


async def test_caller_only_counts_visible_events(event_service: Service) -> None:
    tokens = {
        "member": await event_service.create_token(),
        "of India": await event_service.create_token(countries=("IND",)),
        "superuser": await event_service.create_token(is_superuser=True),
    }
    headers: dict[str, dict[str, str]] = {"anonymous": {}} | {
        name: {"Authorization": f"Token {token}"} for name, token in tokens.items()
    }
    found = {name: (await get_summary(event_service, headers=each))["count"] for name, each in headers.items()}
    assert found == {
        "anonymous": PUBLIC_COUNT,
        "member": PUBLIC_COUNT + 1,
        "of India": PUBLIC_COUNT + 2,
        "superuser": PUBLIC_COUNT + 3,
    }
    for each in headers.values():
        assert (await get_summary(event_service, headers=each))["count"] == await get_count(
            event_service, "limit=1", headers=each
        )
