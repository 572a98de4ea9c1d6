"""All SQL about events: writing them with their documents, and what the index, pages and details read."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Table, and_, bindparam, exists, func, insert, literal, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import (
    Database,
    DataVersions,
    PreparedQuery,
    RowPage,
    Snapshot,
    Timestamp,
    in_bound_list,
    insert_rows,
    now,
    paginate,
    snapshot,
)
from fieldgate.db.tables import topic_versions
from fieldgate.events.document_templates import build_list_template
from fieldgate.events.model import SOCIETIES, Event, pack, unpack
from fieldgate.events.search.index import Index, IndexBuilder, IndexRow, event_facets
from fieldgate.events.tables import deleted, documents, events, history, words
from fieldgate.events.visibility import Audience, ViewerScope
from fieldgate.pagination import PageRequest
from fieldgate.reference.reference_data import fold_text

TOPIC = "events"
REBUILD_TOPIC = "events, as a whole"  # bumped where what changed cannot be told event by event
MAX_INCREMENTAL_CHANGES = 20_000  # more than that, and the index is made anew
HISTORY_RETENTION = timedelta(minutes=10)  # no reader lags so far behind
BATCH_SIZE = 500  # rows of one statement
NAME_SEPARATOR = "\x1f"  # between the names of an event in `words`

Value = TypeVar("Value")


class IndexVersion(NamedTuple):
    """How the data stands: the version, and the last one that cannot be told event by event."""

    version: int
    rebuild_version: int


class EventWriteResult(msgspec.Struct):
    """What a write did."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0


class SnapshotExpired(Exception):
    """What the reader's version had is no longer there: the reader lags too far behind."""


class SlugTaken(Exception):
    """Another event has this name in addresses already."""


class EventStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        is_before = history.c.id == bindparam("id"), history.c.until > bindparam("version")
        self._documents = PreparedQuery(
            database,
            select(documents.c.id, documents.c.version, documents.c.document).where(
                in_bound_list(database, documents.c.id, "ids")
            ),
        )
        self._previous_document = PreparedQuery(
            database, select(history.c.document).where(*is_before).order_by(history.c.until).limit(1)
        )
        self._by_id = PreparedQuery(database, select(events.c.packed).where(events.c.id == bindparam("id")))
        self._by_slug = PreparedQuery(database, select(events.c.packed).where(events.c.slug == bindparam("slug")))

    # Writing

    @asynccontextmanager
    async def writer(self) -> AsyncIterator["EventWriter"]:
        """Any number of writes in one transaction, which readers see as one."""
        async with self._database.transaction() as connection:
            # One writer at a time: what it finds is what it replaces, and versions are committed in their order.
            await connection.execute(
                select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC).with_for_update()
            )
            yield EventWriter(connection, self._data_versions)

    async def upsert(self, new: Sequence[Event], *, is_demo: bool | None = None) -> EventWriteResult:
        """Write events, whole. What is there already in the same state is left alone."""
        async with self.writer() as writing:
            return await writing.upsert(new, is_demo=is_demo)

    async def delete(self, ids: Sequence[int]) -> int:
        """Delete events; how many there were. That they are gone can be learned of."""
        async with self.writer() as writing:
            return await writing.delete(ids)

    async def delete_demo(self) -> int:
        """Delete the events that were made up. Nobody needs to learn of it."""
        async with self._database.transaction() as connection:
            is_demo = select(events.c.id).where(events.c.is_demo)
            count: int = (await connection.execute(select(func.count()).select_from(is_demo.subquery()))).scalar_one()
            if count:
                await self._data_versions.bump(connection, TOPIC, REBUILD_TOPIC)
                for table in (documents, words, history, deleted):
                    await connection.execute(table.delete().where(table.c.id.in_(is_demo)))
                await connection.execute(events.delete().where(events.c.is_demo))
            return count

    async def has_demo(self) -> bool:
        return await self._exists(events.c.is_demo)

    async def has_real(self) -> bool:
        return await self._exists(~events.c.is_demo)

    async def _exists(self, condition: ColumnElement[bool]) -> bool:
        async with self._database.read_transaction() as connection:
            found = await connection.execute(select(events.c.id).where(condition).limit(1))
            return found.first() is not None

    # For the index

    async def load_index(self) -> tuple[IndexVersion, Index]:
        """The index of all events in lists, and what it was made from."""
        builder = IndexBuilder()
        async with snapshot(self._database) as state:
            standing = await _load_index_version(state)
            async for some in state.batches(_SELECT_INDEX_ROWS.where(events.c.parent_event.is_(None))):
                await asyncio.to_thread(builder.add, some)
        return standing, await asyncio.to_thread(builder.build)

    async def load_changes(self, since: IndexVersion) -> tuple[IndexVersion, list[IndexRow], list[int]] | None:
        """What became of the data since: how it stands, changed rows, and ids no longer in lists. None if too much."""
        async with snapshot(self._database) as state:
            standing = await _load_index_version(state)
            if standing.rebuild_version != since.rebuild_version:
                return None
            is_since = events.c.version > since.version
            changed = await state.rows(
                _SELECT_INDEX_ROWS.add_columns(events.c.parent_event).where(is_since).limit(MAX_INCREMENTAL_CHANGES)
            )
            is_gone = deleted.c.version > since.version, deleted.c.kept_visibility.is_(None)
            gone = await state.rows(select(deleted.c.id).where(*is_gone).limit(MAX_INCREMENTAL_CHANGES))
        if len(changed) == MAX_INCREMENTAL_CHANGES or len(gone) == MAX_INCREMENTAL_CHANGES:
            return None
        rows = [IndexRow(*row[:5]) for row in changed if row[5] is None]
        return standing, rows, [row[0] for row in (*gone, *(row for row in changed if row[5] is not None))]

    # For pages. All of these answer for the version the reader's index is of.

    async def documents(self, ids: Sequence[int], version: int) -> list[bytes]:
        """The documents of events, in the order asked for."""
        found = {row[0]: row[2] for row in await self._documents.all(ids=ids) if row[1] <= version}
        if len(found) < len(ids):
            for number in ids:
                if number not in found:
                    before = await self._previous_document.first(id=number, version=version)
                    if before is None:
                        raise SnapshotExpired
                    found[number] = before[0]
        return [found[number] for number in ids]

    async def ids_by_name(self, word: str, version: int) -> list[int]:
        """The ids of events in whose name, in any language, a folded word occurs."""
        return await self._matching_ids(lambda table: table.c.names.contains(word, autoescape=True), version)

    async def ids_by_glide(self, glide: str, version: int) -> list[int]:
        return await self._matching_ids(lambda table: table.c.glide == glide, version)

    async def ids_by_appeal_code(self, code: str, version: int) -> list[int]:
        pattern = f",{code.upper()},"
        return await self._matching_ids(lambda table: table.c.appeal_codes.contains(pattern, autoescape=True), version)

    async def _matching_ids(self, condition: Callable[[Table], ColumnElement[bool]], version: int) -> list[int]:
        earlier = history.alias()
        is_state = (
            history.c.until > version,
            ~exists().where(earlier.c.id == history.c.id, earlier.c.until > version, earlier.c.until < history.c.until),
        )
        query = union_all(
            select(words.c.id).where(words.c.version <= version, condition(words)),
            select(history.c.id).where(*is_state, condition(history)),
        )
        async with self._database.read_transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def stream_packed(self, version: int) -> AsyncIterator[Sequence[tuple[int, bytes]]]:
        """All events as they are kept, many at a time: for orderings by what the index does not hold.

        These are not kept for earlier versions: who lags behind has to catch up first.
        """
        async with snapshot(self._database) as state:
            if (await _load_index_version(state)).version != version:
                raise SnapshotExpired
            async for some in state.batches(select(events.c.id, events.c.packed)):
                yield [(row[0], row[1]) for row in some]

    # One event

    async def by_id(self, id_: int) -> Event | None:
        row = await self._by_id.first(id=id_) if id_ < 2**63 else None
        return None if row is None else unpack(row[0])

    async def by_slug(self, slug: str) -> Event | None:
        row = await self._by_slug.first(slug=slug)
        return None if row is None else unpack(row[0])

    async def list_deleted(self, since: datetime | None, scope: ViewerScope, page: PageRequest) -> RowPage:
        """Events a caller could see in lists and no longer can, the first first."""
        is_kept = and_(deleted.c.kept_visibility.is_not(None), _visible_condition(scope, "kept_"))
        query = select(deleted.c.id, deleted.c.deleted_at).where(_visible_condition(scope), ~is_kept)
        if since is not None:
            query = query.where(deleted.c.deleted_at >= since)
        async with self._database.read_transaction() as connection:
            return await paginate(connection, query, page, order_by=[deleted.c.deleted_at, deleted.c.id])


