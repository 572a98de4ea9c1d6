"""The tables derived from packed events: their rows, and `rebuild_derived_tables` when the format changed."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.derived_tables import (
    OtherEventFormat,
    document_row,
    has_other_format,
    rebuild_derived_tables,
    word_row,
)
from fieldgate.events.facets import (
    EVENT_FORMAT,
    MAX_APPEALS,
    MAX_CENTS,
    EventFigures,
    event_figures,
)
from fieldgate.events.model import Appeal, Event, FieldReport, Person, Visibility
from fieldgate.events.search.event_search import EventSearch
from fieldgate.events.search.filters import EventFilters
from fieldgate.events.store import EventStore
from fieldgate.events.tables import documents, event_format, index_rows, words
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest
from fieldgate.reference.store import ReferenceStore
from tests.data.events import stored_event
from tests.events.event_service import EVENTS, make_event

TIMESTAMP = datetime(2026, 7, 14, 6, 30, tzinfo=UTC)
FULL_EVENT = Event(
    id=1,
    name={"fr": "Crue", "en": "Flood", "ar": "فيضان"},
    summary={"es": "<p>Mucha  agua:\u202f12\u202f000;=1</p>"},
    original_language="fr",
    dtype=12,
    countries=(123, 84),
    num_affected=12,
    ifrc_severity_level=2,
    glide="FL-2026-000123-NPL",
    disaster_start_date=TIMESTAMP,
    created_at=TIMESTAMP,
    updated_at=TIMESTAMP,
    auto_generated_source="WHO scraper",
    is_featured=True,
    is_featured_region=True,
    visibility=Visibility.PUBLIC,
    appeals=(
        Appeal(
            id=1,
            aid="1",
            code="mdrnp001",
            atype=1,
            status=0,
            end_date=TIMESTAMP,
            amount_requested=1000.25,
        ),
        Appeal(id=2, aid="2", atype=1, status=0, amount_requested=99.999, amount_funded=0.1),
    ),
    field_reports=(
        FieldReport(
            id=1,
            created_at=TIMESTAMP,
            updated_at=TIMESTAMP,
            contacts=(Person(id=1, name="Amina"),),
            epi_figures_source=1,
        ),
    ),
)
# The digest of the document and the words of this event. If it changes, stored events must be written again: raise
# `EVENT_FORMAT` in `fieldgate/events/facets.py`.
DIGEST = "89fd48a00737251717e6767211d4353792a0d617e13ffde9e8abcd5671093f8b"


def test_documents_and_words_change_only_with_the_format() -> None:
    derived = document_row(FULL_EVENT), word_row(FULL_EVENT)
    digest = hashlib.sha256(msgspec.msgpack.encode(derived)).hexdigest()
    assert digest == DIGEST, f"raise EVENT_FORMAT, and enter here: {digest!r}"


async def read_tables(database: AsyncDatabase) -> list[list[Any]]:
    async with database.read_transaction() as connection:
        tables = (index_rows, documents, words)
        return [
            list((await connection.execute(select(table).order_by(table.c.id))).all())
            for table in tables
        ]


async def store_in_another_format(database: AsyncDatabase) -> None:
    async with database.transaction() as connection:
        await connection.execute(update(index_rows).values(facets="v3"))
        await connection.execute(update(documents).values(document=b"{}"))
        await connection.execute(words.delete())
        await connection.execute(update(event_format).values(format=EVENT_FORMAT + 1))


async def list_records(search: EventSearch) -> list[bytes]:
    filters = EventFilters(search="flood", ordering="id")
    return (await search.find(filters, FULL_SCOPE, Language.ENGLISH, PageRequest(200))).records


async def test_tables_in_another_format_are_written_again(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.events.derived_tables.REBUILD_BATCH_SIZE", 10)
    data_versions = DataVersions(database)
    store = EventStore(database, data_versions)
    search = EventSearch(store, ReferenceStore(database, data_versions), data_versions)
    assert not await has_other_format(database), "a new database has no format yet"
    for event in EVENTS:
        await store.upsert([event])
    expected, records = await read_tables(database), await list_records(search)
    assert not await has_other_format(database)
    await store_in_another_format(database)
    assert await has_other_format(database)
    progress: list[tuple[int, int]] = []
    done = await rebuild_derived_tables(
        database, DataVersions(database), lambda *numbers: progress.append(numbers)
    )
    assert done == len(EVENTS)
    assert (len(progress), progress[-1]) == (-(-done // 10), (done, done))
    assert await read_tables(database) == expected
    assert not await has_other_format(database)
    reader = DataVersions(database)
    other = EventSearch(EventStore(database, reader), ReferenceStore(database, reader), reader)
    assert await list_records(other) == records


async def test_events_are_not_written_beside_others_in_another_format(
    database: AsyncDatabase, database_url: str
) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert([make_event(1)])
    await store_in_another_format(database)
    with pytest.raises(OtherEventFormat, match="fieldgate migrate"):
        await store.upsert([make_event(2)])
    assert stored_event(database_url, 2) is None


def event_with(*amounts: float, num_affected: int | None = None) -> Event:
    appeals = [
        Appeal(id=1, aid="1", atype=0, status=0, amount_requested=each, amount_funded=-each)
        for each in amounts
    ]
    return make_event(1, num_affected=num_affected, appeals=tuple(appeals))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (event_with(), EventFigures()),
        (event_with(num_affected=7), EventFigures(7)),
        (event_with(0.1, 0.2, num_affected=0), EventFigures(0, 2, 30, -30)),
        (
            event_with(*[1e308] * (MAX_APPEALS + 1)),
            EventFigures(0, MAX_APPEALS, MAX_CENTS, -MAX_CENTS),
        ),
    ],
)
def test_figures_of_an_event(event: Event, expected: EventFigures) -> None:
    assert event_figures(event) == expected
