"""Leases of imports: a worker claims an import from the queue for a time, renews the claim, or loses it to another."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import BigInteger, ColumnElement, Select, TextClause, func, or_, select, type_coerce
from sqlalchemy.engine import Connection

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, files
from fieldgate.db import AsyncDatabase, ClockTime, new_uid
from fieldgate.identity import User
from fieldgate.imports.tables import IS_PROCESSING, imports

MAX_CANDIDATE_USERS = 20  # users looked at when claiming an import
COUNTED_TIME = timedelta(minutes=10)  # what a user's imports took before that does not count
# What a worker takes that must be free soon.
MAX_QUICK_BYTES = 256 * 1024
MAX_QUICK_TIME = timedelta(seconds=3)  # of all imports of a user lately

_MICROSECOND = timedelta(microseconds=1)


class LostLease(Exception):
    """Another worker has claimed the import; the result is discarded."""


class Job(msgspec.Struct, frozen=True):
    """An import claimed by a worker, with its file. The first fields are columns."""

    id: int
    uid: str
    user_id: int
    attempts: int
    busy_tries: int
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
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def claim(self, lease_for: timedelta, *, only_quick: bool = False) -> Job | None:
        """Lease the oldest free import of the user who used workers least, so that no user delays the others.

        Imports that were tried on a busy machine come after those that were not. With `only_quick`, these imports,
        large files, and users whose imports took long lately are left to other workers.
        """
        user_ids = [
            row.user_id
            for row in await self._database.all(self._users_in_turn(only_quick=only_quick))
        ]
        if not user_ids:
            return None
        lease = secrets.token_hex(16)
        import_id = await self._database.write(
            partial(self.lease_next, user_ids, lease, lease_for, only_quick=only_quick)
        )
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

    def lease_next(
        self,
        user_ids: Iterable[int],
        lease: str,
        lease_for: timedelta,
        connection: Connection,
        *,
        only_quick: bool = False,
    ) -> int | None:
        """Lease the oldest free import of the first user who has one. Return its id."""
        clock = self._database.current_time
        for user_id in user_ids:
            # Those that other workers are claiming are skipped.
            oldest = (
                select(imports.c.id)
                .where(imports.c.user_id == user_id, *self._is_claimable(only_quick=only_quick))
                .order_by(imports.c.busy_tries, imports.c.id)
                .limit(1)
                .with_for_update(skip_locked=True)
            )
            leased = (
                imports.update()
                .where(imports.c.id == oldest.scalar_subquery())
                .values(
                    lease=lease,
                    lease_until=clock(lease_for),
                    claimed_at=clock(),
                    finished_at=None,  # of the try before
                    attempts=imports.c.attempts + 1,
                )
            )
            import_id: int | None = connection.execute(leased.returning(imports.c.id)).scalar()
            if import_id is not None:
                return import_id
        return None

    async def load_claimed(self, import_id: int) -> Sequence[Any] | None:
        """Load an import with its file."""
        own = [
            imports.c[name]
            for name in Job.__struct_fields__
            if name in imports.c and name != "lease"
        ]
        query: Select[Any] = (
            select(*own, users.c.username, users.c.uid, files.c.data, assets.c.name)
            .join_from(imports, users, users.c.id == imports.c.user_id)
            .join(files, files.c.id == imports.c.file_id)
            .outerjoin(assets, assets.c.uid == imports.c.destination_uid)
            .where(imports.c.id == import_id)
        )
        return await self._database.first(query)

    def _users_in_turn(self, *, only_quick: bool) -> Select[Any]:
        """Users with imports to process, first the one whose imports took least time of workers lately.

        Service accounts count with their owner.
        """
        owner_id = func.coalesce(users.c.owner_id, users.c.id).label("owner_id")
        first = (
            select(
                imports.c.user_id,
                owner_id,
                func.min(imports.c.busy_tries).label("busy_tries"),
                func.min(imports.c.id).label("id"),
            )
            .join_from(imports, users, users.c.id == imports.c.user_id)
            .where(*self._is_claimable(only_quick=only_quick))
            .group_by(imports.c.user_id, owner_id)
            .subquery()
        )
        account = users.alias()
        is_theirs = or_(account.c.id == first.c.owner_id, account.c.owner_id == first.c.owner_id)
        earlier, current_time = imports.alias(), type_coerce(ClockTime(), BigInteger)
        begin, end = (
            type_coerce(earlier.c[name], BigInteger) for name in ("claimed_at", "finished_at")
        )
        times = select(func.coalesce(end, current_time) - begin).where(
            earlier.c.user_id.in_(select(account.c.id).where(is_theirs).correlate(first)),
            begin > current_time - COUNTED_TIME // _MICROSECOND,
        )
        [time] = times.selected_columns
        used, longest = (
            func.coalesce(times.with_only_columns(of_all(time)).scalar_subquery(), 0)
            for of_all in (func.sum, func.max)
        )
        query = (
            select(first.c.user_id)
            .order_by(used, first.c.busy_tries, first.c.id)
            .limit(MAX_CANDIDATE_USERS)
        )
        return query.where(longest <= MAX_QUICK_TIME // _MICROSECOND) if only_quick else query

    def _is_claimable(self, *, only_quick: bool) -> tuple[TextClause | ColumnElement[bool], ...]:
        is_free = or_(
            imports.c.lease_until.is_(None), imports.c.lease_until < self._database.current_time()
        )
        if not only_quick:
            return IS_PROCESSING, is_free
        size = (
            select(func.length(files.c.data))
            .where(files.c.id == imports.c.file_id)
            .scalar_subquery()
        )
        return IS_PROCESSING, is_free, imports.c.busy_tries == 0, size <= MAX_QUICK_BYTES
