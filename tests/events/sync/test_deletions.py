"""Events that the source no longer lists: deleted, merged or hidden there, and which of them are deleted here."""

from typing import Any

import msgspec
import pytest
from sqlalchemy import delete

from fieldgate.events.model import Visibility
from fieldgate.events.sync import deletions, synchronizer
from fieldgate.events.sync.remote import RemoteError
from fieldgate.events.tables import sources
from fieldgate.events.writes import BulkWriteResult
from tests.conftest import Service
from tests.data.events import delete_events, load_events, stored_event
from tests.data.sql import write_sql
from tests.events.event_service import AMINA, make_event
from tests.events.sync.conftest import SyncTarget, serve
from tests.events.sync.go_server import TOKEN, GoServer, go_event

PATH = "/api/v2/event/"


def go_server(count: int = 40) -> GoServer:
    return GoServer([go_event(id_) for id_ in range(1, count + 1)])


async def listed_ids(service: Service, path: str = PATH) -> set[int]:
    return {record["id"] for record in (await service.get(f"{path}?limit=1000")).json()["results"]}


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_events_that_left_the_list(target: SyncTarget, token: str) -> None:
    with go_server() as server:
        await target.pull(server, token)
        del server.events[1]
        server.events[2]["parent_event"] = 3
        server.hidden_from_lists.add(4)
        server.events[4]["num_affected"] = 77
        server.requests.clear()
        report = await target.pull(server, token)
        assert report.events == BulkWriteResult(changed=2, deleted=1, unchanged=37)
        assert set(server.detail_requests()) == {1, 2, 4}, "only these are requested by id"
        assert (report.requested_by_id, report.missing_unchecked, report.problem) == (3, False, "")

    async with serve(target) as copy:
        assert await listed_ids(copy) == set(range(3, 41))
        assert (await copy.get(f"{PATH}1/")).status_code == 404
        assert (await copy.get(f"{PATH}2/")).json()["parent_event"] == 3
        assert (await copy.get(f"{PATH}4/")).json()["num_affected"] == 77
        assert await listed_ids(copy, f"{PATH}deleted/") == {1, 2}, (
            "clients that keep a copy are told"
        )


async def test_events_of_unknown_or_other_source_are_kept(target: SyncTarget) -> None:
    await load_events(target.database_url, [make_event(id_) for id_ in (901, 902)])
    with go_server() as server, GoServer([go_event(801), go_event(802)]) as other:
        await target.pull(other)
        await target.pull(server)
        with write_sql(target.database_url) as connection:  # as after an upgrade
            connection.execute(delete(sources).where(sources.c.id.in_((1, 2, 3))))
        del server.events[1]
        assert (await target.pull(server)).events == BulkWriteResult(unchanged=39)
        assert None not in target.stored(1, 801, 802, 901, 902)
        del server.events[2]
        report = await target.pull(server)
        assert report.events == BulkWriteResult(unchanged=38, deleted=1), (
            "the run that listed it recorded its source"
        )
        assert stored_event(target.database_url, 1) is not None


async def test_event_that_was_deleted_and_written_here_has_no_source(target: SyncTarget) -> None:
    with go_server() as server:
        await target.pull(server)
        del server.events[1]
        async with serve(target) as copy:
            await delete_events(copy, [1])
        await load_events(target.database_url, [make_event(1)])
        assert (await target.pull(server)).events == BulkWriteResult(unchanged=39)
        assert stored_event(target.database_url, 1) is not None


async def test_run_without_a_token_keeps_what_a_token_showed(target: SyncTarget) -> None:
    with go_server() as server:
        await target.pull(server, TOKEN)
        await target.pull(
            server
        )  # also lists them, but cannot tell hidden events from deleted ones later
        server.events[1] |= {"visibility": 2, "updated_at": "2026-06-01T00:00:00Z"}
        del server.events[2]
        server.requests.clear()
        assert (await target.pull(server)).events == BulkWriteResult(unchanged=38)
        assert server.detail_requests() == []
        assert None not in target.stored(1, 2)
        report = await target.pull(server, TOKEN)
        assert report.events == BulkWriteResult(changed=1, unchanged=38, deleted=1)
        [hidden, deleted] = target.stored(1, 2)
        assert hidden is not None
        assert (hidden.visibility, deleted) == (2, None)


