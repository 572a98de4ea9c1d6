"""Synchronization with another instance and with a server like the live one: full, incremental and resumed."""

from datetime import timedelta
from typing import Any

import pytest

from fieldgate.events.sync import synchronizer
from fieldgate.events.writes import BulkWriteResult
from fieldgate.i18n.languages import Language
from tests.conftest import Service
from tests.data.events import delete_events, load_events, stored_event
from tests.data.reference import reference_data
from tests.events.event_service import START, make_event
from tests.events.sync.conftest import LISTED_EVENTS, SOURCE_EVENTS, SyncTarget, serve, transport_to
from tests.events.sync.live_system import LiveSystem, live_record


async def all_records(service: Service, ids: list[int]) -> list[Any]:
    """Everything a superuser sees, in every language."""
    headers = {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}
    found = []
    for language in Language:
        headers["Accept-Language"] = language.value
        found += (await service.get("/api/v2/event/?limit=1000", headers=headers)).json()["results"]
        for id_ in ids:
            found.append((await service.get(f"/api/v2/event/{id_}/", headers=headers)).json())
        found += (await service.get("/api/v2/country/?limit=1000", headers=headers)).json()[
            "results"
        ]
    return found


async def test_copy_of_another_instance(
    source: Service, target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 20)
    token = await source.create_token(is_superuser=True)
    report = await target.sync(transport_to(source), token)
    assert report.events == BulkWriteResult(created=len(LISTED_EVENTS))
    assert (report.since, report.resumed, target.failures) == (None, False, [])
    ids = [event.id for event in LISTED_EVENTS[-8:]]
    async with serve(target) as copy:
        assert await all_records(copy, ids) == await all_records(source, ids)

    # The second run pulls nothing, the third only what changed.
    again = await target.sync(transport_to(source), token)
    assert again.events == BulkWriteResult(), "nothing changed, so nothing is requested"
    assert again.since is not None
    headers = {"Authorization": f"Token {token}"}
    record = (await source.get("/api/v2/event/200/", headers=headers)).json()
    await source.request(
        "PUT", "/api/v2/event/200/", json={**record, "num_affected": 9}, headers=headers
    )
    body = {"name": "New", "disaster_start_date": "2026-02-02"}
    await source.request("PUT", "/api/v2/event/300/", json=body, headers=headers)
    await source.request("DELETE", "/api/v2/event/1/", headers=headers)
    third = await target.sync(transport_to(source), token)
    assert third.events == BulkWriteResult(created=1, changed=1, deleted=1)
    async with serve(target) as copy:
        assert await all_records(copy, [200, 300]) == await all_records(source, [200, 300])
        assert (await copy.get("/api/v2/event/1/")).status_code == 404

    full = await target.sync(transport_to(source), token, full=True)
    assert (full.since, full.events) == (None, BulkWriteResult(unchanged=len(LISTED_EVENTS)))


async def test_merged_and_hidden_events_leave_the_lists(
    source: Service, target: SyncTarget
) -> None:
    token = await source.create_token(is_superuser=True)
    headers = {"Authorization": f"Token {token}"}
    await target.sync(transport_to(source))
    for id_, change in ((1, {"parent_event": 2}), (3, {"visibility": 2})):
        record = (await source.get(f"/api/v2/event/{id_}/", headers=headers)).json()
        await source.request(
            "PUT", f"/api/v2/event/{id_}/", json={**record, **change}, headers=headers
        )
    assert (await target.sync(transport_to(source))).events == BulkWriteResult(changed=1, deleted=1)
    merged = stored_event(target.database_url, 1)
    assert merged is not None
    assert (merged.parent_event, stored_event(target.database_url, 3)) == (2, None)

    await target.sync(transport_to(source), token)
    assert stored_event(target.database_url, 3) is not None
    await target.sync(transport_to(source), full=True)
    assert stored_event(target.database_url, 3) is not None, (
        "an event pulled with a token stays, although the public cannot see it"
    )


