"""`/api/v2/event/summary/`: figures and visibility."""

from typing import Any

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
    assert counts(summary["countries"]) == {NEPAL: 102, SUDAN: 1, INDIA: 1}, (
        "most events first, then by name"
    )
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
    assert (nepal["name"], nepal["iso"], nepal["iso3"], nepal["region"]) == (
        "Nepal",
        "NP",
        "NPL",
        2,
    )


async def test_caller_only_counts_visible_events(event_service: Service) -> None:
    tokens = {
        "member": await event_service.create_token(),
        "of India": await event_service.create_token(countries=("IND",)),
        "superuser": await event_service.create_token(is_superuser=True),
    }
    headers: dict[str, dict[str, str]] = {"anonymous": {}} | {
        name: {"Authorization": f"Token {token}"} for name, token in tokens.items()
    }
    found = {
        name: (await get_summary(event_service, headers=each))["count"]
        for name, each in headers.items()
    }
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
