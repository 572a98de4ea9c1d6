"""Writes of events, with everything that is derived from them and their deletions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import DataVersions, insert_rows, now
from fieldgate.db.tables import topic_versions
from fieldgate.events.derived_tables import check_format, delete_derived_rows, insert_derived_rows
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.tables import TOPIC, deleted, events, sources
from fieldgate.events.visibility import Audience

BATCH_SIZE = 500  # rows of one statement

Value = TypeVar("Value")


class BulkWriteResult(msgspec.Struct):
    """How many records were created, changed, left unchanged, skipped or deleted."""

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
        return ", ".join(
            f"{name} {count}" for name, count in counts.items() if count or name != "deleted"
        )


class SlugTaken(Exception):
    """Another event has this slug."""


class EventWriter:
    """The writes of one transaction, all with the same version."""

    def __init__(self, connection: AsyncConnection, data_versions: DataVersions) -> None:
        self._connection = connection
        self._data_versions = data_versions
        self._version = 0

    @property
    def connection(self) -> AsyncConnection:
        """For other writes in the same transaction."""
        return self._connection

    async def upsert(self, new: Sequence[Event], *, is_demo: bool | None = None) -> BulkWriteResult:
        """Create or replace events. Unchanged ones are not written.

        Without `is_demo` an event keeps its flag, and a new event gets that of the existing ones: they never mix.
        """
        known = await self._load_packed([event.id for event in new])
        ids, old_ids = [event.id for event in new], [event.id for event in new if event.id in known]
        demo_ids = (
            await self._demo_ids(ids, old_ids)
            if is_demo is None
            else frozenset(ids if is_demo else ())
        )
        new = [
            msgspec.structs.replace(event, demo=True) if event.id in demo_ids else event
            for event in new
        ]
        fresh = [(event, packed) for event in new if known.get(event.id) != (packed := pack(event))]
        result = BulkWriteResult(unchanged=len(new) - len(fresh))
        if not fresh:
            return result
        version = await self._next_version()
        old = [event.id for event, _ in fresh if event.id in known]
        result.changed, result.created = len(old), len(fresh) - len(old)
        before = {id_: unpack(known[id_]) for id_ in old}
        await self._delete_rows(old)
        await self._record_deletions(
            {event.id: (before.get(event.id), event) for event, _ in fresh}, version
        )
        await self._insert(fresh, version, demo_ids)
        return result

    async def load(self, ids: Sequence[int]) -> dict[int, Event]:
        """The existing events, by id."""
        return {id_: unpack(packed) for id_, packed in (await self._load_packed(ids)).items()}

    async def ids_by_slug(self, slugs: Sequence[str]) -> dict[str, int]:
        """The ids of the events with these slugs."""
        found: dict[str, int] = {}
        for some in batches(slugs):
            rows = await self._connection.execute(
                select(events.c.slug, events.c.id).where(events.c.slug.in_(some))
            )
            found.update((row.slug, row.id) for row in rows)
        return found

    async def delete(self, ids: Sequence[int]) -> int:
        """Delete events. Returns how many there were."""
        known = await self._load_packed(ids)
        if not known:
            return 0
        version = await self._next_version()
        before = {id_: unpack(packed) for id_, packed in known.items()}
        await self._delete_rows(list(known))
        await self._record_deletions({id_: (event, None) for id_, event in before.items()}, version)
        for some in batches(list(known)):
            await self._connection.execute(sources.delete().where(sources.c.id.in_(some)))
        return len(known)

    async def _record_deletions(
        self, changes: Mapping[int, tuple[Event | None, Event | None]], version: int
    ) -> None:
        """Record events that left the lists, or are hidden from some of the callers who saw them."""
        recorded: dict[int, tuple[Audience, Audience | None]] = {}
        for some in batches(list(changes)):
            for row in await self._connection.execute(
                select(deleted).where(deleted.c.id.in_(some))
            ):
                kept = (
                    None
                    if row.kept_visibility is None
                    else _parse_audience(row.kept_visibility, row.kept_countries)
                )
                recorded[row.id] = _parse_audience(row.visibility, row.countries), kept
        new: dict[int, tuple[Audience, Audience | None]] = {}
        for id_, (before, after) in changes.items():
            audience = (
                _list_audience(before)
                if after
                else before and Audience.of(before.visibility, before.countries)
            )
            if id_ in recorded:
                audience = recorded[id_][0] | audience if audience else recorded[id_][0]
            kept = _list_audience(after)
            if audience and not (kept and kept.includes(audience)):
                new[id_] = audience, kept
        for some in batches([id_ for id_ in recorded if new.get(id_) != recorded[id_]]):
            await self._connection.execute(deleted.delete().where(deleted.c.id.in_(some)))
        timestamp = now()
        rows = [
            {
                "id": id_,
                "deleted_at": timestamp,
                "version": version,
                "visibility": audience.visibility,
                "countries": _join_ids(audience.countries),
                "kept_visibility": kept.visibility if kept else None,
                "kept_countries": _join_ids(kept.countries) if kept else None,
            }
            for id_, (audience, kept) in new.items()
            if recorded.get(id_) != (audience, kept)
        ]
        if rows:
            await self._connection.execute(insert(deleted), rows)

    async def _next_version(self) -> int:
        if not self._version:
            await self._data_versions.bump(self._connection, TOPIC)
            found = await self._connection.execute(
                select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC)
            )
            self._version = int(found.scalar_one())
        return self._version

    async def _demo_ids(self, ids: Sequence[int], existing_ids: Sequence[int]) -> frozenset[int]:
        """The demo events among these: existing ones keep their flag, new ones get that of the first and last event."""
        ends = [
            select(events.c.is_demo).order_by(order).limit(1)
            for order in (events.c.id, events.c.id.desc())
        ]
        found = {(await self._connection.execute(end)).scalar() for end in ends}
        demo_ids = set(ids).difference(existing_ids) if found == {True} else set()
        for some in batches(existing_ids):
            rows = await self._connection.execute(
                select(events.c.id).where(events.c.id.in_(some), events.c.is_demo)
            )
            demo_ids.update(rows.scalars())
        return frozenset(demo_ids)

    async def _load_packed(self, ids: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for some in batches(ids):
            rows = await self._connection.execute(
                select(events.c.id, events.c.packed).where(events.c.id.in_(some))
            )
            found.update((row.id, bytes(row.packed)) for row in rows)
        return found

    async def _delete_rows(self, ids: Sequence[int]) -> None:
        for some in batches(ids):
            await delete_derived_rows(self._connection, some)
            await self._connection.execute(events.delete().where(events.c.id.in_(some)))

    async def _insert(
        self, fresh: Sequence[tuple[Event, bytes]], version: int, demo_ids: frozenset[int]
    ) -> None:
        await check_format(self._connection)
        for slug in await self.ids_by_slug(
            [event.slug for event, _ in fresh if event.slug is not None]
        ):
            raise SlugTaken(slug)
        rows = [
            {
                "id": event.id,
                "version": version,
                "slug": event.slug,
                "parent_event": event.parent_event,
                "is_demo": event.id in demo_ids,
                "packed": packed,
            }
            for event, packed in fresh
        ]
        await insert_rows(self._connection, events, rows)
        await insert_derived_rows(self._connection, [(event, version) for event, _ in fresh])


def _list_audience(event: Event | None) -> Audience | None:
    """Who sees an event in lists; None for an event that is not in lists."""
    return (
        None
        if event is None or event.parent_event is not None
        else Audience.of(event.visibility, event.countries)
    )


def _join_ids(ids: Iterable[int]) -> str:
    return "," + ",".join(map(str, sorted(ids))) + ","


def _parse_audience(visibility: int, countries: str) -> Audience:
    return Audience.of(visibility, (int(id_) for id_ in countries.split(",") if id_))


def batches(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Parts of a sequence that are short enough for one statement."""
    for start in range(0, len(values), BATCH_SIZE):
        yield values[start : start + BATCH_SIZE]
