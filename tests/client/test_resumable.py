"""`to_ndjson(path, resume=True)`: an interrupted download is continued, or begun again, and always complete."""

import asyncio
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fieldgate_client.errors import ConnectionFailed, FieldgateError
from fieldgate_client.ndjson_file import FileInUse, NewFile
from fieldgate_client.walk import WalkReport
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.event_stand_in import FLOOD, EventStandIn, by_id, read_records
from tests.client.test_incremental import apply, assert_equal, changes, content, names

PAGE_SIZE = 8


def make_server(number: int = 60, *, is_fieldgate: bool = True) -> EventStandIn:
    server = EventStandIn(is_fieldgate=is_fieldgate)
    for id_ in range(1, number + 1):
        server.clock += timedelta(days=1)
        server.put(id_, rank=id_ * 7 % 10)
    return server


async def download(server: EventStandIn, path: Path, stop_at: int = 0, **filters: Any) -> tuple[int, WalkReport]:
    """Download. With `stop_at`, the connection breaks at this request."""

    def fail(number: int) -> None:
        if number == stop_at:
            raise ConnectionResetError

    del server.requests[:]
    if stop_at:
        server.on_request = fail
    try:
        async with server.client(page_size=PAGE_SIZE, concurrency=2) as client:
            events = client.events(**filters)
            return await events.to_ndjson(path, resume=True), events.report
    finally:
        server.on_request = lambda _: None


async def interrupt(server: EventStandIn, path: Path, stop_at: int) -> int:
    """Returns how many lines there are then."""
    with pytest.raises((FieldgateError, ConnectionResetError)):
        await download(server, path, stop_at)
    return content(path.with_name(path.name + ".part")).count(b"\n")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


async def test_an_undisturbed_download(path: Path) -> None:
    server = make_server()
    number, report = await download(server, path)
    assert (number, report.resumed_at, report.restarted_because) == (60, 0, "")
    assert_equal(server, path)
    assert names(path) == ["events.ndjson"]


@pytest.mark.parametrize("is_fieldgate", [True, False])
async def test_it_continues_where_it_ended(path: Path, is_fieldgate: bool) -> None:
    server = make_server(is_fieldgate=is_fieldgate)
    held = await interrupt(server, path, stop_at=7)
    assert held >= 2 * PAGE_SIZE
    assert names(path) == ["events.ndjson.part", "events.ndjson.part.state"]
    number, report = await download(server, path)
    assert (number, report.resumed_at, report.restarted_because) == (60, held, "")
    assert_equal(server, path)
    offsets = [int(url.params["offset"]) for url in server.requests if url.params["limit"] != "1"]
    assert offsets[:1] == ([held - 1] if is_fieldgate else [0]), "the first page is compared without versions"
    assert min(offsets[1:]) >= held - 5, "what the part has is not requested again"
    assert names(path) == ["events.ndjson"]


async def test_events_that_changed_meanwhile(path: Path) -> None:
    """Behind and before the position: changed, new, deleted, and dated long ago."""
    server = make_server()
    held = await interrupt(server, path, stop_at=7)
    server.clock += timedelta(days=2)
    server.put(2)
    server.put(59)
    server.put(0)
    server.put(-5, updated_at=server.clock - timedelta(days=700))
    server.delete(3)
    server.delete(held)
    server.delete(58)
    number, report = await download(server, path)
    assert (number, report.resumed_at, report.restarted_because) == (59, held, "")
    assert_equal(server, path)
    assert names(path) == ["events.ndjson"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda server: setattr(server, "reference_version", 5), "changed since the interruption"),
        (lambda server: setattr(server, "is_fieldgate", False), "from another server"),
    ],
)
async def test_a_new_start_is_told(path: Path, change: Any, reason: str) -> None:
    server = make_server()
    await interrupt(server, path, stop_at=7)
    server.put(1)
    change(server)
    number, report = await download(server, path)
    assert reason in report.restarted_because
    assert (number, report.resumed_at) == (60, 0)
    assert_equal(server, path)


