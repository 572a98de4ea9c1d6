"""Progress of a synchronization, stored in the database so that an interrupted run can continue."""

from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import AsyncDatabase, upsert
from fieldgate.events.sync.page_reader import ListPosition
from fieldgate.events.tables import syncs


class SyncState(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    with_token: bool
    finished: datetime | None = None  # start of the last complete run
    began: datetime | None = None  # start of the run under way
    since: datetime | None = None
    is_filtered: bool = False  # the server filters by `since`
    is_full: bool = False  # all details are requested
    run: int = 0  # number of the run under way, or of the last one
    walk: int = (
        0  # number of its walk through the list; a list that moves is read again from the start
    )
    reached: int = 0  # offset up to which the list is saved
    last_ids: tuple[Any, ...] = ()  # of the records before `reached`
    failing: tuple[int, ...] = ()  # ids of events to request again

    def can_resume(self, since: datetime | None, *, is_filtered: bool, full: bool) -> bool:
        """Whether an interrupted run requested the same."""
        return self.began is not None and (self.since, self.is_filtered, self.is_full) == (
            since,
            is_filtered,
            full,
        )

    @property
    def is_contiguous(self) -> bool:
        """Whether this run leaves no gap: it pulls everything, or everything since the last complete run."""
        return self.since is None or (self.finished is not None and self.since <= self.finished)

    @property
    def position(self) -> ListPosition:
        return ListPosition(self.reached, self.last_ids)


async def load_state(database: AsyncDatabase, source: str, *, with_token: bool) -> SyncState:
    row = await database.first(
        select(syncs).where(syncs.c.source == source, syncs.c.with_token == with_token)
    )
    if row is None:
        return SyncState(source=source, with_token=with_token)
    failing, last_ids = (
        tuple(map(int, row.failing.split())),
        tuple(msgspec.json.decode(row.last_ids)),
    )
    return SyncState(**{**row._mapping, "failing": failing, "last_ids": last_ids})


async def next_number(database: AsyncDatabase) -> int:
    """A number for a new run or walk, higher than every earlier one with any server."""
    return int(await database.scalar(select(func.max(syncs.c.walk))) or 0) + 1


async def save_state(connection: AsyncConnection, state: SyncState) -> None:
    """Save the state in the transaction that made the progress."""
    last_ids = msgspec.json.encode(state.last_ids).decode()
    values = {
        **msgspec.structs.asdict(state),
        "failing": " ".join(map(str, state.failing)),
        "last_ids": last_ids,
    }
    await connection.execute(upsert(connection.dialect, syncs), values)
