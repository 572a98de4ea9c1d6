"""A statement compiled once and run on the driver itself, for what every request asks.

find = Lookup(database, select(tokens.c.id).where(tokens.c.hash == bindparam("hash")))
row = await find.first(hash=digest)
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Column, ColumnElement, Select, any_, bindparam, column, func, literal, select

from fieldgate.db.database import CONNECT_TIMEOUT, Database


class PreparedQuery:
    """SQLAlchemy's engine costs more than the query does; values and rows pass here as the driver has them."""

    def __init__(self, database: Database, statement: Select[Any]) -> None:
        compiled = statement.compile(dialect=database.dialect)
        self._database = database
        self._sql = str(compiled)
        self._param_order: Sequence[str] = compiled.positiontup or ()
        self._literal_params = compiled.params  # such as the number of a LIMIT

    async def all(self, **values: object) -> Sequence[Sequence[Any]]:
        """All rows; few enough for the event loop to wait for them."""
        arguments = self._arguments(values)
        if self._database.is_sqlite:
            return self._database.sqlite_reader().execute(self._sql, arguments).fetchall()
        pool = await self._database.postgres_pool()
        async with pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
            found: Sequence[Sequence[Any]] = await connection.fetch(self._sql, *arguments)
        return found

    async def first(self, **values: object) -> Sequence[Any] | None:
        """The first row, or None."""
        arguments = self._arguments(values)
        if self._database.is_sqlite:
            row: Sequence[Any] | None = self._database.sqlite_reader().execute(self._sql, arguments).fetchone()
            return row
        pool = await self._database.postgres_pool()
        async with pool.acquire(timeout=CONNECT_TIMEOUT) as connection:
            found = await connection.fetchrow(self._sql, *arguments)
        return None if found is None else tuple(found)

    def _arguments(self, named: dict[str, object]) -> list[object]:
        values = [named[name] if name in named else self._literal_params[name] for name in self._param_order]
        if self._database.is_sqlite:  # which takes no lists
            return [json.dumps(value) if isinstance(value, list) else value for value in values]
        return values


def in_bound_list(database: Database, key: Column[Any], name: str) -> ColumnElement[bool]:
    """Whether a key is in the list of numbers that `name` will be bound to, however long it is."""
    if database.is_sqlite:
        return key.in_(select(column("value")).select_from(func.json_each(bindparam(name))))
    return key == any_(bindparam(name, type_=ARRAY(BigInteger)))


def in_values(database: Database, key: Column[Any], values: Collection[Any]) -> ColumnElement[bool]:
    """Whether a key is one of these values, however many: each would else be a parameter, and those are limited."""
    if database.is_sqlite:
        return key.in_(select(column("value")).select_from(func.json_each(json.dumps(list(values)))))
    return key == any_(literal(list(values), ARRAY(key.type)))
