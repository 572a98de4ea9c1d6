"""Walks over lists that stay as they are, change, or are not ordered completely."""

from collections.abc import Iterator
from contextlib import aclosing, suppress
from itertools import islice
from typing import Any

import httpx
import msgspec
import pytest
from fieldgate_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import IncompleteList
from fieldgate_client.walk import Pass, Walk, WalkOptions
from hypothesis import given
from hypothesis import strategies as st

from tests.client.changing_list import ChangingList
from tests.conftest import BASE_URL, StartService
from tests.data.events import delete_events, load_events
from tests.events.event_service import make_event

PAGE_SIZES = (1, 2, 7, 50, 1000)


async def read(walk: Walk) -> list[int]:
    return [
        int(bytes(record).split(b":")[1].strip(b"}"))
        async for page in walk.pages()
        for record in page
    ]


def newest_first(number: int) -> dict[int, int]:
    return {id_: -id_ for id_ in range(number)}


@pytest.mark.parametrize("number", [0, 1, 49, 50, 51, 301])
@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("has_version", [True, False])
async def test_every_record_once_and_in_order(
    number: int, page_size: int, concurrency: int, has_version: bool
) -> None:
    source = ChangingList(newest_first(number), has_version=has_version, is_fieldgate=has_version)
    walk = Walk(source, WalkOptions(page_size, concurrency))
    assert await read(walk) == [*range(number)][::-1]
    assert walk.report.received == walk.report.count == number
    assert (walk.report.passes, walk.report.duplicates) == (1, 0)
    assert walk.report.proof == (
        "unchanged" if has_version or len(source.requests) == 1 else "counted"
    )


async def test_a_lower_maximum_of_the_server_is_followed() -> None:
    source = ChangingList(newest_first(950), max_limit=100)
    assert len(await read(Walk(source, WalkOptions(5000, 8)))) == 950
    assert sorted(source.requests[1:]) == [(offset, 100, "") for offset in range(100, 950, 100)]


async def test_a_part_of_a_list() -> None:
    for start, stop, expected in (
        (0, 10, 10),
        (5, 25, 20),
        (90, 200, 10),
        (100, 110, 0),
        (0, 0, 0),
        (40, None, 60),
    ):
        source = ChangingList(newest_first(100))
        found = await read(Walk(source, WalkOptions(7, 4, start, stop)))
        assert found == [*range(100)][::-1][start:stop]
        assert len(found) == expected


async def test_concurrent_requests_are_bounded() -> None:
    source = ChangingList(newest_first(1000))
    async for _ in Walk(source, WalkOptions(10, 3)).pages():
        break
    assert len(source.requests) <= 4, "one page to learn the size, then three at a time"


steps = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("remove"), st.integers(0, 60)),
            st.tuples(st.just("add"), st.integers(61, 90), st.integers(-100, 100)),
            st.tuples(st.just("move"), st.integers(0, 60), st.integers(-100, 100)),
        ),
        max_size=4,
    ),
    max_size=60,
)


@given(
    steps,
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 8),
    st.booleans(),
    st.integers(2, 9),
)
async def test_fieldgate_lists_that_change(
    changes: list[list[tuple[object, ...]]],
    number: int,
    page_size: int,
    concurrency: int,
    has_version: bool,
    max_limit: int,
) -> None:
    """What was in the list all the time is returned, once; nothing that never was."""
    source = ChangingList(
        newest_first(number), changes=changes, has_version=has_version, max_limit=max_limit
    )
    walk = Walk(source, WalkOptions(page_size, concurrency, fixed_ordering="id"))
    try:
        found = await read(walk)
    except IncompleteList:
        assert walk.report.rereads > 3, "only a list that moves all the time is given up"
        return
    assert len(found) == len(set(found))
    assert source.always <= set(found) <= source.ever
    assert walk.report.proof in ("unchanged", "ordered")


@given(steps, st.integers(1, 60), st.integers(2, 20), st.integers(1, 8))
async def test_other_lists_that_change_are_repaired_or_reported(
    changes: list[list[tuple[object, ...]]], number: int, page_size: int, concurrency: int
) -> None:
    """Without versions some combinations cannot be seen, but duplicates never happen."""
    source = ChangingList(
        newest_first(number), changes=changes, has_version=False, is_fieldgate=False
    )
    walk = Walk(source, WalkOptions(page_size, concurrency))
    found: list[int] = []
    with suppress(IncompleteList):
        async for page in walk.pages():
            found += [int(bytes(record).split(b":")[1].strip(b"}")) for record in page]
    assert walk.report.received == len(found)
    assert len(found) == len(set(found))
    assert set(found) <= source.ever


