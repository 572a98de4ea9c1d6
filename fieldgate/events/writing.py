"""Records written as events, many in one transaction: what can be taken is written, what cannot is told."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import msgspec

from fieldgate.events.model import Event
from fieldgate.events.reading import Unreadable
from fieldgate.events.store import EventStore, SlugTaken, Writing

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
    """Write records in one transaction; `alongside` is written with them, whatever becomes of them.

    An event whose slug is taken makes the others wait for another attempt without it.
    """
    failed: dict[int, list[Failure]] = {}
    by_id = {each.id: each for each in waiting}
    while True:
        try:
            async with store.writing() as writing:
                fresh = _read(by_id, await writing.held(list(by_id)), failed)
                outcome = await writing.put([event for number, event in fresh.items() if number not in failed])
                if alongside is not None:
                    await alongside(writing, failed.keys())
            break
        except SlugTaken as taken:
            number = next(event.id for event in fresh.values() if event.slug == str(taken) and event.id not in failed)
            failed[number] = [_slug_taken(by_id[number].where, str(taken))]
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
        if number in failed:
            continue
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


def _slug_taken(where: str, slug: str) -> Failure:
    return Failure(where, "slug", f"Another event has this name in addresses already: {slug}.")
