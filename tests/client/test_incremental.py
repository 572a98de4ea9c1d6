"""`update(path)`: a copy on disk equals the list, whatever happened in between."""

import asyncio
import os
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from fieldgate_client.copy_state import CopyState, DifferentList, state_path
from fieldgate_client.errors import ConnectionFailed, FieldgateError
from fieldgate_client.incremental import UpdateResult
from fieldgate_client.ndjson_file import FileInUse, NewFile
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.client.event_stand_in import CYCLONE, FLOOD, EventStandIn, by_id, read_records


@pytest.fixture
def server() -> EventStandIn:
    found = EventStandIn()
    for id_ in range(1, 31):
        found.clock += timedelta(days=1)
        found.put(id_, FLOOD if id_ % 3 else CYCLONE, rank=id_ * 7 % 10)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson"


async def update(server: EventStandIn, path: Path, language: str = "", **filters: Any) -> UpdateResult:
    async with server.client(language=language, page_size=8) as client:
        return await client.events(**filters).update(path)


def content(path: Path) -> bytes:
    return path.read_bytes()


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def assert_equal(server: EventStandIn, path: Path, **filters: str) -> None:
    assert by_id(read_records(path)) == by_id(server.matching(**filters))


async def test_the_first_update_reads_everything_and_the_next_what_changed(server: EventStandIn, path: Path) -> None:
    first = await update(server, path)
    assert first == UpdateResult(total=30, added=30, is_complete_pull=True, reason="This is the first pull.")
    assert_equal(server, path)
    server.clock += timedelta(days=1)
    server.put(4)
    server.put(31)
    server.delete(9)
    del server.requests[:]
    assert await update(server, path) == UpdateResult(total=30, added=1, changed=1, deleted=1)
    assert_equal(server, path)
    lists = [url for url in server.requests if not {"updated_at__gte", "since"} & url.params.keys()]
    assert [url.path for url in lists] == [f"/api/v2/{name}/" for name in ("event", "country", "event/summary")]
    assert lists[0].params["limit"] == "1", "the whole list is not read again, not even its ids"
    assert names(path) == ["events.ndjson", "events.ndjson.state"]


async def test_nothing_changed_takes_two_requests(server: EventStandIn, path: Path) -> None:
    await update(server, path)
    before = content(path)
    server.clock += timedelta(days=1)
    del server.requests[:]
    assert await update(server, path) == UpdateResult(total=30, reason="Nothing has changed.")
    assert len(server.requests) == 2
    assert content(path) == before


async def test_events_that_leave_the_filter_leave_the_file(server: EventStandIn, path: Path) -> None:
    await update(server, path, dtype=FLOOD)
    server.clock += timedelta(days=1)
    server.put(1, CYCLONE)
    server.put(3, FLOOD)
    server.delete(2, is_recorded=False)  # as demo events are
    result = await update(server, path, dtype=FLOOD)
    assert (result.added, result.changed, result.deleted, result.is_complete_pull) == (1, 0, 2, False)
    assert_equal(server, path, dtype=str(FLOOD))


async def test_records_with_an_old_date_are_found_by_their_ids(server: EventStandIn, path: Path) -> None:
    """They were loaded from a file, or became visible."""
    await update(server, path)
    server.clock += timedelta(days=1)
    for id_ in range(100, 350):
        server.put(id_, updated_at=server.clock - timedelta(days=900))
    result = await update(server, path)
    assert (result.added, result.is_complete_pull) == (250, False)
    assert_equal(server, path)


async def test_records_that_the_server_copies_late_from_another(server: EventStandIn, path: Path) -> None:
    """They have the dates of the other server, before the last update here."""
    await update(server, path)
    server.clock += timedelta(days=10)
    server.delete(1)
    assert (await update(server, path)).deleted == 1
    server.put(5, updated_at=server.clock - timedelta(days=5))
    server.clock += timedelta(hours=1)
    assert (await update(server, path)).changed == 1
    assert_equal(server, path)


async def test_a_record_that_takes_the_place_of_another_one(server: EventStandIn, path: Path) -> None:
    """Neither of them dated: the number of records is the same, other totals are not."""
    await update(server, path)
    server.delete(2, is_recorded=False)
    server.put(99, updated_at=server.clock - timedelta(days=900))
    result = await update(server, path)
    assert (result.added, result.deleted, result.is_complete_pull) == (1, 1, False)
    assert_equal(server, path)


async def test_a_change_without_a_new_date_is_noticed_by_its_figures(server: EventStandIn, path: Path) -> None:
    await update(server, path)
    server.put(2, updated_at=server.clock - timedelta(days=900))
    result = await update(server, path)
    assert (result.changed, result.reason) == (1, "Records have changed without a new updated_at.")
    assert_equal(server, path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda server, path: setattr(server, "reference_version", 1), "Countries or disaster types have changed."),
        (lambda server, path: setattr(server, "clock", server.clock + timedelta(days=31)), "more than 30 days ago"),
        (lambda server, path: path.write_bytes(path.read_bytes() + b'{"id": 1}\n'), "changed by another program"),
        (lambda server, path: path.write_bytes(path.read_bytes()[:-9]), "changed by another program"),
        (lambda server, path: path.unlink(), "first pull"),
        (lambda server, path: [server.put(id_) for id_ in range(1, 20)], "Most records may have changed."),
        (lambda server, path: setattr(server, "is_fieldgate", False), "cannot tell which records"),
    ],
)
async def test_reasons_for_a_complete_pull(server: EventStandIn, path: Path, change: Any, reason: str) -> None:
    await update(server, path)
    server.clock += timedelta(days=2)
    server.put(7)
    change(server, path)
    result = await update(server, path)
    assert result.is_complete_pull
    assert reason in result.reason
    assert_equal(server, path)