class EventWriter:
    """Writes of one transaction, all of one version."""

    def __init__(self, connection: AsyncConnection, data_versions: DataVersions) -> None:
        self._connection = connection
        self._data_versions = data_versions
        self._version = 0

    @property
    def connection(self) -> AsyncConnection:
        """For what is written alongside."""
        return self._connection

    async def upsert(self, new: Sequence[Event], *, is_demo: bool | None = None) -> EventWriteResult:
        """Write events, whole. What is there already in the same state is left alone.

        Unless it is said, an event stays made up or real, and a new one is what the others are: they never mix.
        """
        known = await self._load_packed([event.id for event in new])
        fresh = [(event, packed) for event in new if known.get(event.id) != (packed := pack(event))]
        outcome = EventWriteResult(unchanged=len(new) - len(fresh))
        if not fresh:
            return outcome
        version = await self._next_version()
        old = [event.id for event, _ in fresh if event.id in known]
        numbers = [event.id for event, _ in fresh]
        made_up = await self._demo_ids(numbers, old) if is_demo is None else frozenset(numbers if is_demo else ())
        outcome.changed, outcome.created = len(old), len(fresh) - len(old)
        await self._archive(old, version)
        before = {number: unpack(known[number]) for number in old}
        await self._record_deletions({event.id: (before.get(event.id), event) for event, _ in fresh}, version)
        await self._insert(fresh, version, made_up)
        return outcome

    async def load(self, ids: Sequence[int]) -> dict[int, Event]:
        """The events there are, by id."""
        return {number: unpack(packed) for number, packed in (await self._load_packed(ids)).items()}

    async def ids_by_slug(self, slugs: Sequence[str]) -> dict[str, int]:
        """The ids of the events that have these names in addresses."""
        found: dict[str, int] = {}
        for some in _batches(slugs):
            rows = await self._connection.execute(select(events.c.slug, events.c.id).where(events.c.slug.in_(some)))
            found.update((row.slug, row.id) for row in rows)
        return found

    async def delete(self, ids: Sequence[int]) -> int:
        """Delete events; how many there were."""
        known = await self._load_packed(ids)
        if not known:
            return 0
        version = await self._next_version()
        await self._archive(list(known), version)
        await self._record_deletions({number: (unpack(packed), None) for number, packed in known.items()}, version)
        return len(known)

    async def _record_deletions(self, changes: Mapping[int, tuple[Event | None, Event | None]], version: int) -> None:
        """Let those who saw an event in lists, and see it no longer, learn that it is gone."""
        told: dict[int, tuple[Audience, Audience | None]] = {}
        for some in _batches(list(changes)):
            for row in await self._connection.execute(select(deleted).where(deleted.c.id.in_(some))):
                kept = None if row.kept_visibility is None else _parse_audience(row.kept_visibility, row.kept_countries)
                told[row.id] = _parse_audience(row.visibility, row.countries), kept
        fresh: dict[int, tuple[Audience, Audience | None]] = {}
        for number, (before, after) in changes.items():
            seen = _list_audience(before) if after else before and Audience.of(before.visibility, before.countries)
            if number in told:
                seen = told[number][0] | seen if seen else told[number][0]
            kept = _list_audience(after)
            if seen and not (kept and kept.includes(seen)):
                fresh[number] = seen, kept
        for some in _batches([number for number in told if fresh.get(number) != told[number]]):
            await self._connection.execute(deleted.delete().where(deleted.c.id.in_(some)))
        moment = now()
        rows = [
            {
                "id": number,
                "deleted_at": moment,
                "version": version,
                "visibility": seen.visibility,
                "countries": _join_ids(seen.countries),
                "kept_visibility": kept.visibility if kept else None,
                "kept_countries": _join_ids(kept.countries) if kept else None,
            }
            for number, (seen, kept) in fresh.items()
            if told.get(number) != (seen, kept)
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
        """Which of some events are made up: as before, and as the first and the last one where they are new."""
        ends = [select(events.c.is_demo).order_by(order).limit(1) for order in (events.c.id, events.c.id.desc())]
        found = {(await self._connection.execute(end)).scalar() for end in ends}
        made_up = set(ids).difference(existing_ids) if found == {True} else set()
        for some in _batches(existing_ids):
            rows = await self._connection.execute(select(events.c.id).where(events.c.id.in_(some), events.c.is_demo))
            made_up.update(rows.scalars())
        return frozenset(made_up)

    async def _load_packed(self, ids: Sequence[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for some in _batches(ids):
            rows = await self._connection.execute(select(events.c.id, events.c.packed).where(events.c.id.in_(some)))
            found.update((row.id, bytes(row.packed)) for row in rows)
        return found

    async def _archive(self, ids: Sequence[int], version: int) -> None:
        """Take the present state away, and keep it for readers who still answer from the version before."""
        moment = now()
        await self._connection.execute(history.delete().where(history.c.at < moment - HISTORY_RETENTION))
        for some in _batches(ids):
            before = select(
                documents.c.id, literal(version), literal(moment, history.c.at.type), documents.c.document,
                words.c.names, words.c.glide, words.c.appeal_codes,
            ).join_from(documents, words, words.c.id == documents.c.id)  # fmt: skip
            names = ["id", "until", "at", "document", "names", "glide", "appeal_codes"]
            await self._connection.execute(
                insert(history).from_select(
                    names, before.where(documents.c.id.in_(some), documents.c.version < version)
                )
            )
            for table in (documents, words, events):
                await self._connection.execute(table.delete().where(table.c.id.in_(some)))

    async def _insert(self, fresh: Sequence[tuple[Event, bytes]], version: int, demo_ids: frozenset[int]) -> None:
        for slug in await self.ids_by_slug([event.slug for event, _ in fresh if event.slug is not None]):
            raise SlugTaken(slug)
        await insert_rows(
            self._connection,
            events,
            [
                {
                    "id": event.id,
                    "version": version,
                    "slug": event.slug,
                    "parent_event": event.parent_event,
                    "visibility": event.visibility,
                    "start": Timestamp.pack(event.disaster_start_date),
                    "created": Timestamp.pack(event.created_at),
                    "updated": Timestamp.pack(event.updated_at),
                    "facets": event_facets(event),
                    "is_demo": event.id in demo_ids,
                    "packed": packed,
                }
                for event, packed in fresh
            ],
        )
        await insert_rows(
            self._connection,
            documents,
            [{"id": event.id, "version": version, "document": build_list_template(event)} for event, _ in fresh],
        )
        await insert_rows(
            self._connection,
            words,
            [
                {
                    "id": event.id,
                    "version": version,
                    "names": NAME_SEPARATOR.join(dict.fromkeys(map(fold_text, event.name.values()))),
                    "glide": event.glide,
                    "appeal_codes": ","
                    + ",".join(appeal.code.upper() for appeal in event.appeals if appeal.code)
                    + ",",
                }
                for event, _ in fresh
            ],
        )


_SELECT_INDEX_ROWS = select(events.c.id, events.c.start, events.c.created, events.c.updated, events.c.facets)


def _list_audience(event: Event | None) -> Audience | None:
    """By whom an event is seen in lists, if at all."""
    return None if event is None or event.parent_event is not None else Audience.of(event.visibility, event.countries)


def _join_ids(ids: Iterable[int]) -> str:
    return "," + ",".join(map(str, sorted(ids))) + ","


def _parse_audience(visibility: int, countries: str) -> Audience:
    return Audience.of(visibility, (int(number) for number in countries.split(",") if number))


def _visible_condition(scope: ViewerScope, prefix: str = "") -> ColumnElement[bool]:
    """Whether a caller sees what is gone, by what it was, or what is kept of it."""
    visibility, countries = deleted.c[prefix + "visibility"], deleted.c[prefix + "countries"]
    seen: ColumnElement[bool] = visibility.in_(sorted(scope.levels))
    for country in scope.countries:
        seen = or_(seen, and_(visibility == SOCIETIES, countries.contains(f",{country},")))
    return seen


async def _load_index_version(state: Snapshot) -> IndexVersion:
    rows = await state.rows(select(topic_versions.c.topic, topic_versions.c.version))
    found = {row[0]: row[1] for row in rows}
    return IndexVersion(found.get(TOPIC, 0), found.get(REBUILD_TOPIC, 0))


def _batches(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), BATCH_SIZE):
        yield values[start : start + BATCH_SIZE]
