"""Transactions: what the functions get that `Database.read` and `Database.write` run.

    def rename(transaction: WriteTransaction, caller: Caller, uid: str, name: str) -> None:
        transaction.execute(RENAME, {"uid": uid, "name": name})
        transaction.log(caller, LogEntry(...))
        transaction.changed("assets")

The entries of the log and the topics are written at the end, each kind with one statement.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Executable, event, func, select
from sqlalchemy.engine import Connection, CursorResult, Engine

from fieldgate.db import tables
from fieldgate.db.log_entries import LogEntry, insert_log_entries
from fieldgate.db.topics import raise_versions, read_versions
from fieldgate.identity import Caller

Transaction = TypeVar("Transaction", bound="ReadTransaction")
Result = TypeVar("Result")

_SELECT_NOW = select(func.now())
_BEGIN = "begin_statement"  # an option of connections
_BEGIN_READ = {
    "sqlite": "BEGIN DEFERRED",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}
_BEGIN_WRITE = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "BEGIN"}


class ReadTransaction:
    """One snapshot of the data."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._versions: dict[str, int] = {}  # that were read

    def execute(
        self,
        statement: Executable,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> CursorResult[Any]:
        return self.connection.execute(statement, parameters)

    @cached_property
    def now(self) -> datetime:
        """The time that decides what has ended. On PostgreSQL by the server's clock, so that several machines agree."""
        if self.connection.dialect.name == "sqlite":
            return tables.now()
        now: datetime = self.execute(_SELECT_NOW).scalar_one()
        return now.astimezone(UTC)

    def versions(self, *topics: str) -> tuple[int, ...]:
        """The versions of topics. A response that is kept reads them before anything else."""
        unknown = [topic for topic in topics if topic not in self._versions]
        if unknown:
            self._versions.update(
                zip(unknown, read_versions(self.connection, unknown), strict=True)
            )
        return tuple([self._versions[topic] for topic in topics])


class WriteTransaction(ReadTransaction):
    """A transaction that writes. If its function raises, nothing is written."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._log_entries: list[tuple[Caller, LogEntry]] = []
        self._topics: set[str] = set()

    def log(self, by: Caller, *entries: LogEntry) -> None:
        """Add entries to the log."""
        self._log_entries.extend((by, entry) for entry in entries)

    def changed(self, *topics: str) -> None:
        """Note that data of these topics has changed."""
        self._topics.update(topics)

    def finish(self) -> None:
        """Write what was collected. Last, because other writers wait for these rows until the commit."""
        if self._log_entries:
            insert_log_entries(self.connection, self._log_entries)
        if self._topics:
            raise_versions(self.connection, self._topics)


def run_in(transaction: Transaction, function: Callable[[Transaction], Result]) -> Result:
    """Run a function in a transaction. An error that ends a loop elsewhere, where futures carry it, is a defect."""
    try:
        return function(transaction)
    except StopIteration as error:
        raise RuntimeError("a function of a transaction raised StopIteration") from error


def begin_transactions(engine: Engine) -> None:
    """Let connections begin with a statement. The drivers' own ways leave out options of both databases."""
    event.listen(engine, "begin", _begin)


def for_reads(engine: Engine) -> Engine:
    return engine.execution_options(**{_BEGIN: _BEGIN_READ[engine.dialect.name]})


def for_writes(engine: Engine) -> Engine:
    return engine.execution_options(**{_BEGIN: _BEGIN_WRITE[engine.dialect.name]})


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()[_BEGIN])
