"""Leases of imports: a worker claims an import from the queue for a time, renews the claim, or loses it to another."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, TextClause, bindparam, func, or_, select, type_coerce
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningUpdate

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, files
from fieldgate.db import Database, PreparedQuery, Timestamp, new_uid, now
from fieldgate.identity import User
from fieldgate.imports.tables import IS_PROCESSING, imports

MAX_CANDIDATE_USERS = 20  # users looked at when claiming an import
COUNTED_TIME = timedelta(minutes=10)  # what a user's imports took before that does not count

_MICROSECOND = timedelta(microseconds=1)


class LostLease(Exception):
    """Another worker has claimed the import; the result is discarded."""


class Job(msgspec.Struct, frozen=True):
    """An import claimed by a worker, with its file. The first fields are as the drivers return them."""

    id: int
    uid: str
    user_id: int
    attempts: int
    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None
    asks_if_exists: bool
    file_id: int
    filename: str
    username: str  # this and the next three are columns of other tables
    user_uid: str
    data: bytes
    destination_name: str | None
    lease: str
    new_asset_uid: str

    @property
    def user(self) -> User:
        """Who sent the file, for the log."""
        return User(id=self.user_id, username=self.username, uid=self.user_uid, credential="import")

    @property
    def title(self) -> str:
        """That of the asset, unless the form has its own."""
        return self.destination_name or self.name

    @property
    def asset_uid(self) -> str:
        """That of the destination, or of the asset that is created."""
        return self.destination_uid or self.new_asset_uid


class ImportLeases:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._users_in_turn = PreparedQuery(database, users_in_turn_query(database))
        self._lease_oldest = PreparedQuery(database, _lease_oldest(database))
        self._claimed = PreparedQuery(database, _claimed())

    async def claim(self, lease_for: timedelta) -> Job | None:
        """Lease the oldest free import of the user who used workers least, so that no user delays the others."""
        user_ids = await self.users_in_turn()
        if not user_ids:
            return None
        lease = secrets.token_hex(16)
        import_id = await self._database.write(partial(self.lease_next, user_ids, lease, lease_for))
        # The file is loaded after the commit, so that no lock is held meanwhile.
        row = None if import_id is None else await self.load_claimed(import_id)
        if row is None:  # nothing was free, or the user, and so the import, was deleted meanwhile
            return None
        return Job(*(*row, lease, new_uid("a")))

    async def renew(self, job: Job, lease_for: timedelta) -> None:
        """Extend the lease. Raise LostLease if another worker has the import."""
        renewal = (
            imports.update()
            .where(imports.c.id == job.id, imports.c.lease == job.lease)
            .values(lease_until=self._database.current_time(lease_for))
        )
        async with self._database.transaction() as connection:
            if not (await connection.execute(renewal)).rowcount:
                raise LostLease

    async def users_in_turn(self) -> list[int]:
        """Return users with imports to process, first the one whose imports took least time of workers lately."""
        return [user_id for (user_id,) in await self._users_in_turn.all(**_clock())]

    def lease_next(
        self, user_ids: Iterable[int], lease: str, lease_for: timedelta, connection: Connection
    ) -> int | None:
        """Lease the oldest free import of the first user who has one. Return its id."""
        for user_id in user_ids:
            leased = self._lease_oldest.execute(
                connection, of_user=user_id, new_lease=lease, microseconds=lease_for // _MICROSECOND, **_clock()
            )
            if leased:
                return int(leased[0][0])
        return None

    async def load_claimed(self, import_id: int) -> Sequence[Any] | None:
        """Load an import with its file. On SQLite this blocks the event loop, which is the worker's own."""
        return await self._claimed.first(import_id=import_id)


def users_in_turn_query(database: Database) -> Select[Any]:
    first = (
        select(imports.c.user_id, func.min(imports.c.id).label("id"))
        .where(*_is_claimable(database))
        .group_by(imports.c.user_id)
        .subquery()
    )
    earlier, current_time = imports.alias(), _current_time(database)
    begin, end = (type_coerce(earlier.c[name], BigInteger) for name in ("claimed_at", "finished_at"))
    used = (
        select(func.sum(func.coalesce(end, current_time) - begin))
        .where(earlier.c.user_id == first.c.user_id, begin > current_time - COUNTED_TIME // _MICROSECOND)
        .scalar_subquery()
    )
    return select(first.c.user_id).order_by(func.coalesce(used, 0), first.c.id).limit(MAX_CANDIDATE_USERS)


def _lease_oldest(database: Database) -> ReturningUpdate[Any]:
    """Lease the user's oldest free import, skipping those that other workers are claiming."""
    oldest = (
        select(imports.c.id)
        .where(imports.c.user_id == bindparam("of_user"), *_is_claimable(database))
        .order_by(imports.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    current_time = _current_time(database)
    return (
        imports.update()
        .where(imports.c.id == oldest.scalar_subquery())
        .values(
            lease=bindparam("new_lease"),
            lease_until=current_time + bindparam("microseconds", type_=BigInteger),
            claimed_at=current_time,
            attempts=imports.c.attempts + 1,
        )
        .returning(imports.c.id)
    )


def _claimed() -> Select[Any]:
    own = [imports.c[name] for name in Job.__struct_fields__ if name in imports.c and name != "lease"]
    return (
        select(*own, users.c.username, users.c.uid, files.c.data, assets.c.name)
        .join_from(imports, users, users.c.id == imports.c.user_id)
        .join(files, files.c.id == imports.c.file_id)
        .outerjoin(assets, assets.c.uid == imports.c.destination_uid)
        .where(imports.c.id == bindparam("import_id"))
    )


def _is_claimable(database: Database) -> tuple[TextClause, ColumnElement[bool]]:
    expired = type_coerce(imports.c.lease_until, BigInteger) < _current_time(database)
    return IS_PROCESSING, or_(imports.c.lease_until.is_(None), expired)


def _current_time(database: Database) -> ColumnElement[int]:
    """The time as it is stored, on the clock that `Database.current_time` uses."""
    if database.is_sqlite:
        return bindparam("now", type_=BigInteger)
    return type_coerce(database.current_time(), BigInteger)


def _clock() -> dict[str, object]:
    return {"now": Timestamp.pack(now())}