async def test_other_servers_and_lists_are_read_completely(path: Path) -> None:
    server = EventStandIn(is_fieldgate=False)
    for id_ in range(20):
        server.put(id_)
    assert (await update(server, path)).added == 20
    server.put(3)
    server.put(50)
    server.delete(1)
    result = await update(server, path)
    assert (result.added, result.changed, result.deleted, result.total) == (1, 1, 1, 20)
    assert result.reason == "The server cannot tell which records of this list have changed."
    async with server.client() as client:
        part = path.with_name("part.ndjson")
        for _ in range(2):
            assert (await client.list("event/")[:5].update(part)).is_complete_pull
        assert len(read_records(part)) == 5


async def test_the_file_of_another_list_is_refused(server: EventStandIn, path: Path) -> None:
    await update(server, path, dtype=FLOOD)
    before = content(path)
    with pytest.raises(DifferentList, match=r"holds http://events.example/api/v2/event/\?dtype=12, not .*dtype=4"):
        await update(server, path, dtype=CYCLONE)
    with pytest.raises(DifferentList, match="in the language 'fr'"):
        await update(server, path, "fr", dtype=FLOOD)
    state_path(path).write_text("{")
    with pytest.raises(DifferentList, match="cannot be read"):
        await update(server, path, dtype=FLOOD)
    state_path(path).unlink()
    with pytest.raises(DifferentList, match=r"not written by update\(\)"):
        await update(server, path, dtype=FLOOD)
    assert content(path) == before


async def test_a_failure_keeps_the_old_file(server: EventStandIn, path: Path) -> None:
    await update(server, path)
    before = content(path), content(state_path(path))
    server.clock += timedelta(days=1)
    server.put(1)

    def fail_at(last: int, number: int) -> None:
        if number == last:
            raise ConnectionResetError

    for last in range(1, 7):
        del server.requests[:]
        server.on_request = partial(fail_at, last)
        with pytest.raises((FieldgateError, ConnectionResetError)):
            await update(server, path)
        assert (content(path), content(state_path(path))) == before
        assert names(path) == ["events.ndjson", "events.ndjson.state"]
    server.on_request = lambda _: None
    await update(server, path)
    assert_equal(server, path)


def test_a_file_that_another_user_left_is_not_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy would belong to them."""
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        NewFile(path).__enter__()


async def test_two_updates_at_the_same_time_are_refused(server: EventStandIn, path: Path) -> None:
    with NewFile(path), pytest.raises(FileInUse, match="Another process is writing"):
        await update(server, path)
    assert (await update(server, path)).total == 30


def test_links_and_modes_are_kept(server: EventStandIn, path: Path) -> None:
    link = path.with_name("link.ndjson")
    link.symlink_to(path)
    asyncio.run(update(server, link))
    path.chmod(0o640)
    server.put(1)
    asyncio.run(update(server, link))
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert_equal(server, path)


async def test_no_credentials_in_the_state(server: EventStandIn, path: Path) -> None:
    await update(server, path)
    text = content(state_path(path)).decode()
    assert '"has_token"' in text
    assert "Authorization" not in text
    assert msgspec.json.decode(text, type=CopyState).source.server == "http://events.example"


ids = st.integers(1, 40)
changes = st.one_of(
    st.tuples(st.just("put"), ids, st.sampled_from([FLOOD, CYCLONE])),
    st.tuples(st.just("load"), ids, st.integers(1, 500)),
    st.tuples(st.just("delete"), ids, st.booleans()),
    st.tuples(st.just("wait"), st.integers(1, 100_000), st.none()),
)
# Of each update: changes before it, and changes before each of its requests.
rounds = st.lists(
    st.tuples(st.lists(changes, max_size=6), st.dictionaries(st.integers(1, 12), changes, max_size=4)), max_size=5
)


def apply(server: EventStandIn, change: tuple[Any, ...]) -> None:
    kind, number, detail = change
    if kind == "put":
        server.put(number, detail)
    elif kind == "load":  # with an old date, also of a record that is there
        server.put(number, updated_at=server.clock - timedelta(days=detail))
    elif kind == "delete":
        server.delete(number, is_recorded=detail)
    elif kind == "wait":
        server.clock += timedelta(seconds=number)


@settings(max_examples=30)
@given(rounds, st.integers(0, 40), st.sampled_from([{}, {"dtype": str(FLOOD)}]))
def test_a_copy_equals_the_list(
    history: list[tuple[list[tuple[Any, ...]], dict[int, tuple[Any, ...]]]], number: int, filters: dict[str, str]
) -> None:
    """After an update during which nothing changed, however much changed before and during the others."""
    server = EventStandIn()
    for id_ in range(1, number):
        server.put(id_, FLOOD if id_ % 2 else CYCLONE)

    async def run(path: Path) -> UpdateResult:
        async with server.client(page_size=8) as client:
            for before, during in history:
                for change in before:
                    apply(server, change)
                del server.requests[:]
                server.on_request = lambda step, during=during: apply(server, during.get(step, ("", 0, 0)))  # type: ignore[misc]
                await client.events(**filters).update(path)
            server.on_request = lambda _: None
            return await client.events(**filters).update(path)

    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.ndjson"
        result = asyncio.run(run(path))
        assert_equal(server, path, **filters)
        assert result.total == len(read_records(path))


async def test_a_failed_first_update_leaves_nothing(path: Path) -> None:
    server = EventStandIn()
    server.put(1)

    def fail(_: int) -> None:
        raise ConnectionResetError

    server.on_request = fail
    with pytest.raises((ConnectionFailed, ConnectionResetError)):
        await update(server, path)
    assert names(path) == []
