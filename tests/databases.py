"""Databases for tests. Migrations are run once on each kind; every other database is a copy of what they made."""

import secrets
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg
from sqlalchemy import make_url

from fieldgate.db import IDENTITY_TOPIC, Database
from fieldgate.db.schema import upgrade

_migrated_files: list[bytes] = []
_migrated_on: dict[str, str] = {}


async def prepare(database: Database) -> None:
    """Have the tables made, as `fieldgate migrate` does; where there is no file of SQLite yet, by copying one."""
    if database.is_sqlite:
        _copy(await _migrated_file(), Path(str(database.url.database)))
    await upgrade(database)


@asynccontextmanager
async def on_postgres(address: str, is_empty: bool) -> AsyncIterator[str]:
    """The address of a new database on the server, without tables or with all of them."""
    template = "template1" if is_empty else await _template_on(address)
    name = f"test_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(address)
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    own = make_url(address).set(database=name).render_as_string(hide_password=False)
    if not is_empty:
        copy = await asyncpg.connect(own)
        await copy.execute(_anew())
        await copy.close()
    yield own
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


def _copy(content: bytes, file: Path) -> None:
    if not file.exists():
        file.write_bytes(content)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(_anew())


def _anew() -> str:
    """What makes a copy another database: an identity of its own."""
    return f"UPDATE changes SET version = {secrets.randbits(62)} WHERE topic = '{IDENTITY_TOPIC}'"


async def _migrated_file() -> bytes:
    if not _migrated_files:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "fieldgate.db"
            database = Database(f"sqlite:///{file}")
            await upgrade(database)
            await database.close()
            _migrated_files.append(file.read_bytes())
    return _migrated_files[0]


async def _template_on(address: str) -> str:
    if address not in _migrated_on:
        connection = await asyncpg.connect(address)
        await connection.execute("CREATE DATABASE migrated")
        await connection.close()
        database = Database(make_url(address).set(database="migrated").render_as_string(hide_password=False))
        await upgrade(database)
        await database.close()
        _migrated_on[address] = "migrated"
    return _migrated_on[address]
