"""Add the events of a folder. Events that are here already stay as they are."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.event_log import log_run
from fieldgate.events.model import Event, unpack
from fieldgate.events.queries import has_demo_events
from fieldgate.events.writes import ids_by_slug, load_events, lock_events, save_events
from fieldgate.reference.queries import load_reference
from fieldgate.reference.reference_data import ReferenceData

BATCH_SIZE = 1_000


def move_events(
    database: Database, lines: Iterable[bytes], *, is_dry_run: bool
) -> tuple[int, list[str]]:
    """Return how many were added, or would be, and what was not done, in words."""
    reference = database.read(load_reference)
    remaining = iter(lines)
    created = 0
    kept = 0
    refused = 0
    while batch := list(islice(remaining, BATCH_SIZE)):
        if database.read(has_demo_events):
            return 0, ["This database has demo events, so the events were not moved."]
        read = {event.id: event for line in batch if (event := _parse(line)) is not None}
        known = [event for event in read.values() if _has_known_ids(event, reference)]
        added = _add(database, known, is_dry_run=is_dry_run)
        created += added
        kept += len(known) - added
        refused += len(batch) - len(known)
    if not is_dry_run:
        log_run(database, "load", created=created)
    notes = {
        "Events that are here already, and stay as they are": kept,
        "Events that are not valid here": refused,
    }
    return created, [f"{text}: {count}." for text, count in notes.items() if count]


def _add(database: Database, known: Sequence[Event], *, is_dry_run: bool) -> int:
    """Add the events that are not here. Returns how many."""

    def write(transaction: WriteTransaction) -> int:
        lock_events(transaction)
        here = load_events(transaction, [event.id for event in known])
        slugs = ids_by_slug(transaction, [event.slug for event in known if event.slug])
        new: dict[int | str, Event] = {}  # of several with one slug, the last one
        for event in known:
            if event.id not in here and (event.slug or "") not in slugs:
                new[event.slug or event.id] = event
        if not is_dry_run:
            save_events(transaction, list(new.values()), is_demo=False)
        return len(new)

    return database.write(write, is_alone=True)


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
