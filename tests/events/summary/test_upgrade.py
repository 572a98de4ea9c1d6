"""Summaries of events that an earlier release stored, without figures."""

import msgspec
import pytest
from sqlalchemy import Connection, select, update

from fieldgate.db import Database, DataVersions
from fieldgate.db.tables import rebuilds
from fieldgate.errors import ServiceUnavailable
from fieldgate.events.model import Appeal, Event
from fieldgate.events.reindex import event_rebuilder
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.summary.narrowing import QueryNarrower
from fieldgate.events.summary.schemas import EventSummary
from fieldgate.events.summary.summarize import summarize
from fieldgate.events.tables import documents, events
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore
from tests.events.event_service import make_event

APPEAL = Appeal(id=1, aid="1", atype=0, status=0, amount_requested=500.5, amount_funded=100)
STORED = [make_event(1, num_affected=7, appeals=(APPEAL,)), make_event(2), make_event(3, num_affected=0)]


async def store_without_figures(database: Database) -> None:
    """Rewrite the stored events as releases before format 2 did."""

    def rewrite(connection: Connection) -> None:
        for row in connection.execute(select(events.c.id, events.c.facets)).all():
            words, mark, _ = row.facets.partition(" n #" if " n #" in row.facets else " #")
            assert mark
            connection.execute(update(events).where(events.c.id == row.id).values(facets=words))
        connection.execute(update(documents).values(format=1))
        connection.execute(update(rebuilds).values(format=1))

    await database.write(rewrite)


def new_search(database: Database) -> EventSearch:
    versions = DataVersions(database)
    return EventSearch(EventStore(database, versions), ReferenceStore(database, versions), versions)


async def summary_of(search: EventSearch, filters: EventFilters | None = None) -> EventSummary:
    snapshot = await search.snapshot()
    asked_for = filters or EventFilters()
    selection = await snapshot.selection(asked_for, PUBLIC_SCOPE)
    return summarize(
        snapshot.context, selection, QueryNarrower({}, asked_for, snapshot.reference_data), Language.ENGLISH
    )


async def test_summary_waits_for_the_rebuild(database: Database) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert(STORED)
    expected = await summary_of(new_search(database))
    assert (expected.num_affected, expected.events_with_num_affected, expected.amount_requested) == (7, 2, 500.5)
    await store_without_figures(database)
    search = new_search(database)
    with pytest.raises(ServiceUnavailable, match="being upgraded: summary"):
        await summary_of(search)
    edited: Event = msgspec.structs.replace(STORED[0], name={"en": "Edited"})
    await store.upsert([edited])
    assert (await summary_of(search, EventFilters(id=1))).num_affected == 7, "what was written since has figures"
    with pytest.raises(ServiceUnavailable):
        await summary_of(search)
    assert await event_rebuilder(database, DataVersions(database)).run(on_progress=lambda *_: None)
    assert await summary_of(search) == expected
