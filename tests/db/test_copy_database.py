"""Copies between databases: every row of every table, in all directions. An interrupted copy leaves nothing."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, text

import fieldgate.accounts.tables
import fieldgate.assets.tables
import fieldgate.events.tables
import fieldgate.imports.tables
import fieldgate.reference.tables  # noqa: F401  (they register their tables)
from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase, metadata
from fieldgate.db import copy_database as module
from fieldgate.db.copied_tables import last_id, plain_table, set_last_id
from fieldgate.db.copy_database import CopyError, CopyResult, copy_database
from fieldgate.db.database_identity import read_marker
from fieldgate.db.schema import SchemaStatus, state_of, upgrade
from tests.conftest import new_database
from tests.data.sql import read_sql, write_sql
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


class Interrupted(Exception):
    pass


class Pair:
    """The URLs of two databases."""

    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        self.steps: list[str] = []

    def copy(self, stop_after: int | None = None, *, live: bool = False) -> CopyResult:
        """Copy, and stop after some batches, as if the process was killed."""
        batches = 0

        def count(_done: int, _total: int) -> None:
            nonlocal batches
            batches += 1
            if batches == stop_after:
                raise Interrupted

        self.steps = []
        return copy_database(
            self.source,
            self.target,
            TABLES,
            live=live,
            on_progress=count,
            on_step=self.steps.append,
        )


@asynccontextmanager
async def pair_of(
    kinds: tuple[str, str], folder: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        urls = []
        for name, kind in zip(("source", "target"), kinds, strict=True):
            (folder / name).mkdir()
            is_empty = name == "target"
            database = new_database(kind, folder / name, request, is_empty=is_empty)
            urls.append(await stack.enter_async_context(database))
        fill(urls[0])
        yield Pair(*urls)


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


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite")


def fill(url: str) -> None:
    with write_sql(url) as connection:
        if is_sqlite(url):
            connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for table in reversed(TABLES):
            if table.name not in {"changes", "users"}:
                connection.execute(table.delete())
        for name, rows in generate_rows(TABLES, 1, ROWS).items():
            table = metadata.tables[name]
            plain = plain_table(table)
            if is_sqlite(url):
                connection.execute(insert(plain), rows)
            else:  # in one statement: the assets refer to each other
                connection.execute(insert(plain).values(rows))
            set_last_id(connection, table, 1000 + len(name))


def content(url: str) -> dict[str, list[Any]]:
    """All rows that are copied; JSON as text. Without versions of topics, which are new."""
    stored = {}
    with read_sql(url) as connection:
        for table in TABLES:
            columns = ", ".join(
                f"CAST({column.name} AS TEXT)" if str(column.type) == "JSON" else f'"{column.name}"'
                for column in table.c
                if (table.name, column.name) != ("changes", "version")
            )
            rows = connection.execute(text(f"SELECT {columns} FROM {table.name}")).all()
            stored[table.name] = sorted((tuple(map(_plain, row)) for row in rows), key=repr)
    return stored


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def identity(url: str) -> int:
    with read_sql(url) as connection:
        query = text(f"SELECT version FROM changes WHERE topic = '{IDENTITY_TOPIC}'")
        return int(connection.execute(query).scalar_one())


def last_ids(url: str) -> dict[str, int]:
    with read_sql(url) as connection:
        return {table.name: last_id(connection, table) for table in TABLES}


def marker(url: str) -> int | None:
    """The identity that the marker next to an SQLite file has."""
    return read_marker(Path(url.removeprefix("sqlite:///"))) if is_sqlite(url) else None


def status(url: str) -> SchemaStatus:
    with read_sql(url) as connection:
        return state_of(connection).status


def check_equal(pair: Pair) -> None:
    copied = content(pair.target)
    for name, rows in content(pair.source).items():
        assert copied[name] == rows, name
        assert len(rows) >= ROWS
    assert identity(pair.source) == identity(pair.target)
    assert last_ids(pair.source) == last_ids(pair.target)
    assert status(pair.target) is SchemaStatus.CURRENT


async def test_every_value_of_every_table(pair: Pair) -> None:
    result = pair.copy()
    check_equal(pair)
    assert result.rows == sum(len(rows) for rows in content(pair.source).values())
    assert f"copying assets ({ROWS} rows)" in pair.steps
    assert marker(pair.target) == (identity(pair.source) if is_sqlite(pair.target) else None)


async def test_interrupted_copy_leaves_nothing(pair: Pair) -> None:
    for batches in (1, 30):
        with pytest.raises(Interrupted):
            pair.copy(stop_after=batches)
        assert status(pair.target) is SchemaStatus.EMPTY
    pair.copy()
    check_equal(pair)


async def test_target_that_has_tables_without_data(pair: Pair) -> None:
    database = AsyncDatabase(pair.target)
    await upgrade(database)
    await database.close()
    with pytest.raises(Interrupted):
        pair.copy(stop_after=30)
    assert len(content(pair.target)["countries"]) > ROWS, "as it was"
    pair.copy()
    check_equal(pair)


async def test_source_that_changes_meanwhile(pair: Pair) -> None:
    with pytest.raises(CopyError, match=r"changed during the copy.*--live"):
        copy_while_the_source_changes(pair, live=False)
    before = content(pair.source)
    assert status(pair.target) is SchemaStatus.EMPTY
    copy_while_the_source_changes(pair, live=True)
    assert content(pair.target)["assets"] == before["assets"]


def copy_while_the_source_changes(pair: Pair, *, live: bool) -> None:
    """Commit a change of the source as soon as the copy begins with the assets."""

    def change(step: str) -> None:
        if step.startswith("copying assets"):
            with write_sql(pair.source, "assets") as connection:
                connection.execute(text("UPDATE assets SET name = name || '!'"))

    copy_database(
        pair.source,
        pair.target,
        TABLES,
        live=live,
        on_progress=lambda _done, _total: None,
        on_step=change,
    )


async def test_target_with_data_is_refused(pair: Pair) -> None:
    pair.copy()
    before = (content(pair.target), marker(pair.target))
    with pytest.raises(CopyError, match="has data in the table"):
        pair.copy()
    assert (content(pair.target), marker(pair.target)) == before


async def test_row_that_the_target_cannot_store(pair: Pair) -> None:
    if not is_sqlite(pair.source) or is_sqlite(pair.target):
        return  # only SQLite stores these values
    for assignment, reason in (
        ("society_names = '[]', fdrs = 'a' || char(0) || 'b'", "NUL"),
        ("fdrs = NULL, record_type = 4294967296", "out of range"),
        ("record_type = 1, iso3 = 'too long'", "too long"),
    ):
        with write_sql(pair.source) as connection:
            connection.execute(text(f"UPDATE countries SET {assignment} WHERE id = 5"))
        message = rf"Rows of countries cannot be copied: .*{reason}.* \(id 5\)\. Correct the source"
        with pytest.raises(CopyError, match=message):
            pair.copy()
