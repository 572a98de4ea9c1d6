"""The server that each event was pulled from, and what is known about its record there."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import upsert
from fieldgate.events.event_writer import batches
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.events.tables import events, sources

DETAIL_MAX_AGE = timedelta(
    days=7
)  # a detail record is requested again after this, even if the list record is the same


class EventSource(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    source: str
    with_token: bool
    listed_in: int = 0
    digest: bytes = b""
    detail_in: int = 0
    detail_at: datetime | None = None

    def has_fresh_detail(self, state: SyncState) -> bool:
        """Whether a run need not request the detail record again, if the list record is the same."""
        if (
            self.detail_at is None
            or state.began is None
            or state.began - self.detail_at >= DETAIL_MAX_AGE
        ):
            return False
        return self.detail_in == state.run or not state.is_full


class MissingCandidates(msgspec.Struct, frozen=True):
    """Events that a run may delete, and those among them to request by id."""

    total: int  # events that should be in the list
    missing: list[int]  # those of them that are not
    merged: list[int]  # merged here already, so not in lists


async def load_sources(connection: AsyncConnection, ids: Sequence[int]) -> dict[int, EventSource]:
    """The sources of those events that were pulled from any server."""
    found: dict[int, EventSource] = {}
    for some in batches(ids):
        rows = await connection.execute(select(sources).where(sources.c.id.in_(some)))
        found.update(
            (row["id"], EventSource(**{**row, "digest": bytes(row["digest"])}))
            for row in rows.mappings()
        )
    return found


async def save_sources(connection: AsyncConnection, rows: Iterable[EventSource]) -> None:
    if values := [msgspec.structs.asdict(row) for row in rows]:
        await connection.execute(upsert(connection.dialect, sources), values)


async def mark_listed(connection: AsyncConnection, ids: Sequence[int], state: SyncState) -> None:
    """Record that the list has these events, without having saved their records."""
    for some in batches(ids):
        condition = sources.c.id.in_(some), sources.c.source == state.source
        await connection.execute(update(sources).where(*condition).values(listed_in=state.walk))


async def find_unlisted(connection: AsyncConnection, state: SyncState) -> MissingCandidates:
    """Events of this source that the list did not have in this walk and that it has not requested by id yet."""
    total = int((await connection.execute(_eligible_count(state))).scalar_one())
    is_missing = events.c.parent_event.is_(None), sources.c.listed_in != state.walk
    missing = await connection.execute(_eligible_ids(state, *is_missing).order_by(events.c.id))
    is_merged = events.c.parent_event.is_not(None), sources.c.detail_in != state.run, _is_due(state)
    merged = await connection.execute(_eligible_ids(state, *is_merged).order_by(events.c.id))
    return MissingCandidates(total, list(missing.scalars()), list(merged.scalars()))


async def find_deleted(
    connection: AsyncConnection, state: SyncState, ids: Collection[int]
) -> MissingCandidates:
    """Those events of this source that the server lists as deleted."""
    found: set[int] = set()
    for some in batches(sorted(ids)):
        rows = await connection.execute(
            _eligible_ids(state, events.c.parent_event.is_(None), events.c.id.in_(some))
        )
        found.update(rows.scalars())
    total = int((await connection.execute(_eligible_count(state))).scalar_one())
    return MissingCandidates(total, sorted(found), [])


async def still_eligible(
    connection: AsyncConnection, state: SyncState, ids: Sequence[int]
) -> list[int]:
    """Those of the events that this run may still delete."""
    return list((await connection.execute(_eligible_ids(state, events.c.id.in_(ids)))).scalars())


def _is_due(state: SyncState) -> ColumnElement[bool]:
    """Whether the detail record of an event is old enough to request it again."""
    if state.is_full or state.began is None:
        return true()
    return or_(sources.c.detail_at.is_(None), sources.c.detail_at <= state.began - DETAIL_MAX_AGE)


def _eligible(state: SyncState) -> ColumnElement[bool]:
    """Whether this run may delete an event: it is of this source, and a token showed it only if this run has one."""
    is_source = sources.c.source == state.source
    return is_source if state.with_token else and_(is_source, ~sources.c.with_token)


def _eligible_ids(state: SyncState, *conditions: ColumnElement[bool]) -> Select[int]:
    joined = select(events.c.id).join_from(events, sources, sources.c.id == events.c.id)
    return joined.where(_eligible(state), *conditions)


def _eligible_count(state: SyncState) -> Select[int]:
    listable = _eligible_ids(state, events.c.parent_event.is_(None)).subquery()
    return select(func.count()).select_from(listable)
