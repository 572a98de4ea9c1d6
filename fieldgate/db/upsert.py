"""Insert-or-update for SQLite and PostgreSQL.

statement = upsert(database.dialect, countries)
await connection.execute(statement, [{"id": 1, "name": "…"}, …])
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine.interfaces import Dialect


def upsert(
    dialect: Dialect,
    table: Table,
    update: Mapping[str, Any] | None = None,
    where: ColumnElement[bool] | None = None,
) -> Any:
    """Build an INSERT that updates the row if its primary key exists.

    By default all other columns are replaced; `update` names the columns to set instead, as expressions.
    With `where`, only an existing row that matches is updated.
    """
    statement = _insert(dialect, table)
    if update is None:
        update = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=update, where=where)


def insert_missing(dialect: Dialect, table: Table) -> Any:
    """Build an INSERT that leaves existing rows unchanged."""
    return _insert(dialect, table).on_conflict_do_nothing()


def _insert(dialect: Dialect, table: Table) -> Any:
    if dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # not loaded when SQLite is used

    return postgresql.insert(table)
