"""Records written as events, many in one transaction: what can be taken is written, what cannot is told."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec

from fieldgate.events.ingest.parsing import Unreadable
from fieldgate.events.model import Event
from fieldgate.events.store import EventStore, Writing

AT_ONCE = 1000  # events of one transaction


class Failure(msgspec.Struct, frozen=True):
    """A record that was not written, and why."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.field}: {self.reason}" if self.field else f"{self.where}: {self.reason}"


class Written(msgspec.Struct):
    """What became of records."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    deleted: int = 0

    def add(self, other: "Written") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count or name != "deleted")


Tell = Callable[[Failure], None]
Read = Callable[[Event | None], Event]


class Waiting(msgspec.Struct, frozen=True):
    """A record that is to be written: which event it is, what people know it by, and how it is read."""

    id: int
    where: str
    read: Read  # given what there was before; raises `Unreadable`


Alongside = Callable[[Writing, Collection[int]], Awaitable[None]]  # given the ids of those that failed


async def write(
    store: EventStore, waiting: Sequence[Waiting], tell: Tell, alongside: Alongside | None = None
) -> Written:
    """Write records in one transaction; `alongside` is written with them, whatever becomes of them."""
    failed: dict[int, list[Failure]] = {}
    by_id = {each.id: each for each in waiting}
    async with store.writing() as writing:
        fresh = _read(by_id, await writing.held(list(by_id)), failed)
        holders = await writing.holders([event.slug for event in fresh.values() if event.slug is not None])
        _refuse_taken(by_id, fresh, holders, failed)
        outcome = await writing.put(list(fresh.values()))
        if alongside is not None:
            await alongside(writing, failed.keys())
    for failures in failed.values():
        for failure in failures:
            tell(failure)
    return Written(outcome.created, outcome.changed, outcome.unchanged, len(failed))


def _read(
    waiting: Mapping[int, Waiting], before: Mapping[int, Event], failed: dict[int, list[Failure]]
) -> dict[int, Event]:
    fresh: dict[int, Event] = {}
    slugs: set[str] = set()
    for number, each in waiting.items():
        try:
            event = each.read(before.get(number))
        except Unreadable as error:
            failed[number] = [Failure(each.where, path, str(message)) for path, message in error.problems]
            continue
        if event.slug is not None and event.slug in slugs:
            failed[number] = [_slug_taken(each.where, event.slug)]
            continue
        slugs |= {event.slug} if event.slug is not None else set()
        fresh[number] = event
    return fresh


def _refuse_taken(
    waiting: Mapping[int, Waiting],
    fresh: dict[int, Event],
    holders: Mapping[str, int],
    failed: dict[int, list[Failure]],
) -> None:
    """Take out whatever wants the slug of an event that keeps it; what is taken out keeps its own in turn."""

    def is_taken(event: Event) -> bool:
        holder = holders.get(event.slug or "", event.id)
        return holder != event.id and (holder not in fresh or fresh[holder].slug == event.slug)

    while refused := [event for event in fresh.values() if is_taken(event)]:
        for event in refused:
            failed[event.id] = [_slug_taken(waiting[event.id].where, event.slug or "")]
            del fresh[event.id]


def _slug_taken(where: str, slug: str) -> Failure:
    return Failure(where, "slug", f"Another event has this name in addresses already: {slug}.")
