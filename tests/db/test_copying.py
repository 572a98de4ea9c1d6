"""Copies between databases: every row of every table, in all directions, also when interrupted anywhere."""

import re
import sqlite3
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
from fieldgate.db import IDENTITY_TOPIC, Database, copying, metadata
from fieldgate.db.copy_tables import TableShape, open_reader, open_writer
from fieldgate.db.copying import CopyError, CopyResult, copy_database
from fieldgate.db.identity_marker import read_marker
from fieldgate.db.schema import REQUIRED_REVISION, UNFINISHED_COPY, current_revision
from tests.conftest import new_database
from tests.db.generated_rows import generate_rows

TABLES = metadata.sorted_tables
ROWS = 7
DIRECTIONS = [("sqlite", "postgresql"), ("postgresql", "sqlite"), ("sqlite", "sqlite"), ("postgresql", "postgresql")]

pytestmark = pytest.mark.parametrize(
    ("source_kind", "target_kind"), DIRECTIONS, ids=["-to-".join(x) for x in DIRECTIONS]
)


class Interrupted(Exception):
    pass


class Pair:
    def __init__(self, source: Database, target: Database) -> None:
        self.source = source
        self.target = target
        self.steps: list[str] = []

    async def copy(self, stop_at: int = -1, **options: bool) -> CopyResult:
        """Copy, and stop after some batches are written or compared, as if the process was killed."""
        calls = 0

        def count(_done: int, _total: int) -> None:
            nonlocal calls
            calls += not self.steps[-1].startswith("checking")
            if calls == stop_at:
                raise Interrupted

        chosen = {"restart": False, "live": False, **options}
        self.steps = []
        return await copy_database(
            self.source, self.target, TABLES, **chosen, on_progress=count, on_step=self.steps.append
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
            url = await stack.enter_async_context(new_database(kind, folder / name, request, is_empty=is_empty))
            database = Database(url)
            stack.push_async_callback(database.close)
            databases.append(database)
        if is_filled:
            await fill(databases[0])
        yield Pair(*databases)


@pytest.fixture
async def pair(
    source_kind: str, target_kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Pair]:
    """A database with rows in every table, and an empty one. Batches are small."""
    monkeypatch.setattr(copying, "BATCH_ROWS", 3)
    async with pair_of((source_kind, target_kind), tmp_path, request) as pair:
        yield pair


async def fill(database: Database) -> None:
    async with open_writer(database) as writer:
        for table in reversed(TABLES):
            if table.name not in {"changes", "users"}:
                await writer.fetch(f"DELETE FROM {table.name}")
        for name, rows in generate_rows(TABLES, 1, ROWS).items():
            shape = TableShape.of(metadata.tables[name])
            for start in range(0, ROWS, 1 if shape.self_references else ROWS):
                async with writer.transaction:
                    part = rows[start : start + 1] if shape.self_references else rows
                    empty = [shape.columns.index(column) for column in shape.self_references]
                    await writer.insert(
                        shape, [[None if at in empty else value for at, value in enumerate(row)] for row in part]
                    )
            for column in shape.self_references:
                for row in rows:
                    value = row[shape.columns.index(column)]
                    if value is not None:
                        await writer.fetch(f"UPDATE {name} SET {column} = {value} WHERE id = {shape.key_of(row)[0]}")
            if shape.serial is not None:
                await writer.set_serial(shape, 1000 + len(name))


async def content(database: Database) -> dict[str, list[Any]]:
    """All rows, read through the engine; JSON as text. Versions of topics are left out: the copy has new ones."""
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


async def identity(database: Database) -> int:
    async with database.read_transaction() as connection:
        found = await connection.execute(text(f"SELECT version FROM changes WHERE topic = '{IDENTITY_TOPIC}'"))
        return int(found.scalar_one())


async def serials(database: Database) -> dict[str, int]:
    shapes = [TableShape.of(table) for table in TABLES]
    async with open_reader(database) as reader:
        return {shape.name: await reader.last_serial(shape) for shape in shapes if shape.serial}


async def check_equal(pair: Pair) -> None:
    first, second = await content(pair.source), await content(pair.target)
    for name, rows in first.items():
        assert sorted(second[name], key=repr) == sorted(rows, key=repr), name
        assert len(rows) >= ROWS
    assert await identity(pair.source) == await identity(pair.target)
    assert await serials(pair.source) == await serials(pair.target)
    assert await current_revision(pair.target) == REQUIRED_REVISION


async def test_every_value_of_every_table(pair: Pair) -> None:
    result = await pair.copy()
    await check_equal(pair)
    assert result.rows == sum(len(rows) for rows in (await content(pair.source)).values())
    assert result.continued == 0
    if pair.target.is_sqlite:
        assert read_marker(Path(str(pair.target.url.database))) == await identity(pair.source)


async def test_interrupted_everywhere(pair: Pair) -> None:
    """Each run is stopped two batches after it continued, until one ends."""
    runs, stop_at = 0, 2
    while True:
        runs += 1
        try:
            result = await pair.copy(stop_at)
        except Interrupted:
            if runs == 5:
                assert await current_revision(pair.target) == UNFINISHED_COPY
            if runs > 40:  # everything is written: the rest is comparing
                stop_at = -1
        else:
            break
    assert runs > 40
    assert result.continued == result.rows
    await check_equal(pair)


async def test_steps(pair: Pair) -> None:
    with pytest.raises(Interrupted):
        await pair.copy(5)
    first, *others = pair.steps
    assert re.fullmatch(rf"copying {TABLES[0].name} \(\d+ rows\)", first)
    assert others[-1].startswith("copying")
    await pair.copy()
    assert pair.steps[0] == first.replace("copying", "checking what was copied of")
    assert f"copying assets ({ROWS} rows)" in pair.steps
    assert f"comparing assets ({ROWS} rows)" in pair.steps


async def test_source_that_changed_since(pair: Pair) -> None:
    with pytest.raises(Interrupted):
        await pair.copy(30)
    async with pair.source.transaction() as connection:
        await connection.execute(text("UPDATE countries SET record_type = 12345 WHERE id = 1"))
    with pytest.raises(CopyError, match=r"changed since the copy began: countries.*--restart"):
        await pair.copy()
    await pair.copy(restart=True)
    await check_equal(pair)


async def test_source_that_changes_meanwhile(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    async def write(reader: Any) -> Any:
        async with pair.source.transaction() as connection:
            await connection.execute(text("UPDATE changes SET version = 5 WHERE topic = 'events'"))
        monkeypatch.undo()
        monkeypatch.setattr(copying, "BATCH_ROWS", 3)
        return await original(reader)

    original = copying._versions
    monkeypatch.setattr(copying, "_versions", write)
    with pytest.raises(CopyError, match=r"changed during the copy.*--live"):
        await pair.copy()
    assert await current_revision(pair.target) == UNFINISHED_COPY, "nobody uses it by mistake"
    await pair.copy(restart=True, live=True)
    await check_equal(pair)


async def test_target_with_data_is_refused(pair: Pair) -> None:
    await pair.copy()
    before = await content(pair.target)
    with pytest.raises(CopyError, match="has data in the table"):
        await pair.copy(restart=True)
    assert await content(pair.target) == before


async def test_row_that_the_target_cannot_store(pair: Pair) -> None:
    if not pair.source.is_sqlite or pair.target.is_sqlite:
        return  # only SQLite stores these values
    file = str(pair.source.url.database)
    for assignment, reason in (
        ("society_names = '[]', fdrs = 'a' || char(0) || 'b'", r"U\+0000, which is in fdrs"),
        ("fdrs = NULL, record_type = 4294967296", "out of int32 range"),
        ("record_type = 1, iso3 = 'too long'", "too long"),
    ):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(f"UPDATE countries SET {assignment} WHERE id = 5")
        with pytest.raises(CopyError, match=rf"A row of countries cannot be copied \(id 5\): .*{reason}"):
            await pair.copy(restart=await current_revision(pair.target) == UNFINISHED_COPY)


async def test_another_source_does_not_continue_a_copy(
    pair: Pair, source_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(Interrupted):
        await pair.copy(10)
    (tmp_path / "other").mkdir()
    async with pair_of((source_kind, "sqlite"), tmp_path / "other", request, is_filled=False) as other:
        other.target = pair.target
        with pytest.raises(CopyError, match="unfinished copy of another database"):
            await other.copy()
