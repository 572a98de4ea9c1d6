"""Records written as events, many in one transaction: what can be taken is written, what cannot is told."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec

from fieldgate.events.event_writer import EventWriter
from fieldgate.events.ingest.parsing import InvalidEvent
from fieldgate.events.model import Event
from fieldgate.events.store import EventStore

BATCH_SIZE = 1000  # events of one transaction


class WriteFailure(msgspec.Struct, frozen=True):
    """A record that was not written, and why."""

    location: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.location}: {self.field}: {self.reason}" if self.field else f"{self.location}: {self.reason}"


class BulkWriteResult(msgspec.Struct):
    """What became of records."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    deleted: int = 0

    def add(self, other: "BulkWriteResult") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count or name != "deleted")


FailureCallback = Callable[[WriteFailure], None]
EventParser = Callable[[Event | None], Event]


class PendingRecord(msgspec.Struct, frozen=True):
    """A record that is to be written: which event it is, what people know it by, and how it is read."""

    id: int
    location: str
    parse: EventParser  # given what there was before; raises `Unreadable`


TransactionHook = Callable[[EventWriter, Collection[int]], Awaitable[None]]  # given the ids of those that failed


async def write_records(
    store: EventStore,
    pending: Sequence[PendingRecord],
    on_failure: FailureCallback,
    in_transaction: TransactionHook | None = None,
) -> BulkWriteResult:
    """Write records in one transaction; `alongside` is written with them, whatever becomes of them."""
    failed: dict[int, list[WriteFailure]] = {}
    by_id = {each.id: each for each in pending}
    async with store.writer() as writing:
        fresh = _parse_pending(by_id, await writing.load(list(by_id)), failed)
        holders = await writing.ids_by_slug([event.slug for event in fresh.values() if event.slug is not None])
        _reject_taken_slugs(by_id, fresh, holders, failed)
        outcome = await writing.upsert(list(fresh.values()))
        if in_transaction is not None:
            await in_transaction(writing, failed.keys())
    for failures in failed.values():
        for failure in failures:
            on_failure(failure)
    return BulkWriteResult(outcome.created, outcome.changed, outcome.unchanged, len(failed))


def _parse_pending(
    pending: Mapping[int, PendingRecord], before: Mapping[int, Event], failed: dict[int, list[WriteFailure]]
) -> dict[int, Event]:
    fresh: dict[int, Event] = {}
    slugs: set[str] = set()
    for number, each in pending.items():
        try:
            event = each.parse(before.get(number))
        except InvalidEvent as error:
            failed[number] = [WriteFailure(each.location, path, str(message)) for path, message in error.errors]
            continue
        if event.slug is not None and event.slug in slugs:
            failed[number] = [_slug_taken_failure(each.location, event.slug)]
            continue
        slugs |= {event.slug} if event.slug is not None else set()
        fresh[number] = event
    return fresh


def _reject_taken_slugs(
    pending: Mapping[int, PendingRecord],
    fresh: dict[int, Event],
    ids_by_slug: Mapping[str, int],
    failed: dict[int, list[WriteFailure]],
) -> None:
    """Take out whatever wants the slug of an event that keeps it; what is taken out keeps its own in turn."""

    def is_taken(event: Event) -> bool:
        holder = ids_by_slug.get(event.slug or "", event.id)
        return holder != event.id and (holder not in fresh or fresh[holder].slug == event.slug)

    while refused := [event for event in fresh.values() if is_taken(event)]:
        for event in refused:
            failed[event.id] = [_slug_taken_failure(pending[event.id].location, event.slug or "")]
            del fresh[event.id]


def _slug_taken_failure(location: str, slug: str) -> WriteFailure:
    return WriteFailure(location, "slug", f"Another event has this name in addresses already: {slug}.")
