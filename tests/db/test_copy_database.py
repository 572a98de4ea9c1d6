"""Copies between databases: every row of every table, in all directions. An interrupted copy leaves nothing."""

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (they register their tables)
from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase, metadata
from fieldgate.db import copy_database as module
from fieldgate.db.copy_database import (
    CopyError,
    CopyResult,
    copy_database,
    insert_rows,
    last_id,
    plain_table,
    set_last_id,
)
from fieldgate.db.database_identity import read_marker
from fieldgate.db.schema import (
    REQUIRED_REVISION,
    SchemaStatus,
    current_revision,
    read_state,
    upgrade,
)
from tests.conftest import new_database
from tests.databases import address_of
from tests.db.generated_rows import generate_rows

TABLES = metadata.sorted_tables
ROWS = 7
DIRECTIONS = [
    pytest.param("sqlite", "postgresql", id="sqlite-to-postgresql"),
    pytest.param("postgresql", "sqlite", id="postgresql-to-sqlite"),
    pytest.param("sqlite", "sqlite", id="sqlite-to-sqlite", marks=pytest.mark.nightly),
    pytest.param(
        "postgresql", "postgresql", id="postgresql-to-postgresql", marks=pytest.mark.nightly
    ),
]

pytestmark = pytest.mark.parametrize(("source_kind", "target_kind"), DIRECTIONS)


CHANGE = """
import asyncio, sys
from sqlalchemy import text
from fieldgate.db import AsyncDatabase

async def main():
    database = AsyncDatabase(sys.argv[1])
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE changes SET version = version + 1 WHERE topic <> 'identity'"))
        await connection.execute(text("UPDATE assets SET name = name || '!'"))
    await database.close()

asyncio.run(main())
"""


class Interrupted(Exception):
    pass


class Pair:
    def __init__(self, source: AsyncDatabase, target: AsyncDatabase) -> None:
        self.source = source
        self.target = target
        self.steps: list[str] = []

    async def copy(self, stop_after: int | None = None, *, live: bool = False) -> CopyResult:
        """Copy, and stop after some batches, as if the process was killed."""
        batches = 0

        def count(_done: int, _total: int) -> None:
            nonlocal batches
            batches += 1
            if batches == stop_after:
                raise Interrupted

        self.steps = []
        return await copy_database(
            self.source,
            self.target,
            TABLES,
            live=live,
            on_progress=count,
            on_step=self.steps.append,
        )


@asynccontextmanager
async def pair_of(
    kinds: tuple[str, str], folder: Path, request: pytest.FixtureRequest, *, is_filled: bool = True
) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        databases = []
        for name, kind in zip(("source", "target"), kinds, strict=True):
            (folder / name).mkdir()
            is_empty = name == "target"
            url = await stack.enter_async_context(
                new_database(kind, folder / name, request, is_empty=is_empty)
            )
            database = AsyncDatabase(url)
            stack.push_async_callback(database.close)
            databases.append(database)
        if is_filled:
            await fill(databases[0])
        yield Pair(*databases)


@pytest.fixture
async def pair(
    source_kind: str,
    target_kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Pair]:
    """A database with rows in every table, and an empty one. Batches are small."""
    monkeypatch.setattr(module, "BATCH_ROWS", 3)
    async with pair_of((source_kind, target_kind), tmp_path, request) as pair:
        yield pair


async def fill(database: AsyncDatabase) -> None:
    async with database.transaction() as connection:
        if database.is_sqlite:
            await connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for table in reversed(TABLES):
            if table.name not in {"changes", "users"}:
                await connection.execute(table.delete())
        for name, rows in generate_rows(TABLES, 1, ROWS).items():
            table = metadata.tables[name]
            # In one statement: the assets refer to each other.
            await insert_rows(connection, plain_table(table), [tuple(row.values()) for row in rows])
            await set_last_id(connection, table, 1000 + len(name))


async def content(database: AsyncDatabase) -> dict[str, list[Any]]:
    """All rows that are copied, read through the engine; JSON as text. Without versions of topics, which are new."""
    found = {}
    async with database.read_transaction() as connection:
        for table in TABLES:
            columns = ", ".join(
                f"CAST({column.name} AS TEXT)" if str(column.type) == "JSON" else f'"{column.name}"'
                for column in table.c
                if (table.name, column.name) != ("changes", "version")
            )
            rows = (await connection.execute(text(f"SELECT {columns} FROM {table.name}"))).all()
            found[table.name] = sorted((tuple(row) for row in rows), key=repr)
    return {name: [tuple(map(_plain, row)) for row in rows] for name, rows in found.items()}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


