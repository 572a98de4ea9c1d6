"""Lists of events have what the reference search finds, for any events, filters, callers, orderings and pages."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fieldgate.events.model import Event
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.settings import Settings
from tests.conftest import Service, StartService, run_service
from tests.data.events import PATH, delete_events, load_events
from tests.data.reference import reference_data
from tests.events.reference_search import (
    FILTER_VALUES,
    ORDERING_FIELDS,
    Filters,
    event_filters,
    matching_ids,
    to_params,
    varied_events,
)
from tests.events.samples import event_lists
from tests.events.write_events import events_of_round

OF_SOCIETIES = ViewerScope(frozenset({1, 3}), frozenset({14, 27}))
SCOPES = {"public": PUBLIC_SCOPE, "societies": OF_SOCIETIES, "superuser": FULL_SCOPE}
callers = st.sampled_from(tuple(SCOPES))
questions = st.tuples(
    event_filters, callers, st.sampled_from(Language), st.integers(1, 5), st.integers(0, 8)
)
NOT_FILTERS = {
    "limit", "offset", "page", "page_size", "format", "ordering", "tableau", "bom",
}  # fmt: skip
EXAMPLES = settings.default.max_examples if settings.default else 30


class EventLists:
    """A service with events, and what three callers find in its lists."""

    def __init__(self, service: Service, headers: dict[str, dict[str, str]]) -> None:
        self.service = service
        self.headers = headers
        self.reference_data = reference_data(service)
        self.held: dict[int, Event] = {}

    async def load(self, events: Sequence[Event]) -> None:
        await load_events(self.service, events)
        self.held |= {event.id: event for event in events}

    async def delete(self, ids: Iterable[int]) -> None:
        known = [id_ for id_ in ids if self.held.pop(id_, None)]
        await delete_events(self.service, known)

    async def get(
        self, path: str, filters: Filters, caller: str, language: Language, **params: Any
    ) -> Any:
        headers = {**self.headers[caller], "Accept-Language": language.value}
        response = await self.service.get(
            path, params={**to_params(filters), **params}, headers=headers
        )
        assert response.status_code == 200, response.text
        return response.json()

    async def check(
        self, filters: Filters, caller: str, language: Language, limit: int, offset: int
    ) -> int:
        """Compare one page. Return how many events match."""
        expected = matching_ids(
            list(self.held.values()), filters, SCOPES[caller], language, self.reference_data
        )
        page = await self.get(PATH, filters, caller, language, limit=limit, offset=offset)
        assert page["count"] == len(expected)
        assert [record["id"] for record in page["results"]] == expected[offset : offset + limit]
        for record in page["results"]:
            assert record["num_affected"] == self.held[record["id"]].num_affected, "as it is now"
        return len(expected)


@pytest.fixture
async def lists(database_url: str) -> AsyncIterator[EventLists]:
    async with run_service(Settings(database_url=database_url, access_log=False)) as service:
        tokens = {
            "societies": await service.create_token(countries=("AFG", "BGD")),
            "superuser": await service.create_token(is_superuser=True),
        }
        headers = {name: {"Authorization": f"Token {token}"} for name, token in tokens.items()}
        yield EventLists(service, {"public": {}, **headers})


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=EXAMPLES // 3,
    phases=[Phase.explicit, Phase.generate],  # to shrink an example takes minutes
)
@given(
    st.lists(
        st.tuples(
            event_lists(),
            st.lists(st.integers(0, 40), max_size=2),
            st.lists(questions, min_size=1, max_size=8),
        ),
        min_size=1,
        max_size=3,
    )
)
async def test_lists_after_any_writes(lists: EventLists, steps: list[Any]) -> None:
    try:
        for loaded, gone, asked in steps:
            await lists.load(loaded)
            await lists.delete(gone)
            for question in asked:
                await lists.check(*question)
    finally:
        await lists.delete(list(lists.held))


async def test_every_filter_alone(lists: EventLists) -> None:
    """Each one keeps some of the events and leaves others out: none of them compares nothing with nothing."""
    await lists.load(varied_events())
    document = (await lists.service.get("/api-docs/openapi.json")).json()
    parameters = {
        parameter["name"]: parameter
        for parameter in document["paths"][PATH]["get"]["parameters"]
        if parameter["in"] == "query"
    }
    assert FILTER_VALUES.keys() == parameters.keys() - NOT_FILTERS, "a row for every filter"
    pattern = parameters["ordering"]["schema"]["pattern"]
    assert all(re.search(pattern, field) for field in ORDERING_FIELDS)
    assert f"({'|'.join(ORDERING_FIELDS)})" in pattern
    for name, values in FILTER_VALUES.items():
        found = set()
        for value in values:
            found.add(await lists.check({name: value}, "public", Language.ENGLISH, 100, 0))
        assert found - {0, len(lists.held)}, name


async def test_every_ordering_alone(lists: EventLists) -> None:
    await lists.load(varied_events())
    for field in ORDERING_FIELDS:
        for ordering in (field, f"-{field}"):
            for language in Language:
                await lists.check({"ordering": ordering}, "public", language, 100, 0)


async def shown(service: Service, **params: Any) -> list[tuple[int, int | None]]:
    page = (await service.get(PATH, params={"limit": 100, **params})).json()
    assert page["count"] == len(page["results"])
    return [(record["id"], record["num_affected"]) for record in page["results"]]


def in_order(events: Iterable[Event]) -> list[tuple[int, int | None]]:
    listed = [event for event in events if event.parent_event is None]
    ordered = sorted(listed, key=lambda event: (-event.disaster_start_date.timestamp(), event.id))
    return [(event.id, event.num_affected) for event in ordered]


async def test_demo_events_are_replaced(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        await load_events(service, events_of_round(2), is_demo=True)
        assert await shown(service) == in_order(events_of_round(2))
        few = events_of_round(1)[:3]
        await load_events(service, few, is_demo=True, replaces_demo=True)
        assert await shown(service) == in_order(few)
        assert (await service.get(f"{PATH}deleted/")).json()["results"] == []


async def test_answers_are_consistent_while_another_process_writes(
    start: StartService, database_url: str
) -> None:
    rounds = 20
    async with start(database_url=database_url) as service:
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.events.write_events", database_url, str(rounds)
        )
        seen = set()
        while rounds not in seen:
            listed = await shown(service)
            number = listed[0][1] if listed else None
            assert listed == in_order(events_of_round(number) if number else [])
            seen.add(number)
            country = 84 if (number or 0) % 2 else 123
            in_country = await shown(service, countries__in=country, search="round")
            number = in_country[0][1] if in_country else None
            assert in_country == in_order(events_of_round(number) if number else [])
            assert await asyncio.wait_for(service.get("/readyz"), 30)
        assert await writer.wait() == 0
        assert len(seen) > 2, "it did not only see the end"