@pytest.mark.parametrize(
    ("missing", "options", "deleted"),
    [
        (4, {}, 4),
        (5, {}, 0),
        (40, {}, 0),
        (5, {"max_missing_percent": 100}, 5),
        (1, {"max_missing_percent": 0}, 0),
        (4, {"keep_missing": True}, 0),
    ],
)
async def test_too_many_missing_events(
    target: SyncTarget, missing: int, options: dict[str, Any], deleted: int
) -> None:
    with go_server() as server:
        await target.pull(server)
        for id_ in range(1, missing + 1):
            del server.events[id_]
        server.requests.clear()
        report = await target.pull(server, **options)
        assert report.events == BulkWriteResult(unchanged=40 - missing, deleted=deleted)
        if deleted or options.get("keep_missing"):
            assert report.problem == ""
        else:
            percent = options.get("max_missing_percent", 10)
            assert report.problem.startswith(
                f"{server.base_url} no longer lists {missing} of 40 events. That is more than {percent} %, so none was "
            )
            assert server.detail_requests() == []
        assert len([event for event in target.stored(*range(1, 41)) if event]) == 40 - deleted


async def test_list_that_changes_while_it_is_read(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 15)
    with go_server() as server:
        await target.pull(server)
        del server.events[1]

        def append(path: str) -> None:  # the number of events changes, and no page moves
            if "event/?limit=15&offset=10" in path:
                server.events.setdefault(
                    50, go_event(50, disaster_start_date="2020-01-01T00:00:00Z")
                )

        server.before = append
        report = await target.pull(server)
        assert (report.missing_unchecked, report.events.deleted) == (False, 1), "it was read again"
        assert stored_event(target.database_url, 1) is None
        assert stored_event(target.database_url, 50) is not None


async def test_list_that_is_read_again_from_the_start(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 15)
    with go_server(80) as server:
        await target.pull(server)

        def shrink(
            path: str,
        ) -> None:  # an event of the first page is deleted after that page was read
            if "event/?limit=15&offset=20" in path:
                server.events.pop(80, None)

        server.before = shrink
        report = await target.pull(server)
        assert (report.missing_unchecked, report.events.deleted) == (False, 1)
        assert stored_event(target.database_url, 80) is None


async def test_server_that_fails_while_events_are_requested_by_id(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "BATCH_SIZE", 2)
    with go_server(100) as server:
        await target.pull(server)
        for id_ in (1, 2, 3, 4, 5):
            del server.events[id_]
        server.hidden_from_lists.add(6)
        server.statuses["event/5/"] = [403]
        with pytest.raises(RemoteError, match="403"):
            await target.pull(server)
        assert [event is None for event in target.stored(1, 2, 3, 4, 5)] == [True] * 4 + [False]
        server.requests.clear()
        report = await target.pull(server)
        assert (report.resumed, report.events.deleted, report.problem) == (True, 1, "")
        assert set(server.detail_requests()) == {5, 6}, "the others are done"


async def test_record_of_another_event_deletes_nothing(target: SyncTarget) -> None:
    with go_server() as server:
        await target.pull(server)
        server.hidden_from_lists.add(1)
        server.events[1] = msgspec.convert({**server.events[1], "id": 2}, dict[str, Any])
        server.hidden_from_lists.add(2)
        with pytest.raises(RemoteError, match="did not return event 1"):
            await target.pull(server)
        assert None not in target.stored(1, 2)


async def test_events_of_another_source_are_not_written(target: SyncTarget) -> None:
    """The other server may have shown more of them, and this one could delete them afterwards."""
    with GoServer([go_event(801, num_affected=1)]) as other, go_server(30) as server:
        await target.pull(other, TOKEN)
        server.events[801] = go_event(801, num_affected=2)
        report = await target.pull(server)
        assert (report.of_other_sources, report.events) == (1, BulkWriteResult(created=30))
        assert [event.num_affected for event in target.stored(801) if event] == [1]

        report = await target.pull(server, take_over=True)
        assert (report.of_other_sources, report.events) == (
            0,
            BulkWriteResult(changed=1, unchanged=30),
        )
        del server.events[801]
        await target.pull(server)
        assert target.stored(801) != [None], (
            "a token showed it, so a run without one does not delete it"
        )


async def test_event_that_was_written_here_and_is_public_elsewhere(target: SyncTarget) -> None:
    """Nothing becomes public that the server did not show."""
    private = make_event(
        5,
        visibility=Visibility.MOVEMENT,
        contacts=(AMINA,),
        countries=(123, 290),
        slug="private-slug",
    )
    await load_events(target.database_url, [private])
    with GoServer([go_event(5)]) as server:
        await target.pull(server)
    [stored] = target.stored(5)
    assert stored is not None
    assert (stored.visibility, stored.contacts, stored.countries) == (Visibility.PUBLIC, (), (123,))
