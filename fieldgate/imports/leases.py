"""Leases of imports: the statements with which workers claim imports from the queue. They are compiled once."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Select, TextClause, bindparam, func, or_, select, type_coerce
from sqlalchemy.engine import Connection
from sqlalchemy.sql.dml import ReturningUpdate

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, files
from fieldgate.db import Database, PreparedQuery, Timestamp, now
from fieldgate.imports.tables import IS_PROCESSING, imports

MAX_CANDIDATE_USERS = 20  # users looked at when claiming an import
COUNTED_TIME = timedelta(minutes=10)  # what a user's imports took before that does not count

_MICROSECOND = timedelta(microseconds=1)


class ClaimedRow(NamedTuple):
    """An import with its file, as the drivers return it."""

    id: int
    uid: str
    user_id: int
    attempts: int
    name: str
    is_library: int
    desired_type: str
    destination_uid: str | None
    asks_if_exists: int
    file_id: int
    filename: str
    username: str  # this and what follows are columns of other tables
    data: bytes
    asset_name: str | None  # of the destination


class ClaimQueries:
    def __init__(self, database: Database) -> None:
        self._users_in_turn = PreparedQuery(database, users_in_turn_query(database))
        self._lease_oldest = PreparedQuery(database, _lease_oldest(database))
        self._claimed = PreparedQuery(database, _claimed())

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

    async def load_claimed(self, import_id: int) -> ClaimedRow | None:
        """Load an import with its file. On SQLite this blocks the event loop, which is the worker's own."""
        found = await self._claimed.first(import_id=import_id)
        return None if found is None else ClaimedRow._make(found)


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
    own = [imports.c[name] for name in ClaimedRow._fields if name in imports.c]
    return (
        select(*own, users.c.username, files.c.data, assets.c.name)
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
