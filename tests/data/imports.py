"""Imports of a test: stored without a request, looked at, and processed by a worker."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, select

from fieldgate.assets.tables import files
from fieldgate.db import new_uid, now
from fieldgate.imports.tables import imports
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import Service
from tests.data.sql import UsesDatabase, all_rows, write_sql


def import_worker(service: Service, *, only_quick: bool = False, **settings: Any) -> ImportWorker:
    """A worker that processes the imports of a service, in this process."""
    return ImportWorker(Settings(**settings), service.database, only_quick=only_quick)


def store_import(database: str | UsesDatabase, user_id: int, filename: str, data: bytes) -> str:
    """Put a file into the queue, as a request does, and return the uid of the import."""
    uid = new_uid("i")
    with write_sql(database, "imports") as connection:
        new_file = files.insert().values(name=filename, data=data)
        file_id = connection.execute(new_file.returning(files.c.id)).scalar_one()
        new_import = imports.insert().values(
            uid=uid,
            user_id=user_id,
            status="processing",
            filename=filename,
            file_id=file_id,
            name="",
            is_library=False,
            desired_type="",
            asks_if_exists=False,
            messages={"updated": []},
            created_at=now(),
            attempts=0,
            busy_tries=0,
        )
        connection.execute(new_import)
    return uid


def all_imports(database: str | UsesDatabase) -> Sequence[Row[Any]]:
    """The rows of all imports, oldest first."""
    return all_rows(database, select(imports).order_by(imports.c.id))


def change_imports(database: str | UsesDatabase, **values: Any) -> None:
    """Change columns of all imports that are in the queue."""
    is_queued = imports.c.status == "processing"
    with write_sql(database, "imports") as connection:
        connection.execute(imports.update().where(is_queued).values(values))


def complete_oldest_import(database: str | UsesDatabase) -> str:
    """End the oldest import in the queue without reading its file, and return its uid."""
    oldest = next(row for row in all_imports(database) if row.status == "processing")
    done = imports.update().where(imports.c.id == oldest.id)
    with write_sql(database, "imports") as connection:
        connection.execute(done.values(status="complete", finished_at=now()))
    return str(oldest.uid)


def end_leases(database: str | UsesDatabase) -> None:
    """Let the time of every worker that has an import, or has to wait for one, be over."""
    change_imports(database, lease_until=now() - timedelta(seconds=1))
