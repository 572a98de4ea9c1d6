"""Lists of a server like IFRC GO: no maximum, links with http, no versions."""

from collections.abc import Iterator
from datetime import date

import pytest
from fieldgate_client import AsyncClient, Client

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.go import INNER_HOST, TOKEN, GoStandIn

EVENTS = 330


@pytest.fixture
def go() -> Iterator[GoStandIn]:
    stand_in = GoStandIn(EVENTS)
    with stand_in.server:
        yield stand_in


def newest_first(go: GoStandIn) -> list[int]:
    return sorted(go.events, reverse=True)


@pytest.mark.parametrize("page_size", [1, 7, 50, 1000])
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_events_are_complete_with_every_page_size(
    go: GoStandIn, page_size: int, concurrency: int
) -> None:
    if page_size < 50:
        go.events = {id_: event for id_, event in go.events.items() if id_ <= page_size * 15}
    async with AsyncClient(
        go.server.base_url, TOKEN, page_size=page_size, concurrency=concurrency, options=QUICK
    ) as client:
        events = client.events()
        assert [event.id async for event in events] == newest_first(go)
        assert events.report.proof == ("unchanged" if page_size >= 1000 else "counted")
        assert await client.events().count() == len(go.events)
        mini = client.list("event/mini/")
        assert [record["id"] async for record in mini] == newest_first(go)


def test_all_list_methods(go: GoStandIn) -> None:
    with Client(go.server.base_url, page_size=100, options=QUICK) as client:
        assert len(client.events()) == EVENTS
        first = client.events().first()
        assert first is not None
        assert first.id == EVENTS
        assert [event.id for event in client.events()[95:210]] == newest_first(go)[95:210]
        assert len(next(iter(client.events().pages()))) == 100
        assert client.events()[-1].id == 1
        assert [event.name for event in client.events(countries=["Nepal"], type="flood")[:1]] == [
            f"Flood {EVENTS}"
        ]
        found = client.events(disaster_start_date__gte=date(2026, 1, 1), regions__in=[2])
        assert sum(1 for _ in found) == EVENTS
        assert len(client.list("country/")) == 2
    for request in go.server.requests:
        assert request.headers.get("cookie") is None
        assert INNER_HOST not in request.headers["host"]


def test_without_a_slash_the_server_redirects(go: GoStandIn) -> None:
    with Client(go.server.base_url, page_size=100, options=QUICK) as client:
        assert sum(1 for _ in client.list("event")) == EVENTS
        assert {request.query.get("limit") for request in go.server.requests} == {"100"}