async def identity(database: AsyncDatabase) -> int:
    async with database.read_transaction() as connection:
        found = await connection.execute(
            text(f"SELECT version FROM changes WHERE topic = '{IDENTITY_TOPIC}'")
        )
        return int(found.scalar_one())


async def last_ids(database: AsyncDatabase) -> dict[str, int]:
    async with database.read_transaction() as connection:
        return {table.name: await last_id(connection, table) for table in TABLES}


async def check_equal(pair: Pair) -> None:
    first, second = await content(pair.source), await content(pair.target)
    for name, rows in first.items():
        assert sorted(second[name], key=repr) == sorted(rows, key=repr), name
        assert len(rows) >= ROWS
    assert await identity(pair.source) == await identity(pair.target)
    assert await last_ids(pair.source) == await last_ids(pair.target)
    assert await current_revision(pair.target) == REQUIRED_REVISION


async def test_every_value_of_every_table(pair: Pair) -> None:
    result = await pair.copy()
    await check_equal(pair)
    assert result.rows == sum(len(rows) for rows in (await content(pair.source)).values())
    assert f"copying assets ({ROWS} rows)" in pair.steps
    if pair.target.is_sqlite:
        assert read_marker(Path(str(pair.target.url.database))) == await identity(pair.source)


async def test_interrupted_copy_leaves_nothing(pair: Pair) -> None:
    for batches in (1, 30):
        with pytest.raises(Interrupted):
            await pair.copy(stop_after=batches)
        assert (await read_state(pair.target)).status is SchemaStatus.EMPTY
    await pair.copy()
    await check_equal(pair)


async def test_target_that_has_tables_without_data(pair: Pair) -> None:
    await upgrade(pair.target)
    with pytest.raises(Interrupted):
        await pair.copy(stop_after=30)
    async with pair.target.read_transaction() as connection:
        assert (
            await connection.execute(text("SELECT count(*) FROM countries"))
        ).scalar_one() > ROWS, "as it was"
    await pair.copy()
    await check_equal(pair)


async def test_source_that_changes_meanwhile(pair: Pair) -> None:
    with pytest.raises(CopyError, match=r"changed during the copy.*--live"):
        await copy_while_the_source_changes(pair, live=False)
    before = await content(pair.source)
    assert (await read_state(pair.target)).status is SchemaStatus.EMPTY
    await copy_while_the_source_changes(pair, live=True)
    assert (await content(pair.target))["assets"] == before["assets"]


async def copy_while_the_source_changes(pair: Pair, *, live: bool) -> None:
    """Commit a change of the source, from another process, as soon as the first table is copied."""
    url = address_of(pair.source)

    def change(step: str) -> None:
        if step.startswith("copying assets"):
            subprocess.run([sys.executable, "-c", CHANGE, url], check=True)

    await copy_database(
        pair.source,
        pair.target,
        TABLES,
        live=live,
        on_progress=lambda _done, _total: None,
        on_step=change,
    )


async def test_target_with_data_is_refused(pair: Pair) -> None:
    await pair.copy()
    before = await content(pair.target)
    with pytest.raises(CopyError, match="has data in the table"):
        await pair.copy()
    assert await content(pair.target) == before


async def test_row_that_the_target_cannot_store(pair: Pair) -> None:
    if not pair.source.is_sqlite or pair.target.is_sqlite:
        return  # only SQLite stores these values
    file = str(pair.source.url.database)
    for assignment, reason in (
        ("society_names = '[]', fdrs = 'a' || char(0) || 'b'", "column fdrs"),
        ("fdrs = NULL, record_type = 4294967296", "out of int32 range"),
        ("record_type = 1, iso3 = 'too long'", "too long"),
    ):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(f"UPDATE countries SET {assignment} WHERE id = 5")
        with pytest.raises(CopyError, match=rf"Rows of countries cannot be copied: .*{reason}"):
            await pair.copy()
