"""Databases for tests. Migrations run once for each kind of database; all others are copies of the result."""

import asyncio
import secrets
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import make_url, text

from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase
from fieldgate.db.schema import upgrade
from tests.data.sql import UsesDatabase, first_value

_sqlite_templates: list[bytes] = []
_postgres_templates: dict[str, str] = {}


async def prepare_database(database: AsyncDatabase) -> None:
    """Create the tables, as `fieldgate migrate` does. A new SQLite file is copied from a template."""
    if database.is_sqlite:
        _copy_template(await _sqlite_template(), Path(str(database.url.database)))
    await upgrade(database)


async def create_database(database_url: str) -> None:
    """Create the tables of a new database, and its file if it is of SQLite."""
    database = AsyncDatabase(database_url)
    await prepare_database(database)
    await database.close()


def address_of(database: AsyncDatabase) -> str:
    """The URL that opens the database again."""
    return (
        f"sqlite:///{database.url.database}" if database.is_sqlite else database.postgres_url.text
    )


@asynccontextmanager
async def postgres_database(address: str, is_empty: bool) -> AsyncIterator[str]:
    """Create a database on the server, with or without tables, and return its URL."""
    template = "template1" if is_empty else await _postgres_template(address)
    name = f"test_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(address)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    own = make_url(address).set(database=name).render_as_string(hide_password=False)
    if not is_empty:
        copy = await asyncpg.connect(own)
        await copy.execute(_new_identity_sql())
        await copy.close()
    yield own
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


async def wait_for_locks(database: str | UsesDatabase, tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Until each task is done or waits for a lock of PostgreSQL."""
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    async with asyncio.timeout(30):
        while first_value(database, waiting) + sum(task.done() for task in tasks) < len(tasks):
            await asyncio.sleep(0.005)


def _copy_template(content: bytes, file: Path) -> None:
    if not file.exists():
        file.write_bytes(content)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(_new_identity_sql())


def _new_identity_sql() -> str:
    """Return SQL that gives a copied database its own identity."""
    return f"UPDATE changes SET version = {secrets.randbits(62)} WHERE topic = '{IDENTITY_TOPIC}'"


async def _sqlite_template() -> bytes:
    if not _sqlite_templates:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "fieldgate.db"
            database = AsyncDatabase(f"sqlite:///{file}")
            await upgrade(database)
            await database.close()
            _sqlite_templates.append(file.read_bytes())
    return _sqlite_templates[0]


async def _postgres_template(address: str) -> str:
    if address not in _postgres_templates:
        connection = await asyncpg.connect(address)
        await connection.execute("CREATE DATABASE migrated")
        await connection.close()
        database = AsyncDatabase(
            make_url(address).set(database="migrated").render_as_string(hide_password=False)
        )
        await upgrade(database)
        await database.close()
        _postgres_templates[address] = "migrated"
    return _postgres_templates[address]
