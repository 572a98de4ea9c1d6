"""Copies a whole database to another one, between SQLite and PostgreSQL or between two of a kind.

Rows are copied table by table in the order of the primary key. Each batch is one transaction, which also writes the
position and the digest of everything before it to the table `unfinished_copy` of the target: after a crash the copy
continues there. Meanwhile the schema revision of the target is `UNFINISHED`, so that no process serves it. In the end
every row of the target is read again and compared.

`REBUILT_TABLES` are not copied, and are empty in the target: both databases have the same identity, and what was made
from the rows of one must not be taken for that of the other.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import msgspec
from sqlalchemy import Table

from fieldgate.db.copy_tables import Key, TableReader, TableShape, TableWriter, open_reader, open_writer
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.database import Database
from fieldgate.db.identity_marker import remove_marker, write_marker
from fieldgate.db.schema import REQUIRED_REVISION, UNFINISHED_COPY, current_revision, upgrade
from fieldgate.db.table_digests import REBUILT_TABLES, Row, TableDigest, database_digest
from fieldgate.db.tables import Timestamp, now

BATCH_ROWS = 2_000
BATCH_BYTES = 32 * 1024 * 1024  # about; a batch has at least one row
_STATE_TABLE = "unfinished_copy"
_SOURCE = ""  # the name under which the identity of the source is stored
_ADVISORY_LOCK = 0x0F1E1D6A7F  # any number, the same for every process that copies to a PostgreSQL database
# Tables in which migrations create rows. A target that has rows only in these is empty.
_FILLED_BY_MIGRATIONS = frozenset({"changes", "countries", "disaster_types", "name_orders", "rebuilds"})

CopyProgress = Callable[[int, int], None]  # rows done, rows in all; every row is written, then compared
CopySteps = Callable[[str], None]  # what is done now, such as "copying events (2500 rows)"


class CopyError(Exception):
    """The copy cannot be made or continued. The text says why and what to do."""


class CopyResult(NamedTuple):
    tables: dict[str, TableDigest]
    continued: int  # rows that an earlier run had copied

    @property
    def rows(self) -> int:
        return sum(digest.rows for digest in self.tables.values())

    @property
    def digest(self) -> str:
        return database_digest(self.tables)


class _Position(NamedTuple):
    """How far a table is copied."""

    key: Key | None = None
    digest: TableDigest = TableDigest()


async def copy_database(
    source: Database,
    target: Database,
    tables: Sequence[Table],
    *,
    restart: bool,
    live: bool,
    on_progress: CopyProgress,
    on_step: CopySteps,
) -> CopyResult:
    """Copy all rows, or continue a copy that was interrupted. `tables` are in an order in which they can be filled.

    With `restart`, an interrupted copy begins again. With `live`, the source may change meanwhile: the copy has the
    state at the beginning.
    """
    if await current_revision(source) != REQUIRED_REVISION:
        raise CopyError("The source does not have the schema of this release. Run `fieldgate migrate` on it first.")
    shapes = [TableShape.of(table) for table in tables if table.name not in REBUILT_TABLES]
    target_file = Path(str(target.url.database)) if target.is_sqlite else None
    async with open_reader(source) as reader, open_writer(target) as writer:
        copier = _Copier(reader, writer, shapes, on_progress, on_step)
        async with _alone(target, writer):
            identity = await copier.source_identity()
            await _prepare(target, writer, shapes, identity, restart=restart)
            if target_file is not None:
                remove_marker(target_file)  # it is going to be another database
            result = await copier.run()
            if not live and await _versions(source) != await copier.source_versions():
                raise CopyError(
                    "The source changed during the copy. Stop everything that writes to it and run the command again "
                    "with --restart, or use --live to get the state at the beginning."
                )
            await copier.finish(is_postgres=not target.is_sqlite)
    if target_file is not None:
        write_marker(target_file, identity)
    return result


@asynccontextmanager
async def _alone(target: Database, writer: TableWriter) -> AsyncIterator[None]:
    """Keep other copies to the same PostgreSQL database out, until the connection is closed."""
    if not target.is_sqlite and not (await writer.fetch("SELECT pg_try_advisory_lock($1)", _ADVISORY_LOCK))[0][0]:
        raise CopyError("Another copy to this database is running.")
    yield


async def _versions(database: Database) -> dict[str, int]:
    async with open_reader(database) as reader:
        return await _read_versions(reader)


async def _read_versions(reader: TableReader) -> dict[str, int]:
    return {row[0]: row[1] for row in await reader.fetch("SELECT topic, version FROM changes")}


async def _prepare(
    target: Database, writer: TableWriter, shapes: Sequence[TableShape], identity: int, *, restart: bool
) -> None:
    """Create the tables of the target, or check that it has a copy of the same source."""
    revision = await current_revision(target)
    if revision is None:
        await upgrade(target)
    elif revision == UNFINISHED_COPY:
        ((stored,),) = await writer.fetch(f"SELECT digest FROM {_STATE_TABLE} WHERE name = '{_SOURCE}'")  # noqa: S608
        if not restart and stored != str(identity):
            raise CopyError("The target has an unfinished copy of another database. Use --restart to replace it.")
        if not restart:
            return
    elif revision != REQUIRED_REVISION:
        raise CopyError("The target does not have the schema of this release. Use an empty database.")
    elif (found := await _first_filled(writer, shapes)) is not None:
        raise CopyError(f"The target has data in the table {found}. Use an empty database.")
    async with writer.transaction:
        for shape in reversed(shapes):
            await writer.fetch(f'DELETE FROM "{shape.name}"')  # noqa: S608
        await writer.fetch(f"DROP TABLE IF EXISTS {_STATE_TABLE}")
        await writer.fetch(
            f"CREATE TABLE {_STATE_TABLE} (name TEXT PRIMARY KEY, position TEXT, counted BIGINT, digest TEXT)"
        )
        await writer.fetch(f"INSERT INTO {_STATE_TABLE} VALUES ('{_SOURCE}', '', 0, '{identity}')")  # noqa: S608
        await writer.fetch(f"UPDATE alembic_version SET version_num = '{UNFINISHED_COPY}'")  # noqa: S608


async def _first_filled(writer: TableWriter, shapes: Sequence[TableShape]) -> str | None:
    """The first table with rows that no migration created, None if there is none."""
    for shape in shapes:
        if shape.name not in _FILLED_BY_MIGRATIONS:
            where = "WHERE id > 0" if shape.name == "users" else ""  # all but the public
            if await writer.fetch(f'SELECT 1 FROM "{shape.name}" {where} LIMIT 1'):  # noqa: S608
                return shape.name
    return None


class _Copier:
    """One run of a copy."""

    def __init__(
        self,
        reader: TableReader,
        writer: TableWriter,
        shapes: Sequence[TableShape],
        on_progress: CopyProgress,
        on_step: CopySteps,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._shapes = shapes
        self._on_progress = on_progress
        self._on_step = on_step
        self._done = 0
        self._counts: dict[str, int] = {}

    async def source_identity(self) -> int:
        return (await self.source_versions())[IDENTITY_TOPIC]

    async def source_versions(self) -> dict[str, int]:
        return await _read_versions(self._reader)

    async def run(self) -> CopyResult:
        for shape in self._shapes:
            ((count,),) = await self._reader.fetch(f'SELECT count(*) FROM "{shape.name}"')  # noqa: S608
            self._counts[shape.name] = count
        positions = await self._load_positions()
        for shape in self._shapes:
            await self._check_unchanged(shape, positions.get(shape.name, _Position()))
        tables: dict[str, TableDigest] = {}
        for shape in self._shapes:
            tables[shape.name] = await self._copy_table(shape, positions.get(shape.name, _Position()))
        for shape in self._shapes:
            await self._fill_self_references(shape)
        await self._compare(tables)
        return CopyResult(tables, sum(position.digest.rows for position in positions.values()))

    async def _load_positions(self) -> dict[str, _Position]:
        sql = f"SELECT name, position, counted, digest FROM {_STATE_TABLE} WHERE name <> '{_SOURCE}'"  # noqa: S608
        return {
            name: _Position(tuple(msgspec.msgpack.decode(bytes.fromhex(key))), TableDigest(rows, int(digest, 16)))
            for name, key, rows, digest in await self._writer.fetch(sql)
        }

    def _begin_step(self, action: str, shape: TableShape) -> None:
        self._on_step(f"{action} {shape.name} ({self._counts[shape.name]} rows)")

    def _advance(self, rows: int) -> None:
        self._done += rows
        self._on_progress(self._done, 2 * sum(self._counts.values()))

    async def _batches(
        self, tables: TableReader, shape: TableShape, after: Key | None = None
    ) -> AsyncIterator[Sequence[Row]]:
        limit = min(BATCH_ROWS, max(BATCH_BYTES // max(await tables.largest_row(shape), 1), 1))
        while rows := await tables.rows(shape, after, limit):
            yield rows
            after = shape.key_of(rows[-1])

    async def _check_unchanged(self, shape: TableShape, position: _Position) -> None:
        """The rows that were copied before must still be those of the source."""
        digest, wanted = TableDigest(), position.digest
        if position.key is not None:
            self._begin_step("checking what was copied of", shape)
            async for rows in self._batches(self._reader, shape):
                counted = rows[: wanted.rows - digest.rows]
                digest = digest.with_rows(counted)
                self._advance(len(counted))
                if digest.rows == wanted.rows:
                    break
        if digest != wanted:
            raise CopyError(
                f"The source changed since the copy began: {shape.name}. Stop everything that writes to it, and run "
                "the command again with --restart."
            )

    async def _copy_table(self, shape: TableShape, position: _Position) -> TableDigest:
        self._begin_step("copying", shape)
        digest = position.digest
        empty = [shape.columns.index(name) for name in shape.self_references]
        async for rows in self._batches(self._reader, shape, position.key):
            digest = digest.with_rows(rows)
            # Rows that are referred to may come later, so these columns are filled in the end.
            written = [_without(row, empty) for row in rows] if empty else rows
            try:
                async with self._writer.transaction:
                    await self._writer.insert(shape, written)
                    await self._store_position(shape, _Position(shape.key_of(rows[-1]), digest))
            except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, OverflowError) as error:
                raise await self._explain(shape, written, error) from None
            self._advance(len(rows))
        return digest

    async def _store_position(self, shape: TableShape, position: _Position) -> None:
        await self._writer.fetch(f"DELETE FROM {_STATE_TABLE} WHERE name = '{shape.name}'")  # noqa: S608
        key = msgspec.msgpack.encode(position.key).hex()
        values = f"'{shape.name}', '{key}', {position.digest.rows}, '{position.digest.text}'"
        await self._writer.fetch(f"INSERT INTO {_STATE_TABLE} VALUES ({values})")  # noqa: S608

    async def _explain(self, shape: TableShape, rows: Sequence[Row], error: Exception) -> CopyError:
        """Find the row that PostgreSQL refuses, by writing each of them alone."""
        for row in rows:
            try:
                async with self._writer.transaction:
                    await self._writer.insert(shape, [row])
                    raise _Undo
            except _Undo:
                continue
            except Exception as alone:
                reason = str(alone)
                key = ", ".join(f"{name} {value!r}" for name, value in zip(shape.key, shape.key_of(row), strict=True))
                with_nul = [
                    name
                    for name, value in zip(shape.columns, row, strict=True)
                    if isinstance(value, str) and "\x00" in value
                ]
                if with_nul:
                    reason = f"PostgreSQL cannot store the character U+0000, which is in {', '.join(with_nul)}"
                return CopyError(f"A row of {shape.name} cannot be copied ({key}): {reason}. Correct it in the source.")
        return CopyError(f"Rows of {shape.name} cannot be copied: {error}")

    async def _fill_self_references(self, shape: TableShape) -> None:
        for column in shape.self_references:
            self._begin_step("filling references of", shape)
            (key,) = shape.key
            place = shape.columns.index(column)
            async for rows in self._batches(self._reader, shape):
                pairs = [f"({shape.key_of(row)[0]:d}, {row[place]:d})" for row in rows if row[place] is not None]
                if pairs:  # of integers
                    await self._writer.fetch(
                        f'UPDATE "{shape.name}" SET "{column}" = pairs.column2 '  # noqa: S608
                        f'FROM (VALUES {", ".join(pairs)}) AS pairs WHERE "{shape.name}"."{key}" = pairs.column1'
                    )

    async def _compare(self, tables: dict[str, TableDigest]) -> None:
        """Read the target again and compare it with what was read from the source."""
        for shape in self._shapes:
            self._begin_step("comparing", shape)
            digest = TableDigest()
            async for rows in self._batches(self._writer, shape):  # type: ignore[arg-type]
                digest = digest.with_rows(rows)
                self._advance(len(rows))
            if digest != tables[shape.name]:
                raise CopyError(
                    f"The table {shape.name} of the target is not that of the source: {digest.rows} rows, "
                    f"{tables[shape.name].rows} in the source. Run the command again with --restart."
                )

    async def finish(self, *, is_postgres: bool) -> None:
        """Make the target a database that can be used."""
        async with self._writer.transaction:
            for shape in self._shapes:
                if shape.serial is not None:
                    await self._writer.set_serial(shape, await self._reader.last_serial(shape))
            for name in sorted(REBUILT_TABLES):
                await self._writer.fetch(f'DELETE FROM "{name}"')  # noqa: S608
            # Both databases can be written to from now on, and their versions must not be taken for each other's.
            later = "greatest" if is_postgres else "max"
            await self._writer.fetch(
                f"UPDATE changes SET version = {later}(version + 1, {Timestamp.pack(now())}) "  # noqa: S608
                f"WHERE topic <> '{IDENTITY_TOPIC}'"
            )
            await self._writer.fetch(f"DROP TABLE {_STATE_TABLE}")
            await self._writer.fetch(f"UPDATE alembic_version SET version_num = '{REQUIRED_REVISION}'")  # noqa: S608
        await self._writer.fetch("ANALYZE" if is_postgres else "PRAGMA optimize")


class _Undo(Exception):
    """Rolls a transaction back."""


def _without(row: Row, places: Sequence[int]) -> Row:
    changed: list[Any] = list(row)
    for place in places:
        changed[place] = None
    return changed
