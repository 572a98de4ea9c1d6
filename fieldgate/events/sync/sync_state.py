"""How far a sync with another server has come, kept in the database: a run that was killed is gone on with."""

from datetime import datetime

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import Database, upsert
from fieldgate.events.tables import syncs


class SyncState(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    with_token: bool
    finished: datetime | None = None
    began: datetime | None = None
    since: datetime | None = None
    is_filtered: bool = False
    reached: int = 0
    failing: tuple[int, ...] = ()

    def can_resume(self, since: datetime | None, *, is_filtered: bool) -> bool:
        """Whether a sync is under way that asked for the same."""
        return self.began is not None and (self.since, self.is_filtered) == (since, is_filtered)

    @property
    def is_contiguous(self) -> bool:
        """Whether with this run everything up to its beginning is pulled: all of it, or since the last whole sync."""
        return self.since is None or (self.finished is not None and self.since <= self.finished)


async def load_state(database: Database, source: str, *, with_token: bool) -> SyncState:
    async with database.read_transaction() as connection:
        condition = (syncs.c.source == source) & (syncs.c.with_token == with_token)
        row = (await connection.execute(select(syncs).where(condition))).mappings().first()
    if row is None:
        return SyncState(source=source, with_token=with_token)
    return SyncState(**{**row, "failing": tuple(map(int, row["failing"].split()))})


async def save_state(connection: AsyncConnection, state: SyncState) -> None:
    """Keep it, as part of the transaction that made the progress."""
    values = {**msgspec.structs.asdict(state), "failing": " ".join(map(str, state.failing))}
    await connection.execute(upsert(connection.dialect, syncs), values)
