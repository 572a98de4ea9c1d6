"""Statements that are compiled once and executed by the driver, for queries of every request, and their results.

find = PreparedQuery(database, select(tokens.c.id).where(tokens.c.hash == bindparam("hash")))
row = await find.first(hash=digest)

holders = CommitCache[bytes, TokenHolder](database, max_entries=1000)
current = holders.current()
holder = current.get(digest)  # None: read it, then current.put(digest, holder)
"""

import json
import sqlite3
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Select,
    any_,
    bindparam,
    column,
    func,
    literal,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.sql.dml import ReturningDelete, ReturningUpdate
from sqlalchemy.types import TypeEngine

from fieldgate.cache import BoundedCache
from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.lookup import DriverStatement, compile_for_driver
from fieldgate.db.upsert import sqlite_driver

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class _Compiled(NamedTuple):
    sql: str
    param_order: Sequence[str]
    literal_params: Mapping[str, Any]  # such as that of a LIMIT


class PreparedQuery:
    """Bypasses the SQLAlchemy engine, which takes longer than such a query. Values and rows are the driver's own."""

    def __init__(
        self,
        database: AsyncDatabase,
        statement: Select[Any] | ReturningUpdate[Any] | ReturningDelete[Any],
    ) -> None:
        self._database = database
        self._statement = statement
        self._by_driver: dict[str, DriverStatement] = {}

    def _of_driver(self, dialect: Dialect) -> DriverStatement:
        statement = self._by_driver.get(dialect.driver)
        if statement is None:
            statement = compile_for_driver(self._statement, dialect)
            self._by_driver[dialect.driver] = statement
        return statement

    @cached_property
    def _compiled(self) -> _Compiled:
        """Compiled when it is needed first: a service has many statements, and a start should be short."""
        compiled = self._statement.compile(dialect=self._database.dialect)
        return _Compiled(str(compiled), compiled.positiontup or (), compiled.params)

    async def all(self, **values: object) -> Sequence[Sequence[Any]]:
        """Return all rows. On SQLite this blocks the event loop, so they must be few."""
        arguments = self._arguments(values)
        if self._database.is_sqlite:
            return self._database.sqlite_reader().execute(self._compiled.sql, arguments).fetchall()
        async with self._database.pooled_connection() as connection:
            found: Sequence[Sequence[Any]] = await connection.fetch(self._compiled.sql, *arguments)
        return found

    async def first(self, **values: object) -> Sequence[Any] | None:
        """Return the first row, or None."""
        arguments = self._arguments(values)
        if self._database.is_sqlite:
            row: Sequence[Any] | None = (
                self._database.sqlite_reader().execute(self._compiled.sql, arguments).fetchone()
            )
            return row
        async with self._database.pooled_connection() as connection:
            found = await connection.fetchrow(self._compiled.sql, *arguments)
        return None if found is None else tuple(found)

    def execute(self, connection: Connection, /, **values: object) -> Sequence[Sequence[Any]]:
        """Return all rows, in the transaction of a connection."""
        driver = sqlite_driver(connection)
        if driver is not None:
            return driver.execute(self._compiled.sql, self._arguments(values)).fetchall()
        if self._database.is_sqlite:
            arguments = tuple(self._arguments(values))
            return connection.exec_driver_sql(self._compiled.sql, arguments).all()
        statement = self._of_driver(connection.dialect)
        return connection.exec_driver_sql(statement.sql, statement.arguments(values)).all()

    def _arguments(self, named: dict[str, object]) -> list[object]:
        _, order, literals = self._compiled
        values = [named[name] if name in named else literals[name] for name in order]
        if self._database.is_sqlite:  # it has no list parameters; see in_bound_list
            return [json.dumps(value) if isinstance(value, list) else value for value in values]
        return values


def in_bound_list(
    database: AsyncDatabase, key: Column[Any], name: str, kind: type[TypeEngine[Any]] = BigInteger
) -> ColumnElement[bool]:
    """Return a condition: the key is in the list bound to `name`, which can have any length."""
    if database.is_sqlite:
        return key.in_(select(column("value")).select_from(func.json_each(bindparam(name))))
    return key == any_(bindparam(name, type_=ARRAY(kind)))


def in_values(
    database: AsyncDatabase, key: Column[Any], values: Collection[Any]
) -> ColumnElement[bool]:
    """Return a condition: the key is one of these values. Unlike `in_`, it takes any number of them."""
    if database.is_sqlite:
        return key.in_(
            select(column("value")).select_from(func.json_each(json.dumps(list(values))))
        )
    return key == any_(literal(list(values), ARRAY(key.type)))


class CommitCache(Generic[Key, Value]):
    """Maps keys to values other than None, until the next commit of any process.

    So a value is exactly what a query would return now, at a fraction of its cost. On PostgreSQL nothing is cached:
    to ask for commits is a query itself.
    """

    def __init__(self, database: AsyncDatabase, max_entries: int) -> None:
        self._database = database
        self._max_entries = max_entries if database.is_sqlite else 0
        self._values = BoundedCache[Key, Value](self._max_entries)
        self._reader: sqlite3.Connection | None = None
        self._state: object = None

    def current(self) -> BoundedCache[Key, Value]:
        """Return the values read since the last commit. On PostgreSQL there are none, and none are stored.

        After a commit it is another object. So a value that was read before the commit, and is put here after it, is
        not found again.
        """
        if not self._database.is_sqlite:
            return self._values
        reader = self._database.sqlite_reader()
        state = self._database.commit_state()
        if state != self._state or reader is not self._reader:
            self._values = BoundedCache(self._max_entries)
            self._reader, self._state = reader, state
        return self._values
