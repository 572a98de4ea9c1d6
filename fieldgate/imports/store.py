"""SQL for imports: creating and listing them, the job queue of the workers, storing results."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import Delete, Select, bindparam, exists, func, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from fieldgate.accounts.tables import with_service_accounts
from fieldgate.assets.tables import files, versions
from fieldgate.db import AsyncDatabase, DataVersions, PreparedPage, PreparedQuery, new_uid, now
from fieldgate.errors import Unauthorized
from fieldgate.imports.leases import ImportLeases, Job, LostLease
from fieldgate.imports.tables import imports
from fieldgate.imports.upload import IdempotencyKeyReused, ImportOptions, NewImport
from fieldgate.pagination import PageRequest

TOPIC = "imports"
PROCESSING: Literal["processing"] = "processing"
COMPLETE, ERROR = "complete", "error"
FORM_EXISTS = "form_exists"  # the error type of an import that asks whether it is a new version
BATCH_SIZE = 200  # rows deleted in one transaction
LARGE_FILE_BYTES = 1024 * 1024
MAX_LARGE_WRITES = 2  # large files that are in memory to be written to PostgreSQL, per process


class ImportRow(NamedTuple):
    """A row as the drivers return it: `messages` is JSON text, `created_at` and `is_library` are stored numbers."""

    uid: str
    status: Literal["processing", "complete", "error"]
    messages: str
    created_at: int
    filename: str
    destination_uid: str | None
    is_library: int
    desired_type: str


class ImportStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._large_writes: AbstractAsyncContextManager[Any] = (
            nullcontext() if database.is_sqlite else asyncio.Semaphore(MAX_LARGE_WRITES)
        )
        self.leases = ImportLeases(database)
        self._list_queries = {
            (by_status, descending): PreparedPage(
                database,
                _list_query(by_status=by_status),
                (imports.c.created_at, imports.c.uid),
                descending=descending,
            )
            for by_status in (False, True)
            for descending in (False, True)
        }
        matches_uid = imports.c.user_id == bindparam("user_id"), imports.c.uid == bindparam("uid")
        self._by_uid = PreparedQuery(database, select(*_ROW_COLUMNS).where(*matches_uid))
        matches_key = (
            imports.c.user_id == bindparam("user_id"),
            imports.c.retry_key == bindparam("retry_key"),
        )
        self._by_idempotency_key = PreparedQuery(
            database, select(imports.c.uid, imports.c.retry_digest).where(*matches_key)
        )

    async def create(self, user_id: int, new_import: NewImport, retry_key: str | None) -> str:
        """Store an import durably and return its uid; the uid of the first import if the key was used before."""
        uid = new_uid("i")
        row = {
            "uid": uid,
            "user_id": user_id,
            "status": PROCESSING,
            "filename": new_import.filename,
            **{name: getattr(new_import, name) for name in ImportOptions.__struct_fields__},
            "messages": {"updated": []},
            "attempts": 0,
            "busy_tries": 0,
            "retry_key": retry_key,
            "retry_digest": None if retry_key is None else new_import.digest,
        }

        def write(connection: Connection) -> None:
            # A file on disk is loaded here: SQLite has one writer at a time, and for PostgreSQL there is a limit.
            file_id = connection.execute(
                _INSERT_FILE, {"name": new_import.filename, "data": new_import.data}
            ).scalar_one()
            # The time is taken inside the transaction, so that times are in the order of commits.
            connection.execute(_INSERT_IMPORT, {**row, "file_id": file_id, "created_at": now()})
            self._data_versions.bump_sync(connection, TOPIC)

        try:
            async with (
                self._large_writes if new_import.file.size > LARGE_FILE_BYTES else nullcontext()
            ):
                await self._database.write(write)
        except IntegrityError:
            # Another request with the same key was committed first.
            if retry_key is not None and (
                known := await self.find_by_idempotency_key(user_id, retry_key, new_import.digest)
            ):
                return known
            raise Unauthorized from None  # the account was deleted since the request was authenticated
        return uid

    async def find_by_idempotency_key(
        self, user_id: int, retry_key: str, digest: bytes
    ) -> str | None:
        """Return the import this key was used for. Raise IdempotencyKeyReused if its content was different."""
        row = await self._by_idempotency_key.first(user_id=user_id, retry_key=retry_key)
        if row is None:
            return None
        uid, known_digest = row
        if known_digest != digest:
            raise IdempotencyKeyReused
        return str(uid)

    async def is_queue_full(self, user_id: int, most: int) -> bool:
        """Whether a user has this many unfinished imports, with service accounts."""
        is_theirs = imports.c.user_id.in_(with_service_accounts(user_id))
        waiting = select(imports.c.id).where(is_theirs, imports.c.status == PROCESSING)
        return len(await self._database.all(waiting.limit(most))) == most

    async def count_stored_bytes(self, user_id: int) -> int:
        """Return how many bytes the files of a user's imports have, without those that are files of versions."""
        is_used = exists().where(versions.c.file_id == files.c.id)
        query = (
            select(func.sum(func.length(files.c.data)))
            .join_from(imports, files, files.c.id == imports.c.file_id)
            .where(imports.c.user_id.in_(with_service_accounts(user_id)), ~is_used)
        )
        return int(await self._database.scalar(query) or 0)

    async def list_for_user(
        self, user_id: int, status: str | None, ordering: str, page: PageRequest
    ) -> tuple[int, Sequence[ImportRow]]:
        """Return the number of imports of a user and a page of them."""
        query = self._list_queries[status is not None, ordering.startswith("-")]
        count, rows = await query.load(page, user_id=user_id, status=status)
        return count, [ImportRow(*row) for row in rows]

    async def get_for_user(self, user_id: int, uid: str) -> ImportRow | None:
        row = await self._by_uid.first(user_id=user_id, uid=uid)
        return None if row is None else ImportRow(*row)

    async def get_warnings_of_version(
        self, asset_id: int, version_uid: str
    ) -> list[dict[str, Any]] | None:
        """Return the warnings of a version, or of the import that it comes from; None if there is no such version."""
        query = (
            select(versions.c.warnings, imports.c.messages)
            .select_from(versions)
            .outerjoin(
                imports, (imports.c.file_id == versions.c.file_id) & (imports.c.status == COMPLETE)
            )
            .where(versions.c.asset_id == asset_id, versions.c.uid == version_uid)
            .order_by(imports.c.id.desc())
        )
        row = await self._database.first(query.limit(1))
        if row is None:
            return None
        found: list[dict[str, Any]] = row.warnings or (row.messages or {}).get("warnings", [])
        return found

    async def get_excerpts_for_user(self, user_id: int, uid: str) -> list[dict[str, Any]] | None:
        """Return the rows that problems and warnings are about; None if the user has no such import."""
        query = select(imports.c.excerpts).where(imports.c.user_id == user_id, imports.c.uid == uid)
        row = await self._database.first(query)
        return None if row is None else row.excerpts or []

    async def get_file_for_user(self, user_id: int, uid: str) -> bytes | None:
        """Return the file that was imported."""
        query = (
            select(files.c.data)
            .join_from(imports, files, files.c.id == imports.c.file_id)
            .where(imports.c.user_id == user_id, imports.c.uid == uid)
        )
        data = await self._database.scalar(query)
        return None if data is None else bytes(data)

    async def answer(self, user_id: int, uid: str, destination_uid: str | None) -> bool:
        """Queue an import that ended with the question whether its form exists already. Return whether it did."""
        asks = imports.c.messages["error_type"].as_string() == FORM_EXISTS
        queued = (
            imports.update()
            .where(
                imports.c.user_id == user_id, imports.c.uid == uid, imports.c.status == ERROR, asks
            )
            .values(
                status=PROCESSING,
                destination_uid=destination_uid,
                asks_if_exists=False,
                messages={"updated": []},
                excerpts=None,
                claimed_at=None,  # the time until the answer is not one of a worker
                finished_at=None,
                attempts=0,
                busy_tries=0,
            )
        )
        async with self._database.transaction() as connection:
            if not (await connection.execute(queued)).rowcount:
                return False
            await self._data_versions.bump(connection, TOPIC)
            return True

    # For workers

    def finish(
        self,
        connection: Connection,
        job: Job,
        status: str,
        messages: dict[str, Any],
        *topics: str,
        excerpts: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Store the result, in the transaction that writes the assets. Raise LostLease if another worker has it."""
        done = connection.execute(
            imports.update()
            .where(
                imports.c.id == job.id, imports.c.lease == job.lease, imports.c.status == PROCESSING
            )
            .values(
                status=status,
                messages=messages,
                excerpts=list(excerpts),
                finished_at=self._database.current_time(),
                lease=None,
                lease_until=None,
            )
        )
        if not done.rowcount:
            raise LostLease
        self._data_versions.bump_sync(connection, TOPIC, *topics)

    async def postpone(self, job: Job, messages: dict[str, Any], delay: timedelta) -> None:
        """Put an import back into the queue, to be claimed after a delay. Its time counts, but not as an attempt."""
        postponed = (
            imports.update()
            .where(
                imports.c.id == job.id, imports.c.lease == job.lease, imports.c.status == PROCESSING
            )
            .values(
                messages=messages,
                finished_at=self._database.current_time(),
                lease=None,
                lease_until=self._database.current_time(delay),
                attempts=imports.c.attempts - 1,
                busy_tries=imports.c.busy_tries + 1,
            )
        )
        async with self._database.transaction() as connection:
            if not (await connection.execute(postponed)).rowcount:
                raise LostLease
            await self._data_versions.bump(connection, TOPIC)

    async def purge(self, before: datetime) -> int:
        """Delete imports finished before a time, and files without references. Return the number of imports."""
        old = (
            select(imports.c.id)
            .where(imports.c.finished_at < before, imports.c.status != PROCESSING)
            .order_by(imports.c.id)
            .limit(BATCH_SIZE)
        )
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
        while deleted := await self._delete(imports.delete().where(imports.c.id.in_(old)), TOPIC):
            count += deleted
        while await self._delete(files.delete().where(files.c.id.in_(unused))):
            pass
        return count

    async def _delete(self, statement: Delete, *topics: str) -> int:
        """Delete one batch in a short transaction of its own. Return the number of rows."""
        async with self._database.transaction() as connection:
            count = (await connection.execute(statement)).rowcount
            if count:
                await self._data_versions.bump(connection, *topics)
            return count


_INSERT_FILE = files.insert().returning(files.c.id)
_INSERT_IMPORT = imports.insert().inline()
_ROW_COLUMNS = tuple(imports.c[name] for name in ImportRow._fields)


def _list_query(*, by_status: bool) -> Select[Any]:
    conditions = [imports.c.user_id == bindparam("user_id")]
    if by_status:
        conditions.append(imports.c.status == bindparam("status"))
    return select(*_ROW_COLUMNS).where(*conditions)