async def test_the_part_of_another_list_is_not_continued(path: Path) -> None:
    server = make_server()
    await interrupt(server, path, stop_at=7)
    number, report = await download(server, path, dtype=FLOOD)
    assert report.restarted_because == "The part is from http://events.example/api/v2/event/."
    assert number == 60
    await interrupt(server, path, stop_at=7)
    path.with_name("events.ndjson.part.state").unlink()
    assert "not known which list" in (await download(server, path))[1].restarted_because


@pytest.mark.parametrize("change", [lambda server: server.put(99, rank=9), lambda server: server.delete(60)])
async def test_lists_without_versions_are_checked_by_number_and_overlap(path: Path, change: Any) -> None:
    server = make_server(is_fieldgate=False)
    await interrupt(server, path, stop_at=6)
    change(server)
    _, report = await download(server, path)
    assert report.restarted_because == "The list has changed since the interruption."
    assert_equal(server, path)


async def test_a_moved_list_of_the_same_length_is_noticed_by_the_overlap(path: Path) -> None:
    server = make_server(is_fieldgate=False)
    await interrupt(server, path, stop_at=6)
    server.delete(1)
    server.put(99, rank=9)
    _, report = await download(server, path)
    assert report.restarted_because
    assert_equal(server, path)


async def test_a_slice(path: Path) -> None:
    server = make_server()

    def stop(number: int) -> None:
        if number >= 5:
            raise ConnectionResetError

    async with server.client(page_size=PAGE_SIZE, concurrency=1) as client:
        events = client.events()[10:40]
        server.on_request = stop
        with pytest.raises((FieldgateError, ConnectionResetError)):
            await events.to_ndjson(path, resume=True)
        server.on_request = lambda _: None
        assert await events.to_ndjson(path, resume=True) == 30
        assert events.report.resumed_at >= PAGE_SIZE
    assert [each["id"] for each in read_records(path)] == [each["id"] for each in server.matching()[10:40]]


async def test_the_old_file_stays_until_the_new_one_is_complete(path: Path) -> None:
    server = make_server()
    await download(server, path)
    before = content(path)
    server.put(5)
    await interrupt(server, path, stop_at=7)
    assert content(path) == before
    await download(server, path)
    assert_equal(server, path)


async def test_two_downloads_at_the_same_time_are_refused(path: Path) -> None:
    with NewFile(path, ".part", keep=True), pytest.raises(FileInUse):
        await download(make_server(), path)


async def test_a_server_that_cannot_be_reached_leaves_nothing(path: Path) -> None:
    with pytest.raises((ConnectionFailed, ConnectionResetError)):
        await download(make_server(), path, stop_at=1)
    assert names(path) == []


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(2, 12), st.integers(0, 100), st.lists(changes, max_size=4)), max_size=3),
    st.dictionaries(st.integers(1, 10), changes, max_size=3),
)
def test_cut_off_at_any_byte(
    interruptions: list[tuple[int, int, list[tuple[Any, ...]]]], during: dict[int, tuple[Any, ...]]
) -> None:
    """The part is cut off anywhere, and the list changes between the runs and during the first."""
    server = make_server(40)

    async def run(path: Path) -> None:
        part = path.with_name("events.ndjson.part")
        for stop_at, percent, between in interruptions:

            def step(number: int, stop_at: int = stop_at) -> None:
                apply(server, during.get(number, ("", 0, 0)))
                if number == stop_at:
                    raise ConnectionResetError

            del server.requests[:]
            server.on_request = step
            try:
                await client.events().to_ndjson(path, resume=True)
            except (FieldgateError, ConnectionResetError):
                cut_off(part, percent)
            for change in between:
                apply(server, change)
        server.on_request = lambda _: None
        await client.events().to_ndjson(path, resume=True)

    client = server.client(page_size=PAGE_SIZE)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.ndjson"
        asyncio.run(run(path))
        assert by_id(read_records(path)) == by_id(server.matching())
        assert names(path) == ["events.ndjson"]


def cut_off(part: Path, percent: int) -> None:
    if part.exists():
        data = part.read_bytes()
        part.write_bytes(data[: len(data) * percent // 100])
