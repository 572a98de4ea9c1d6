"""Pages and large lists: what they cost of a rate limit, and that callers take turns."""

from collections import Counter

import pytest

from fieldgate.settings import RateQuota
from tests.conftest import Service, StartService

PERMISSIONS = "/api/v2/permissions/"
HTML = {"Accept": "text/html"}
HUNDRED = RateQuota(100, 3600)  # a window so long that nothing comes back during a test


async def count_admitted(service: Service, query: str, headers: dict[str, str]) -> int:
    """How many requests a full quota is enough for."""
    statuses = Counter[int]()
    while 429 not in statuses:
        statuses[(await service.get(PERMISSIONS + query, headers=headers)).status_code] += 1
    assert len(statuses) == 2, statuses
    return statuses.total() - 1


@pytest.mark.parametrize(
    ("query", "headers", "admitted"),
    [
        ("", {}, 100),
        ("?limit=100", {}, 100),
        ("?limit=1000", {}, 20),  # 1 + 1000 / 250
        ("", HTML, 6),  # 1 + 10 + 50 / 10
        ("?format=api&limit=10", {}, 8),  # 1 + 10 + 10 / 10
        ("?limit=890", HTML, 1),
        ("", {**HTML, "If-None-Match": '"other"'}, 6),
    ],
)
async def test_costs(start: StartService, query: str, headers: dict[str, str], admitted: int) -> None:
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, headers) == admitted


@pytest.mark.parametrize(("query", "accept", "admitted"), [("?limit=1000", "*/*", 200), ("", "text/html", 6)])
async def test_costs_of_unchanged_responses(start: StartService, query: str, accept: str, admitted: int) -> None:
    """Only where it saves work: the ETag of a page is known when the page is there."""
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        headers = {"Accept": accept}
        etag = (await service.get(PERMISSIONS + query, headers=headers)).headers["ETag"]
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, {**headers, "If-None-Match": etag}) == admitted
