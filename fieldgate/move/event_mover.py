"""Add the events of a folder. Events that are here already stay as they are."""

from collections.abc import Iterable
from itertools import chain, islice

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.event_log import log_run
from fieldgate.events.model import Event, unpack
from fieldgate.events.store import EventStore
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore

BATCH_SIZE = 1_000


async def move_events(
    database: AsyncDatabase, lines: Iterable[bytes], *, is_dry_run: bool
) -> tuple[int, list[str]]:
    """Return how many were added, or would be, and what was not done, in words."""
    data_versions = DataVersions(database)
    store, reference = (
        EventStore(database, data_versions),
        await ReferenceStore(database, data_versions).current(),
    )
    remaining, created, kept, refused = iter(lines), 0, 0, 0
    while some := list(islice(remaining, BATCH_SIZE)):
        if await store.has_demo():
            return 0, ["This database has demo events, so the events were not moved."]
        read = {event.id: event for line in some if (event := _parse(line)) is not None}
        known = [event for event in read.values() if _has_known_ids(event, reference)]
        async with store.writer() as writer:
            here = await writer.load([event.id for event in known])
            slugs = await writer.ids_by_slug([event.slug for event in known if event.slug])
            free = (
                event for event in known if event.id not in here and (event.slug or "") not in slugs
            )
            new = [*{event.slug or event.id: event for event in free}.values()]
            if not is_dry_run:
                await writer.upsert(new, is_demo=False)
        created, kept, refused = (
            created + len(new),
            kept + len(known) - len(new),
            refused + len(some) - len(known),
        )
    if not is_dry_run:
        await log_run(database, "load", created=created)
    notes = {
        "Events that are here already, and stay as they are": kept,
        "Events that are not valid here": refused,
    }
    return created, [f"{text}: {count}." for text, count in notes.items() if count]


def _has_known_ids(event: Event, reference: ReferenceData) -> bool:
    countries = chain(event.countries, *(report.countries for report in event.field_reports))
    return {*countries} <= reference.countries.keys() and (
        event.dtype is None or event.dtype in reference.types
    )


def _parse(line: bytes) -> Event | None:
    try:
        return None if rb"\u0000" in line else unpack(line)  # PostgreSQL cannot store it
    except (ValueError, RecursionError):
        return None