async def test_run_without_a_token_keeps_reports_that_are_not_public(
    source: Service, target: SyncTarget
) -> None:
    await target.sync(transport_to(source), await source.create_token(is_superuser=True))
    stored = stored_event(target.database_url, 107)
    assert stored is not None
    assert len(stored.field_reports) == 2
    await target.sync(transport_to(source))
    assert stored_event(target.database_url, 107) == stored


async def test_label_of_demo_events_follows_the_source(source: Service, target: SyncTarget) -> None:
    await delete_events(source, [event.id for event in SOURCE_EVENTS])
    for is_demo in (True, False):
        await load_events(source, [make_event(1)], is_demo=is_demo, replaces_demo=not is_demo)
        await target.sync(transport_to(source), full=True)
        [copy] = target.stored(1)
        assert copy is not None
        assert copy.demo == is_demo


async def test_since(source: Service, target: SyncTarget) -> None:
    report = await target.sync(transport_to(source), since=START + timedelta(days=95))
    public = [event for event in LISTED_EVENTS if event.visibility == 3]
    late = len([event for event in public if event.id >= 95])
    assert report.events.created == late
    rest = await target.sync(transport_to(source))
    assert (rest.since, rest.events) == (
        None,
        BulkWriteResult(created=len(public) - late, unchanged=late),
    ), "the next run pulls the others"
    await target.sync(transport_to(source), since=START + timedelta(days=95))
    again = await target.sync(transport_to(source))
    assert (again.since is None, again.events) == (False, BulkWriteResult()), (
        "a complete copy stays complete"
    )


# A server like the live one


async def test_live_system(target: SyncTarget) -> None:
    old = {
        "id": 9001,
        "iso": None,
        "iso3": None,
        "name": "Old country",
        "is_deprecated": True,
        "record_type": 1,
    }
    system = LiveSystem(
        [
            live_record(
                1,
                countries=[{"id": 123}, old],
                dtype={"id": 99, "name": "Meteorite", "summary": ""},
            ),
            live_record(2, glide="x" * 30),
            {**live_record(3), "id": "three"},
            *(live_record(id_) for id_ in range(10, 40)),
        ],
        max_page_size=7,
    )
    report = await target.sync(system.transport())
    assert report.events == BulkWriteResult(created=31, failed=2)
    assert sorted(target.failures) == [
        f"event 2: glide: “{'x' * 30}” is not valid. Enter text of at most 18 characters.",
        "record 'three': id: A whole number is needed.",
    ]
    stored = stored_event(target.database_url, 1)
    assert stored is not None
    flood = dict.fromkeys(("en", "fr", "ar"), "Flood")
    assert (stored.name, stored.summary) == ({"es": "Inundación", **flood}, {"es": "Mucho"}), (
        "as shown by the source"
    )
    assert (stored.countries, stored.dtype) == ((123, 9001), 99)
    countries = reference_data(target.database_url).countries
    assert countries[9001].is_deprecated
    assert countries[123].average_household_size == 4.6
    assert countries[123].names["ar"], "translations missing there are kept"
    again = await target.sync(system.transport())
    assert (again.since, again.events) == (None, BulkWriteResult(unchanged=31, failed=2)), (
        "it cannot list changes"
    )


async def test_failed_events_are_requested_again(source: Service, target: SyncTarget) -> None:
    await load_events(target.database_url, [make_event(999, slug="south-sudan")])
    first = await target.sync(transport_to(source))
    taken = "event 102: slug: Another event already has the slug south-sudan."
    assert (first.events.failed, target.failures) == (1, [taken])
    state = target.state()
    assert (set(state.failing), state.finished is None) == ({102}, False)

    second = await target.sync(transport_to(source))
    assert (second.since is None, second.events) == (False, BulkWriteResult(failed=1)), (
        "only the failed event is requested, and reported each time"
    )
    assert target.failures == [taken, taken]
    async with serve(target) as copy:
        await delete_events(copy, [999])
    third = await target.sync(transport_to(source))
    assert (third.since is None, third.events) == (False, BulkWriteResult(created=1))
    assert target.state().failing == set()
    assert (await target.sync(transport_to(source))).events == BulkWriteResult()
