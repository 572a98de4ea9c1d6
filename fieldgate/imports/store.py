"""All SQL about imports: taking them in, handing them out to workers, and writing down what came of them."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Delete, Select, TextClause, bindparam, exists, func, or_, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, files, versions
from fieldgate.db import Database, DataVersions, PreparedPage, PreparedQuery, new_uid, now
from fieldgate.imports.tables import IS_PROCESSING, imports
from fieldgate.imports.upload import IdempotencyKeyReused, NewImport
from fieldgate.pagination import PageRequest

TOPIC = "imports"
PROCESSING: Literal["processing"] = "processing"
COMPLETE, ERROR = "complete", "error"
BATCH_SIZE = 200  # rows deleted in one transaction
MAX_CANDIDATE_USERS = 20  # users looked at when claiming an import


class LostLease(Exception):
    """Somebody else works on the import by now; what we made of it is not wanted."""


class ImportRow(NamedTuple):
    """An import as it is shown, with values as the drivers have them: `messages` is JSON, `created_at` a count."""

    uid: str
    status: Literal["processing", "complete", "error"]
    messages: str
    created_at: int
    filename: str


class Job(msgspec.Struct, frozen=True):
    """An import in the hands of a worker."""

    id: int
    uid: str
    user_id: int
    username: str
    lease: str
    attempts: int
    name: str
    is_library: bool
    desired_type: str
    destination_uid: str | None
    file_id: int
    filename: str
    data: bytes
    title: str  # of the asset that it becomes, unless the form has one of its own


class ImportStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._list_queries = {
            (by_status, descends): PreparedPage(
                database, _list_query(by_status=by_status), (imports.c.created_at, imports.c.uid), descending=descends
            )
            for by_status in (False, True)
            for descends in (False, True)
        }
        is_one = imports.c.user_id == bindparam("user_id"), imports.c.uid == bindparam("uid")
        self._by_uid = PreparedQuery(database, select(*_ROW_COLUMNS).where(*is_one))
        has_key = imports.c.user_id == bindparam("user_id"), imports.c.retry_key == bindparam("retry_key")
        self._by_idempotency_key = PreparedQuery(
            database, select(imports.c.uid, imports.c.retry_digest).where(*has_key)
        )

    async def create(self, user_id: int, new_import: NewImport, retry_key: str | None) -> str:
        """The uid of a new import, committed and synced; of the first one where the key was used before."""
        if retry_key is not None and (
            known := await self.find_by_idempotency_key(user_id, retry_key, new_import.digest)
        ):
            return known
        uid = new_uid("i")
        row = {
            "uid": uid,
            "user_id": user_id,
            "status": PROCESSING,
            "filename": new_import.filename,
            "name": new_import.name,
            "is_library": new_import.is_library,
            "desired_type": new_import.desired_type,
            "destination_uid": new_import.destination_uid,
            "messages": {"updated": []},
            "attempts": 0,
            "retry_key": retry_key,
            "retry_digest": None if retry_key is None else new_import.digest,
        }

        def write(connection: Connection) -> None:
            file_id = connection.execute(
                _INSERT_FILE, {"name": new_import.filename, "data": new_import.data}
            ).scalar_one()
            # The moment is taken here, so that moments run in the order of commits.
            connection.execute(_INSERT_IMPORT, {**row, "file_id": file_id, "created_at": now()})
            self._data_versions.bump_sync(connection, TOPIC)

        try:
            await self._database.write(write)
        except IntegrityError:
            # The same key at the same moment: the other one was first.
            if retry_key is not None and (
                known := await self.find_by_idempotency_key(user_id, retry_key, new_import.digest)
            ):
                return known
            raise
        return uid

    async def find_by_idempotency_key(self, user_id: int, retry_key: str, digest: bytes) -> str | None:
        """The import this key was used for; refused where something else came with it."""
        row = await self._by_idempotency_key.first(user_id=user_id, retry_key=retry_key)
        if row is None:
            return None
        uid, known_digest = row
        if known_digest != digest:
            raise IdempotencyKeyReused
        return str(uid)

    async def list_for_user(
        self, user_id: int, status: str | None, ordering: str, page: PageRequest
    ) -> tuple[int, Sequence[ImportRow]]:
        """How many imports a user has, and a page of them."""
        query = self._list_queries[status is not None, ordering.startswith("-")]
        count, rows = await query.load(page, user_id=user_id, status=status)
        return count, [ImportRow(*row) for row in rows]

    async def get_for_user(self, user_id: int, uid: str) -> ImportRow | None:
        row = await self._by_uid.first(user_id=user_id, uid=uid)
        return None if row is None else ImportRow(*row)

    # For workers

    async def claim(self, lease_for: timedelta) -> Job | None:
        """An import nobody works on: the oldest of the user whose turn it is, so that many files hold nobody up."""
        async with self._database.read_transaction() as connection:
            waiting = (await connection.execute(self._users_in_turn())).scalars().all()
        lease = secrets.token_hex(16)
        number: int | None = None
        if waiting:
            async with self._database.transaction() as connection:
                for user_id in waiting:
                    number = await self._lease_next(connection, user_id, lease, lease_for)
                    if number is not None:
                        break
        # The file is read when the lease is committed: nobody waits for a lock while megabytes travel.
        return None if number is None else await self._load_job(number, lease)

    def _users_in_turn(self) -> Select[int]:
        """Users with something to do, those served longest ago first."""
        first = (
            select(imports.c.user_id, func.min(imports.c.id).label("id"))
            .where(*_is_claimable(self._database.current_time()))
            .group_by(imports.c.user_id)
            .subquery()
        )
        earlier = imports.alias()
        served = select(func.max(earlier.c.claimed_at)).where(earlier.c.user_id == first.c.user_id).scalar_subquery()
        return select(first.c.user_id).order_by(func.coalesce(served, 0), first.c.id).limit(MAX_CANDIDATE_USERS)

    async def _lease_next(
        self, connection: AsyncConnection, user_id: int, lease: str, lease_for: timedelta
    ) -> int | None:
        """The user's oldest import that is free. One that another worker is about to take is left to it."""
        clock = self._database.current_time
        oldest = (
            select(imports.c.id).where(imports.c.user_id == user_id, *_is_claimable(clock())).order_by(imports.c.id)
        )
        found = await connection.execute(oldest.limit(1).with_for_update(skip_locked=True))
        number: int | None = found.scalar_one_or_none()
        if number is not None:
            await connection.execute(
                imports.update()
                .where(imports.c.id == number)
                .values(lease=lease, lease_until=clock(lease_for), claimed_at=clock(), attempts=imports.c.attempts + 1)
            )
        return number

    async def _load_job(self, import_id: int, lease: str) -> Job | None:
        """None where the user is deleted in this very moment, and the import with it."""
        query = (
            select(imports, users.c.username, files.c.data, assets.c.name.label("asset_name"))
            .join_from(imports, users, users.c.id == imports.c.user_id)
            .join(files, files.c.id == imports.c.file_id)
            .outerjoin(assets, assets.c.uid == imports.c.destination_uid)
            .where(imports.c.id == import_id)
        )
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return None
        return Job(
            id=row.id,
            uid=row.uid,
            user_id=row.user_id,
            username=row.username,
            lease=lease,
            attempts=row.attempts,
            name=row.name,
            is_library=row.is_library,
            desired_type=row.desired_type,
            destination_uid=row.destination_uid,
            file_id=row.file_id,
            filename=row.filename,
            data=bytes(row.data),
            title=row.asset_name or row.name,
        )

    async def renew(self, job: Job, lease_for: timedelta) -> None:
        """Say that we still work on it."""
        async with self._database.transaction() as connection:
            renewed = imports.update().where(imports.c.id == job.id, imports.c.lease == job.lease)
            if not (
                await connection.execute(renewed.values(lease_until=self._database.current_time(lease_for)))
            ).rowcount:
                raise LostLease

    async def finish(
        self, connection: AsyncConnection, job: Job, status: str, messages: dict[str, Any], *topics: str
    ) -> None:
        """The end of an import, in the transaction that writes its assets; refused to who lost the lease."""
        done = await connection.execute(
            imports.update()
            .where(imports.c.id == job.id, imports.c.lease == job.lease, imports.c.status == PROCESSING)
            .values(status=status, messages=messages, finished_at=now(), lease=None, lease_until=None)
        )
        if not done.rowcount:
            raise LostLease
        await self._data_versions.bump(connection, TOPIC, *topics)

    async def purge(self, before: datetime) -> int:
        """Remove imports that were finished long ago, and files that nothing refers to any more."""
        old = select(imports.c.id).where(imports.c.finished_at < before).order_by(imports.c.id).limit(BATCH_SIZE)
        unused = (
            select(files.c.id)
            .where(
                ~exists().where(imports.c.file_id == files.c.id),
                ~exists().where(versions.c.file_id == files.c.id),
            )
            .order_by(files.c.id)
            .limit(BATCH_SIZE)
        )
        count = 0
        while gone := await self._delete(imports.delete().where(imports.c.id.in_(old)), TOPIC):
            count += gone
        while await self._delete(files.delete().where(files.c.id.in_(unused))):
            pass
        return count

    async def _delete(self, statement: Delete, *topics: str) -> int:
        """How many went, in a transaction short enough for everybody else to have a turn."""
        async with self._database.transaction() as connection:
            count = (await connection.execute(statement)).rowcount
            if count:
                await self._data_versions.bump(connection, *topics)
            return count


_INSERT_FILE = files.insert().returning(files.c.id)
_INSERT_IMPORT = imports.insert().inline()
_ROW_COLUMNS = tuple(imports.c[name] for name in ImportRow._fields)


def _list_query(*, by_status: bool) -> Select[Any]:
    wanted = [imports.c.user_id == bindparam("user_id")]
    if by_status:
        wanted.append(imports.c.status == bindparam("status"))
    return select(*_ROW_COLUMNS).where(*wanted)


def _is_claimable(timestamp: ColumnElement[datetime]) -> tuple[TextClause, ColumnElement[bool]]:
    return IS_PROCESSING, or_(imports.c.lease_until.is_(None), imports.c.lease_until < timestamp)
