"""Copies a whole database to another one, between SQLite and PostgreSQL or between two of a kind.

The source is read in one transaction, and the target is created and filled in one: an interrupted copy leaves nothing
behind, and starts again from the beginning. Rows are copied table by table and counted.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import Event
from typing import Any, NamedTuple

from sqlalchemy import Table, bindparam, func, insert, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from fieldgate.db.copied_tables import last_id, plain_table, rows_of, self_references, set_last_id
from fieldgate.db.data_versions import IDENTITY_TOPIC
from fieldgate.db.database import Database, sqlite_file
from fieldgate.db.database_identity import remove_marker, write_marker
from fieldgate.db.migrations import run_migrations
from fieldgate.db.schema import SchemaStatus, state_of
from fieldgate.db.tables import Timestamp, now, topic_versions

BATCH_ROWS = 200  # a row can have a file of many megabytes
# Tables in which the migration creates rows. A target that has rows only in these is empty.
_FILLED_BY_MIGRATION = frozenset({"changes", "countries", "disaster_types", "name_orders"})

CopyProgress = Callable[[int, int], None]  # rows done, rows in all
CopySteps = Callable[[str], None]  # what is done now, such as "copying events (2500 rows)"
Row = dict[str, Any]


class CopyError(Exception):
    """The copy cannot be made. The text says why and what to do."""


class CopyResult(NamedTuple):
    tables: dict[str, int]  # numbers of rows

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def copy_database(
    source_url: str,
    target_url: str,
    tables: Sequence[Table],
    *,
    live: bool,
    on_progress: CopyProgress,
    on_step: CopySteps,
) -> CopyResult:
    """Copy all rows. `tables` are in an order in which they can be filled.

    With `live`, the source may change meanwhile: the copy has the state at the beginning.
    """
    # Any number of rows is copied by one statement, and a connection pooler may be in front of PostgreSQL.
    source = Database(source_url, is_pooled=True, statement_timeout=None)
    target = Database(target_url, is_pooled=True, statement_timeout=None)
    target_file = sqlite_file(target_url)
    is_interrupted = Event()

    def copy(reader: Connection) -> CopyResult:
        if not state_of(reader).is_usable:
            raise CopyError("The source does not have the schema of this release.")
        versions = _versions(reader)

        def fill(writer: Connection) -> dict[str, int]:
            _prepare_target(writer, tables)
            if target_file is not None:
                remove_marker(target_file)  # it is going to be another database
            counts = _copy_tables(reader, writer, tables, on_progress, on_step)
            _raise_versions(writer)
            if writer.dialect.name == "postgresql":
                writer.execute(text("ANALYZE"))
            if not live:
                _check_unchanged(source, versions)
            if is_interrupted.is_set():
                raise CopyError("The copy was interrupted.")
            return counts

        try:
            counts = target.write(lambda writing: fill(writing.connection), is_alone=True)
        except KeyboardInterrupt:  # it ends this wait, not the thread that writes to SQLite
            is_interrupted.set()
            raise
        if target_file is not None:
            write_marker(target_file, versions[IDENTITY_TOPIC])
        return CopyResult(counts)

    with closing(source), closing(target):
        return source.read(lambda reading: copy(reading.connection))


def _prepare_target(writer: Connection, tables: Sequence[Table]) -> None:
    """Create the tables if there are none. `CopyError` if they have rows."""
    status = state_of(writer).status
    if status in (SchemaStatus.OTHER, SchemaStatus.OLDER):
        raise CopyError(
            "The target does not have the schema of this release. Use an empty database."
        )
    if status is SchemaStatus.EMPTY:
        run_migrations(writer)
    if writer.dialect.name == "sqlite":
        writer.execute(text("PRAGMA defer_foreign_keys = ON"))
    else:
        names = ", ".join(f'"{table.name}"' for table in tables)
        writer.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
    for table in reversed(tables):
        if _has_data(writer, table):
            raise CopyError(
                f"The target has data in the table {table.name}. Use an empty database."
            )
        writer.execute(table.delete())


def _has_data(writer: Connection, table: Table) -> bool:
    if table.name in _FILLED_BY_MIGRATION:
        return False
    query = select(text("1")).select_from(table).limit(1)
    if table.name == "users":
        query = query.where(table.c.id > 0)  # the public is a row of the migration
    return writer.execute(query).first() is not None


def _copy_tables(
    reader: Connection,
    writer: Connection,
    tables: Sequence[Table],
    on_progress: CopyProgress,
    on_step: CopySteps,
) -> dict[str, int]:
    counts = {table.name: _count(reader, table) for table in tables}
    total = sum(counts.values())
    done = 0
    for table in tables:
        on_step(f"copying {table.name} ({counts[table.name]} rows)")
        for batch_rows in _copy_rows(reader, writer, table):
            done += batch_rows
            on_progress(done, total)
        set_last_id(writer, table, last_id(reader, table))
        if _count(writer, table) != counts[table.name]:
            raise CopyError(f"Not all rows of {table.name} were copied. Run the command again.")
    return counts


def _copy_rows(reader: Connection, writer: Connection, table: Table) -> Iterator[int]:
    """Copy a table in batches, and yield their sizes."""
    plain = plain_table(table)
    # Rows that are referred to may come later, so these references are filled in the end.
    references = self_references(table)
    later: list[Row] = []
    for batch in rows_of(reader, table, BATCH_ROWS):
        if references:
            later.extend(
                {f"new_{name}": row[name] for name in ("id", *references)} for row in batch
            )
            for row in batch:
                row.update(dict.fromkeys(references))
        _insert(writer, plain, batch)
        yield len(batch)
    if later:
        update = plain.update().where(plain.c.id == bindparam("new_id"))
        writer.execute(
            update.values({name: bindparam(f"new_{name}") for name in references}), later
        )


def _insert(writer: Connection, plain: Table, batch: Sequence[Row]) -> None:
    try:
        with writer.begin_nested():
            writer.execute(insert(plain), batch)
    except (DBAPIError, OverflowError):
        _insert_one_by_one(writer, plain, batch)


def _insert_one_by_one(writer: Connection, plain: Table, batch: Sequence[Row]) -> None:
    """To say which row the target refuses."""
    for row in batch:
        try:
            writer.execute(insert(plain), row)
        except (DBAPIError, OverflowError) as error:
            reason = getattr(error, "orig", None) or error
            place = ", ".join(f"{column.name} {row[column.name]}" for column in plain.primary_key)
            raise CopyError(
                f"Rows of {plain.name} cannot be copied: {reason} ({place}). Correct the source."
            ) from None


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _versions(connection: Connection) -> dict[str, int]:
    return {row.topic: row.version for row in connection.execute(select(topic_versions))}


def _check_unchanged(source: Database, versions: dict[str, int]) -> None:
    if source.read(lambda transaction: _versions(transaction.connection)) != versions:
        raise CopyError(
            "The source changed during the copy. Stop everything that writes to it and run the command again, "
            "or use --live to get the state at the beginning."
        )


def _raise_versions(writer: Connection) -> None:
    """Both databases can be written to from now on, and their versions must not be taken for each other's."""
    larger = func.max if writer.dialect.name == "sqlite" else func.greatest
    version = topic_versions.c.version
    changed = topic_versions.update().where(topic_versions.c.topic != IDENTITY_TOPIC)
    writer.execute(changed.values(version=larger(version + 1, Timestamp.pack(now()))))