async def test_deletions_during_the_walk_are_noticed_without_versions() -> None:
    """The classic loss: a record of the first page is deleted, and the first record of the second page is skipped."""
    changes = [[], [("remove", 99)], *[[]] * 40]
    source = ChangingList(newest_first(100), changes=changes, has_version=False, is_fieldgate=False)
    walk = Walk(source, WalkOptions(20, 1))
    assert source.always <= set(await read(walk)) | {99}
    assert walk.report.passes > 1


def replace_the_end(number: int) -> Iterator[list[tuple[Any, ...]]]:
    """Before each request, the last 20 of so many records are deleted and 20 others created."""
    for request in range(5000):
        first = number - 20 + request * 20
        yield [
            *(("remove", first + each) for each in range(20)),
            *(("add", first + 20 + each, 0) for each in range(20)),
        ]
    pytest.fail("5000 requests for 10 pages")


@pytest.mark.parametrize("is_fixed", [True, False])
async def test_a_list_with_an_end_that_is_always_replaced(is_fixed: bool) -> None:
    source = ChangingList(newest_first(100), changes=replace_the_end(100))
    with pytest.raises(IncompleteList):
        await read(Walk(source, WalkOptions(10, fixed_ordering="id", is_fixed=is_fixed)))


async def test_a_list_without_a_total_order() -> None:
    """Ties are returned in any order, as by one of the live systems: records repeat and others are left out."""
    passes = []
    for seed in range(8):
        ranks = {id_: id_ // 20 for id_ in range(1000)}
        source = ChangingList(
            ranks, has_version=False, is_fieldgate=False, is_total=False, seed=seed
        )
        walk = Walk(source, WalkOptions(50, 4))
        with suppress(IncompleteList):
            assert sorted(await read(walk)) == [*range(1000)]
            passes.append(walk.report.passes)
        assert (walk.report.received == 1000) == bool(walk.report.proof)
    assert len(passes) > 5, "most are complete after some passes"
    assert max(passes) > 1, "one pass is not enough for all"


@given(
    steps,
    st.integers(0, 60),
    st.integers(0, 30),
    st.integers(0, 40),
    st.integers(1, 8),
    st.integers(1, 8),
)
async def test_slices_of_lists_that_change(
    changes: list[list[tuple[object, ...]]],
    number: int,
    start: int,
    length: int,
    page_size: int,
    concurrency: int,
) -> None:
    """A slice that is not reported is what the list had at these places at one moment."""
    source = ChangingList(newest_first(number), changes=changes)
    states = [sorted(source.ranks, key=lambda id_: (source.ranks[id_], id_))]
    change = source.change

    def change_and_note() -> None:
        change()
        states.append(sorted(source.ranks, key=lambda id_: (source.ranks[id_], id_)))

    source.change = change_and_note  # type: ignore[method-assign]
    walk = Walk(
        source, WalkOptions(page_size, concurrency, start, start + length, fixed_ordering="id")
    )
    with suppress(IncompleteList):
        found = await read(walk)
        assert found in [state[start : start + length] for state in states]
    assert walk.report.received <= length


@given(steps, st.integers(1, 60), st.integers(2, 8), st.integers(0, 1000))
async def test_a_fixed_order_is_not_trusted_on_other_servers(
    changes: list[list[tuple[object, ...]]], number: int, page_size: int, seed: int
) -> None:
    ranks = {id_: id_ // 9 for id_ in range(number)}
    source = ChangingList(
        ranks, changes=changes, has_version=False, is_fieldgate=False, is_total=False, seed=seed
    )
    walk = Walk(source, WalkOptions(page_size, 4, fixed_ordering="id", is_fixed=True))
    with suppress(IncompleteList):
        found = await read(walk)
        assert walk.report.proof in ("counted", "unchanged")
        assert len(found) >= (walk.report.count or 0)


# Walks that are interrupted


async def read_and_stop(walk: Walk, pages: int) -> tuple[list[int], Pass]:
    """Read so many pages. Return the ids, and what another process is told."""
    found: list[int] = []
    async with aclosing(walk.pages()) as read_pages:
        async for page in read_pages:
            found += [int(bytes(record).split(b":")[1].strip(b"}")) for record in page]
            pages -= 1
            if not pages:
                break
    return found, msgspec.json.decode(msgspec.json.encode(walk.current), type=Pass)


@pytest.mark.parametrize("is_fieldgate", [True, False])
@pytest.mark.parametrize("stops", [(1,), (3,), (9,), (10,), (1, 1, 1), (4, 5)])
async def test_a_walk_goes_on_at_a_page(is_fieldgate: bool, stops: tuple[int, ...]) -> None:
    source = ChangingList(
        newest_first(100), has_version=is_fieldgate, is_fieldgate=is_fieldgate, max_limit=10
    )
    options = WalkOptions(10, 1, fixed_ordering="id" if is_fieldgate else "", is_fixed=is_fieldgate)
    found: list[int] = []
    position = None
    for pages in stops:
        more, position = await read_and_stop(Walk(source, options, position), pages)
        found += more
    source.requests.clear()
    walk = Walk(source, options, position)
    found += await read(walk)
    assert sorted(found) == [*range(100)]
    assert walk.keys == {*range(100)}
    assert walk.report.proof == ("ordered" if is_fieldgate else "counted")
    assert walk.report.received == 100
    read_before = len(found) - len(source.requests) * 10
    assert source.requests[0][0] >= min(read_before, 90) - 10, "it does not begin at the start"


@given(steps, st.integers(1, 60), st.integers(2, 9), st.lists(st.integers(1, 6), max_size=4))
async def test_fieldgate_lists_that_change_while_walks_are_interrupted(
    changes: list[list[tuple[object, ...]]], number: int, page_size: int, stops: list[int]
) -> None:
    source = ChangingList(newest_first(number), changes=changes)
    options = WalkOptions(page_size, 1, fixed_ordering="id", is_fixed=True)
    found: list[int] = []
    position = None
    with suppress(IncompleteList):
        for pages in stops:
            more, position = await read_and_stop(Walk(source, options, position), pages)
            found += more
        walk = Walk(source, options, position)
        found += await read(walk)
        assert len(found) == len(set(found))
        assert source.always <= set(found) <= source.ever
        assert source.always <= walk.keys <= source.ever


@pytest.mark.parametrize(
    "change", [("remove", 99), ("add", 200, -200), ("move", 99, 0), ("move", 0, -200)]
)
@pytest.mark.parametrize("pages", [1, 3, 5])
async def test_a_list_that_moved_between_two_parts_of_a_walk(
    change: tuple[Any, ...], pages: int
) -> None:
    source = ChangingList(newest_first(100), has_version=False, is_fieldgate=False)
    options = WalkOptions(20, 1)
    found, position = await read_and_stop(Walk(source, options), pages)
    source._changes = iter([[change]])
    walk = Walk(source, options, position)
    found += await read(walk)
    assert set(found) == source.ever
    assert walk.keys == set(source.ranks), "what was removed is not in the list"


async def test_an_interrupted_walk_in_another_order_begins_at_the_start() -> None:
    source = ChangingList(newest_first(100), max_limit=10)
    _, position = await read_and_stop(Walk(source, WalkOptions(10, 1)), 3)
    walk = Walk(source, WalkOptions(10, 1, fixed_ordering="id", is_fixed=True), position)
    assert await read(walk) == [*range(100)]


@pytest.mark.parametrize(
    "filters", [{}, {"dtype": 12}, {"ordering": "-num_affected"}, {"ordering": "id"}]
)
async def test_events_that_are_written_between_pages(
    start: StartService, filters: dict[str, Any]
) -> None:
    """What stays is returned once, while others are created and deleted before each of the first twelve pages."""
    staying = range(1, 31)
    async with start() as service:
        written = iter(range(31, 43))
        await load_events(service, [make_event(id_, dtype=12) for id_ in range(1, 41)])

        class WritesFirst(httpx.ASGITransport):
            async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
                for number in islice(written, 1):
                    added = make_event(number + 10, dtype=12, num_affected=number % 7)
                    await load_events(service, [added])
                    await delete_events(service, [number])
                return await super().handle_async_request(request)

        options = ConnectionOptions(transport=WritesFirst(service.app))
        async with AsyncClient(BASE_URL, page_size=7, concurrency=1, options=options) as client:
            events = client.list("event/", **filters)
            found = [record["id"] async for record in events]
    assert len({*found}) == len(found)
    assert {*staying} <= {*found}
    assert events.report.proof == "ordered"
