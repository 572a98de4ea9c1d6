"""Copies a whole database to another one, between SQLite and PostgreSQL or between two of a kind.

The source is read in one transaction, and the target is created and filled in one: an interrupted copy leaves nothing
behind, and starts again from the beginning. Rows are copied table by table and counted.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    MetaData,
    Table,
    Text,
    bindparam,
    cast,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.database_identity import remove_marker, write_marker
from fieldgate.db.migrations import run_migrations
from fieldgate.db.schema import SchemaStatus, read_state
from fieldgate.db.tables import Timestamp, now, topic_versions

BATCH_ROWS = 200  # a row can have a file of many megabytes
# Tables in which the migration creates rows. A target that has rows only in these is empty.
_FILLED_BY_MIGRATION = frozenset({"changes", "countries", "disaster_types", "name_orders"})

CopyProgress = Callable[[int, int], None]  # rows done, rows in all
CopySteps = Callable[[str], None]  # what is done now, such as "copying events (2500 rows)"
Row = Sequence[Any]


class CopyError(Exception):
    """The copy cannot be made. The text says why and what to do."""


class CopyResult(NamedTuple):
    tables: dict[str, int]  # numbers of rows

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


async def copy_database(
    source: AsyncDatabase,
    target: AsyncDatabase,
    tables: Sequence[Table],
    *,
    live: bool,
    on_progress: CopyProgress,
    on_step: CopySteps,
) -> CopyResult:
    """Copy all rows. `tables` are in an order in which they can be filled.

    With `live`, the source may change meanwhile: the copy has the state at the beginning.
    """
    if not (await read_state(source)).is_usable:
        raise CopyError("The source does not have the schema of this release.")
    async with source.read_transaction() as reader:
        identity = (await _versions(reader))[IDENTITY_TOPIC]
        counts = {table.name: await _count(reader, table) for table in tables}
        async with _empty_target(target, tables) as writer:
            done = 0

            def show(rows: int) -> None:
                nonlocal done
                done += rows
                on_progress(done, sum(counts.values()))

            for table in tables:
                on_step(f"copying {table.name} ({counts[table.name]} rows)")
                await _copy_rows(reader, writer, table, show)
                await set_last_id(writer, table, await last_id(reader, table))
                if await _count(writer, table) != counts[table.name]:
                    raise CopyError(
                        f"Not all rows of {table.name} were copied. Run the command again."
                    )
            await _raise_versions(writer)
            if not target.is_sqlite:
                await writer.execute(text("ANALYZE"))
            if not live and await _current_versions(source) != await _versions(reader):
                raise CopyError(
                    "The source changed during the copy. Stop everything that writes to it and run the command again, "
                    "or use --live to get the state at the beginning."
                )
    if target.is_sqlite:
        write_marker(Path(str(target.url.database)), identity)
    return CopyResult(counts)


async def _versions(connection: AsyncConnection) -> dict[str, int]:
    return {row.topic: row.version for row in await connection.execute(select(topic_versions))}


async def _current_versions(database: AsyncDatabase) -> dict[str, int]:
    async with database.read_transaction() as connection:
        return await _versions(connection)


async def _count(connection: AsyncConnection, table: Table) -> int:
    return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


@asynccontextmanager
async def _empty_target(
    target: AsyncDatabase, tables: Sequence[Table]
) -> AsyncIterator[AsyncConnection]:
    """Begin the transaction that fills the target, with tables that have no rows."""
    status = (await read_state(target)).status
    if status in (SchemaStatus.OTHER, SchemaStatus.OLDER):
        raise CopyError(
            "The target does not have the schema of this release. Use an empty database."
        )
    if target.is_sqlite:
        remove_marker(Path(str(target.url.database)))  # it is going to be another database
    async with target.transaction() as connection:
        if status is SchemaStatus.EMPTY:
            await run_migrations(connection)
        if target.is_sqlite:
            await connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        else:
            names = ", ".join(f'"{table.name}"' for table in tables)
            await connection.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
        for table in reversed(tables):
            if table.name not in _FILLED_BY_MIGRATION:
                where = (
                    table.c.id > 0 if table.name == "users" else text("true")
                )  # all but the public
                if (
                    await connection.execute(
                        select(text("1")).select_from(table).where(where).limit(1)
                    )
                ).first():
                    raise CopyError(
                        f"The target has data in the table {table.name}. Use an empty database."
                    )
            await connection.execute(table.delete())
        yield connection


async def _copy_rows(
    reader: AsyncConnection, writer: AsyncConnection, table: Table, on_rows: Callable[[int], None]
) -> None:
    """Copy a table in batches. `on_rows` is called with their sizes."""
    plain = plain_table(table)
    # Rows that are referred to may come later, so these references are filled in the end.
    references = [key.parent.name for key in table.foreign_keys if key.column.table is table]
    later: list[dict[str, Any]] = []
    names = [column.name for column in table.columns]
    values = (
        cast(column, Text) if isinstance(column.type, Text) else column for column in plain.columns
    )
    result = await reader.stream(select(*values))
    try:
        async for rows in result.partitions(BATCH_ROWS):
            batch: Sequence[Row] = rows
            if references:
                named = [dict(zip(names, row, strict=True)) for row in rows]
                later += [
                    {"key": row["id"], **{name: row[name] for name in references}} for row in named
                ]
                batch = [tuple((row | dict.fromkeys(references)).values()) for row in named]
            try:
                await insert_rows(writer, plain, batch)
            except (DBAPIError, asyncpg.PostgresError, OverflowError) as error:
                message = (
                    f"Rows of {table.name} cannot be copied: {_reason(error)}. Correct the source."
                )
                raise CopyError(message) from None
            on_rows(len(rows))
    finally:
        await result.close()  # an open cursor would keep its state of an SQLite database
    if later:
        filled: dict[str, Any] = {name: bindparam(name) for name in references}
        await writer.execute(
            plain.update().where(plain.c.id == bindparam("key")).values(filled), later
        )


def _reason(error: Exception) -> str:
    reason = getattr(error, "orig", None) or error
    place = getattr(reason, "context", None)  # of PostgreSQL: line and column
    return f"{reason} ({place})" if place else str(reason)


def plain_table(table: Table) -> Table:
    """The table with columns that both drivers read and write alike: timestamps as numbers, JSON as text."""
    return Table(
        table.name,
        MetaData(),
        *(Column(column.name, _plain_type(column)) for column in table.columns),
    )


def _plain_type(column: "Column[Any]") -> Any:
    if isinstance(column.type, Timestamp):
        return BigInteger()
    return Text() if isinstance(column.type, JSON) else column.type


async def insert_rows(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> None:
    names = [column.name for column in table.columns]
    if connection.dialect.name == "sqlite":
        await connection.execute(
            insert(table), [dict(zip(names, row, strict=True)) for row in rows]
        )
    else:
        driver = (await connection.get_raw_connection()).driver_connection
        await driver.copy_records_to_table(table.name, columns=names, records=rows)  # type: ignore[union-attr]


async def last_id(connection: AsyncConnection, table: Table) -> int:
    """The last id that the database gave to a row of the table, which may be deleted."""
    column = table.autoincrement_column
    if column is None:
        return 0
    if connection.dialect.name == "sqlite":
        query, values = "SELECT seq FROM sqlite_sequence WHERE name = :table", {"table": table.name}
    else:
        sequence = await connection.execute(
            _SELECT_SEQUENCE, {"table": table.name, "column": column.name}
        )
        query, values = f"SELECT last_value FROM {sequence.scalar_one()} WHERE is_called", {}  # noqa: S608
    return (await connection.execute(text(query), values)).scalar() or 0


async def set_last_id(connection: AsyncConnection, table: Table, last: int) -> None:
    column = table.autoincrement_column
    if column is None or not last:
        return
    if connection.dialect.name == "sqlite":
        values = {"table": table.name, "last": last}
        await connection.execute(
            text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table.name}
        )
        await connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), values
        )
    else:
        sequence = await connection.execute(
            _SELECT_SEQUENCE, {"table": table.name, "column": column.name}
        )
        await connection.execute(select(func.setval(sequence.scalar_one(), last)))


_SELECT_SEQUENCE = text("SELECT pg_get_serial_sequence(:table, :column)")


async def _raise_versions(connection: AsyncConnection) -> None:
    """Both databases can be written to from now on, and their versions must not be taken for each other's."""
    later = func.max if connection.dialect.name == "sqlite" else func.greatest
    version = topic_versions.c.version
    changed = topic_versions.update().where(topic_versions.c.topic != IDENTITY_TOPIC)
    await connection.execute(changed.values(version=later(version + 1, Timestamp.pack(now()))))
