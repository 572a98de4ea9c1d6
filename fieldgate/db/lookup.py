"""Lookups: queries of every request that take microseconds, such as who is calling.

FIND_TOKEN = Lookup(select(tokens.c.id).where(tokens.c.hash == bindparam("hash")))
row = database.lookup(FIND_TOKEN, hash=digest)

The SQL is made once, and the driver executes it: SQLAlchemy's own part takes several times as long as such a query.
So values and rows are those of the driver: timestamps are integers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ClauseElement, Select
from sqlalchemy.engine.interfaces import Dialect


class DriverStatement(NamedTuple):
    """A statement as a driver takes it."""

    sql: str
    order: Sequence[str]  # of the names of values; empty if the driver takes them by name
    constants: Mapping[str, Any]  # values that the statement has itself, as that of a LIMIT

    def arguments(self, values: Mapping[str, object]) -> Any:
        named = {**self.constants, **values}
        return tuple(named[name] for name in self.order) if self.order else named


def compile_for_driver(
    statement: ClauseElement, dialect: Dialect, columns: Sequence[str] | None = None
) -> DriverStatement:
    """`columns` are those of an INSERT."""
    compiled: Any = statement.compile(dialect=dialect, column_keys=columns)
    return DriverStatement(str(compiled), tuple(compiled.positiontup or ()), dict(compiled.params))


class Lookup:
    def __init__(self, statement: Select[Any]) -> None:
        self._statement = statement
        self._by_dialect: dict[str, DriverStatement] = {}

    def compiled(self, dialect: Dialect) -> DriverStatement:
        statement = self._by_dialect.get(dialect.name)
        if statement is None:
            statement = compile_for_driver(self._statement, dialect)
            self._by_dialect[dialect.name] = statement
        return statement
