"""Tables as they are copied between databases: values that both drivers read and write alike, and the last ids."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, MetaData, Table, Text, cast, func, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.types import NullType

from fieldgate.db.tables import Timestamp


def plain_table(table: Table) -> Table:
    """The table with timestamps as numbers, and JSON as text."""
    columns = [
        Column(column.name, _plain_type(column), primary_key=column.primary_key)
        for column in table.columns
    ]
    return Table(table.name, MetaData(), *columns)


def _plain_type(column: "Column[Any]") -> Any:
    if isinstance(column.type, Timestamp):
        return BigInteger()
    if isinstance(column.type, JSON):
        return NullType()  # a text without a type: PostgreSQL converts no other to JSON
    return column.type


def rows_of(reader: Connection, table: Table, batch_rows: int) -> Iterator[list[dict[str, Any]]]:
    """The rows for `plain_table`, in batches. Not all are in memory."""
    columns = []
    for column in plain_table(table).columns:
        is_json = isinstance(column.type, NullType)
        columns.append(cast(column, Text).label(column.name) if is_json else column)
    result = reader.execute(select(*columns), execution_options={"yield_per": batch_rows})
    try:
        for batch in result.mappings().partitions():
            yield [dict(row) for row in batch]
    finally:
        result.close()  # an open cursor would keep its state of an SQLite database


def self_references(table: Table) -> list[str]:
    """Columns that refer to rows of the same table."""
    return [key.parent.name for key in table.foreign_keys if key.column.table is table]


def last_id(connection: Connection, table: Table) -> int:
    """The last id that the database gave to a row of the table, which may be deleted."""
    column = table.autoincrement_column
    if column is None:
        return 0
    if connection.dialect.name == "sqlite":
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :table")
        last = connection.execute(query, {"table": table.name}).scalar()
    else:
        sequence = _sequence(connection, column)
        last = connection.execute(
            text(f"SELECT last_value FROM {sequence} WHERE is_called")  # noqa: S608
        ).scalar()
    return last or 0


def set_last_id(connection: Connection, table: Table, last: int) -> None:
    column = table.autoincrement_column
    if column is None or not last:
        return
    if connection.dialect.name == "sqlite":
        values = {"table": table.name, "last": last}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), values)
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), values
        )
    else:
        connection.execute(select(func.setval(_sequence(connection, column), last)))


def _sequence(connection: Connection, column: "Column[Any]") -> str:
    """The name of PostgreSQL's sequence that gives the ids."""
    query = select(func.pg_get_serial_sequence(column.table.name, column.name))
    return str(connection.execute(query).scalar_one())
