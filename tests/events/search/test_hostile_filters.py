"""Filters with absurd values get an answer: numbers that no column holds, and as many values as a URL can have."""

import pytest

from fieldgate.events.filters import EventFilters
from fieldgate.events.reader import filter_key
from tests.conftest import Service
from tests.events.event_service import PATH, PUBLIC_COUNT, event_service

__all__ = ["event_service"]

HUGE = str(2**70)
MANY = ",".join(map(str, range(1, 9_000)))
REPEATED = ",".join(["1"] * 12_000)


@pytest.mark.parametrize(
    "name",
    ["countries__in", "countries__all", "regions__in", "regions__all", "dtype__in", "id__in"],
)
@pytest.mark.parametrize(
    "value", [HUGE, f"-{HUGE}", "-1", str(2**31), str(2**63), MANY, REPEATED, f"1,{HUGE}"]
)
async def test_numbers(event_service: Service, name: str, value: str) -> None:
    page = await event_service.get(PATH, params={name: value, "limit": "1", "offset": "1"})
    assert page.status_code == 200
    assert 0 <= page.json()["count"] <= PUBLIC_COUNT


@pytest.mark.parametrize("name", ["id", "dtype"])
@pytest.mark.parametrize("value", [HUGE, f"-{HUGE}", "-1", str(2**63)])
async def test_one_number(event_service: Service, name: str, value: str) -> None:
    assert (await event_service.get(PATH, params={name: value})).json()["count"] == 0


@pytest.mark.parametrize(
    "search", ["%", "_", "/", "\\", "'", "a' OR 1=1 --", " ".join("abcdefghijklmnopqrst")]
)
async def test_words(event_service: Service, search: str) -> None:
    for name in ("search", "glide", "appeal_code"):
        page = await event_service.get(PATH, params={name: search[:18]})
        assert page.status_code == 200
        assert page.json()["count"] < PUBLIC_COUNT, "not a wildcard"


async def test_every_filter_at_once(event_service: Service) -> None:
    params = {
        "countries__in": MANY[:2_000].rpartition(",")[0],
        "countries__all": "84,123",
        "regions__all": "2",
        "search": " ".join(["flood"] * 20),
        "ordering": "name,-summary,dtype,-num_affected,glide,id",
    }
    assert (await event_service.get(PATH, params=params)).status_code == 200


def test_keys_of_kept_lists_are_short() -> None:
    """Otherwise long filters would fill the memory: what is kept is bounded by the size of the lists."""
    long = EventFilters(id__in=tuple(range(10_000)), search="x" * 200)
    assert len(filter_key(long)) == len(filter_key(EventFilters())) == 16
    assert filter_key(long) != filter_key(EventFilters(id__in=tuple(range(9_999))))
    assert filter_key(EventFilters(ordering="id")) != filter_key(EventFilters())
    assert filter_key(EventFilters(dtype=1)) != filter_key(EventFilters(id=1))
