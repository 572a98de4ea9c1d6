"""Pages and large lists: what they cost of a rate limit, and that callers take turns."""

from collections import Counter

import pytest

from fieldgate.overload import Slots
from fieldgate.settings import RateQuota
from tests.conftest import Service, StartService

PERMISSIONS = "/api/v2/permissions/"
HTML = {"Accept": "text/html"}
HUNDRED = RateQuota(100, 86_400)  # a window so long that nothing comes back during a test


async def count_admitted(service: Service, query: str, headers: dict[str, str], path: str = PERMISSIONS) -> int:
    """How many requests a full quota is enough for."""
    statuses = Counter[int]()
    while 429 not in statuses:
        statuses[(await service.get(path + query, headers=headers)).status_code] += 1
    assert len(statuses) == 2, statuses
    return statuses.total() - 1


@pytest.mark.parametrize(
    ("query", "headers", "admitted"),
    [
        ("", {}, 100),
        ("?limit=100", {}, 100),
        ("?limit=1000", {}, 20),  # 1 + 1000 / 250
        ("?limit=1000&unknown=1", {}, 20),
        ("", HTML, 6),  # 1 + 10 + 50 / 10
        ("?format=api&limit=10", {}, 8),  # 1 + 10 + 10 / 10
        ("?limit=890", HTML, 1),
        ("", {**HTML, "If-None-Match": '"other"'}, 6),
    ],
)
async def test_costs(start: StartService, query: str, headers: dict[str, str], admitted: int) -> None:
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, headers) == admitted


@pytest.mark.parametrize(("query", "accept", "admitted"), [("?limit=1000", "*/*", 191), ("", "text/html", 6)])
async def test_costs_of_unchanged_responses(start: StartService, query: str, accept: str, admitted: int) -> None:
    """Only where it saves work: the ETag of a page is known when the page is there, and the first list is made."""
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        headers = {"Accept": accept}
        etag = (await service.get(PERMISSIONS + query, headers=headers)).headers["ETag"]
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, {**headers, "If-None-Match": etag}) == admitted


@pytest.mark.parametrize("path", ["/login/", "/api-docs/swagger-ui/", "/invitation/unknown/", "/language/fr/"])
async def test_pages_without_records_cost_one_request_and_need_no_turn(start: StartService, path: str) -> None:
    async with start(address_read_rate=RateQuota(3, 3600), rate_limit_exempt=()) as service:
        service.app.app_context.overload.costly = Slots(0, 1, wait_seconds=0)
        assert await count_admitted(service, "", HTML, path) == 3


@pytest.mark.parametrize(("limit", "admitted"), [(1000, 20), (50, 100)])
async def test_a_condition_does_not_reduce_the_cost_of_responses_that_are_made(
    start: StartService, limit: int, admitted: int
) -> None:
    """Each request is for another page of the list, so none is in the cache."""
    headers = {"If-None-Match": "*"}
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        statuses = Counter[int]()
        while 429 not in statuses:
            path = f"/api/v2/event/?limit={limit}&offset={statuses.total()}"
            statuses[(await service.get(path, headers=headers)).status_code] += 1
        assert statuses == {304: admitted, 429: 1}


async def test_an_unchanged_page_without_records_costs_one_request(start: StartService) -> None:
    async with start(address_read_rate=RateQuota(3, 3600), rate_limit_exempt=()) as service:
        assert await count_admitted(service, "", {**HTML, "If-None-Match": "*"}, "/login/") == 3
