"""Progress of a synchronization, stored in the database so that an interrupted run can continue."""

from datetime import datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import Database, upsert
from fieldgate.events.tables import syncs


class SyncState(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    with_token: bool
    finished: datetime | None = None  # start of the last complete run
    began: datetime | None = None  # start of the run under way
    since: datetime | None = None
    is_filtered: bool = False  # the server filters by `since`
    reached: int = 0  # offset up to which the list is saved
    failing: tuple[int, ...] = ()  # ids of events to request again

    def can_resume(self, since: datetime | None, *, is_filtered: bool) -> bool:
        """Whether an interrupted run requested the same."""
        return self.began is not None and (self.since, self.is_filtered) == (since, is_filtered)

    @property
    def is_contiguous(self) -> bool:
        """Whether this run leaves no gap: it pulls everything, or everything since the last complete run."""
        return self.since is None or (self.finished is not None and self.since <= self.finished)


async def load_state(database: Database, source: str, *, with_token: bool) -> SyncState:
    async with database.read_transaction() as connection:
        condition = (syncs.c.source == source) & (syncs.c.with_token == with_token)
        row = (await connection.execute(select(syncs).where(condition))).mappings().first()
    if row is None:
        return SyncState(source=source, with_token=with_token)
    return SyncState(**{**row, "failing": tuple(map(int, row["failing"].split()))})


async def save_state(connection: AsyncConnection, state: SyncState) -> None:
    """Save the state in the transaction that made the progress."""
    values = {**msgspec.structs.asdict(state), "failing": " ".join(map(str, state.failing))}
    await connection.execute(upsert(connection.dialect, syncs), values)
