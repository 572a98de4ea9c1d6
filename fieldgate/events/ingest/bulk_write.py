"""Write many records in one transaction. Invalid records are reported and skipped; the rest are saved."""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.ingest.parsing import InvalidEvent
from fieldgate.events.model import Event
from fieldgate.events.writes import (
    BulkWriteResult,
    ids_by_slug,
    load_stored,
    lock_events,
    save_events,
)

BATCH_SIZE = 1000  # events in one transaction


class WriteFailure(msgspec.Struct, frozen=True):
    """Why a record was not written."""

    location: str
    field: str
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.location}: {self.field}: {self.reason}"
            if self.field
            else f"{self.location}: {self.reason}"
        )


FailureCallback = Callable[[WriteFailure], None]
EventParser = Callable[[Event | None], Event]


class PendingRecord(msgspec.Struct, frozen=True):
    """A record to write."""

    id: int
    location: str  # shown in failures
    parse: EventParser  # gets the stored event, if any; raises `InvalidEvent`


# Gets the valid events, written or unchanged, and the ids of the failed records.
TransactionHook = Callable[[WriteTransaction, Mapping[int, Event], Collection[int]], None]


def write_records(
    database: Database,
    pending: Sequence[PendingRecord],
    on_failure: FailureCallback,
    in_transaction: TransactionHook | None = None,
    is_demo: bool | None = None,
) -> BulkWriteResult:
    """Write records in one transaction. `in_transaction` runs in it, also if records failed."""
    by_id = {record.id: record for record in pending}

    def write(
        transaction: WriteTransaction,
    ) -> tuple[BulkWriteResult, dict[int, list[WriteFailure]]]:
        failed: dict[int, list[WriteFailure]] = {}
        lock_events(transaction)
        stored = load_stored(transaction, list(by_id))
        before = {id_: held.event for id_, held in stored.items()}
        events = _parse_pending(by_id, before, failed)
        slugs = [event.slug for event in events.values() if event.slug is not None]
        _reject_taken_slugs(by_id, events, ids_by_slug(transaction, slugs), failed)
        result = save_events(transaction, list(events.values()), is_demo=is_demo, stored=stored)
        if in_transaction is not None:
            in_transaction(transaction, events, failed.keys())
        return result, failed

    result, failed = database.write(write, is_alone=True)
    for failures in failed.values():
        for failure in failures:
            on_failure(failure)
    result.failed = len(failed)
    return result


def _parse_pending(
    pending: Mapping[int, PendingRecord],
    before: Mapping[int, Event],
    failed: dict[int, list[WriteFailure]],
) -> dict[int, Event]:
    events: dict[int, Event] = {}
    slugs: set[str] = set()
    for id_, record in pending.items():
        try:
            event = record.parse(before.get(id_))
        except InvalidEvent as error:
            failed[id_] = [
                WriteFailure(record.location, path, str(message)) for path, message in error.errors
            ]
            continue
        if event.slug is not None and event.slug in slugs:
            failed[id_] = [_slug_taken_failure(record.location, event.slug)]
            continue
        slugs |= {event.slug} if event.slug is not None else set()
        events[id_] = event
    return events


def _reject_taken_slugs(
    pending: Mapping[int, PendingRecord],
    events: dict[int, Event],
    ids_by_slug: Mapping[str, int],
    failed: dict[int, list[WriteFailure]],
) -> None:
    """Remove events that want the slug of an event that keeps it. A removed event keeps its own slug in turn."""

    def is_taken(event: Event) -> bool:
        holder = ids_by_slug.get(event.slug or "", event.id)
        return holder != event.id and (holder not in events or events[holder].slug == event.slug)

    while rejected := [event for event in events.values() if is_taken(event)]:
        for event in rejected:
            failed[event.id] = [_slug_taken_failure(pending[event.id].location, event.slug or "")]
            del events[event.id]


def _slug_taken_failure(location: str, slug: str) -> WriteFailure:
    return WriteFailure(location, "slug", f"Another event already has the slug {slug}.")
