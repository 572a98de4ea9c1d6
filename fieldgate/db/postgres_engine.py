"""Opens connections to PostgreSQL, directly or through a connection pooler such as PgBouncer.

libpq reads the URL. A pooler in transaction mode gives each transaction another connection of the server, so nothing
may be kept there: no statement is prepared. A setting says that there is a pooler; one that is there without it is
found, because it tells clients another process number than the server's.
"""

from contextlib import suppress
from typing import Any

import psycopg
from psycopg.abc import RV, PQGen
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine
from sqlalchemy.engine.interfaces import Dialect

from fieldgate.db.database_identity import SELECT_IDENTITY, DatabaseIdentity
from fieldgate.db.json_text import JSON_OPTIONS
from fieldgate.db.outages import UnexpectedPooler
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.transactions import begin_transactions

CONNECT_TIMEOUT = 5  # seconds, for each host of the URL
STATEMENT_TIMEOUT = 30.0  # seconds for one statement
_CANCEL_TIMEOUT = 2.0  # seconds to ask the server to cancel a statement
# A network that swallows packets: the system gives up, also while this process only waits.
_NETWORK_LIMITS: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


class TimeLimitedConnection(psycopg.Connection[Any]):
    """A connection whose statements end. The driver itself waits for ever for a server that does not answer."""

    time_limit: float | None = STATEMENT_TIMEOUT
    is_interrupted = False

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for the answer to a statement. After the time limit the connection is of no use."""
        if self.is_interrupted:
            raise psycopg.errors.QueryCanceled("the caller has left")
        try:
            return super().wait(gen, interval, timeout or self.time_limit)
        except psycopg.errors._WaitTimeout:
            self.give_up()
            raise psycopg.OperationalError(
                f"no answer of the server for {self.time_limit:g} seconds"
            ) from None

    def interrupt(self) -> None:
        """End the statement that is running, and refuse others. For another thread."""
        self.is_interrupted = True
        self._ask_to_cancel()

    def give_up(self) -> None:
        """Close the connection. The server is asked to end the statement: it would keep its locks."""
        self._ask_to_cancel()
        self.close()

    def _ask_to_cancel(self) -> None:
        with suppress(psycopg.Error):  # the server does not answer
            self.cancel_safe(timeout=_CANCEL_TIMEOUT)


def create_postgres_engine(
    url: PostgresURL,
    identity: DatabaseIdentity,
    *,
    is_pooled: bool,
    connections: int,
    statement_timeout: float | None,
) -> Engine:
    """Parameters of a failing statement are hidden: errors are logged, and they can be secret."""
    engine = create_engine(
        "postgresql+psycopg://",
        isolation_level="AUTOCOMMIT",  # transactions begin with a statement of their own
        use_native_hstore=False,
        hide_parameters=True,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=CONNECT_TIMEOUT,
        pool_use_lifo=True,
        **JSON_OPTIONS,
    )

    def connect(
        _dialect: Dialect, _record: Any, _arguments: list[Any], options: dict[str, Any]
    ) -> Any:
        connection = TimeLimitedConnection.connect(
            url.text,
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT,
            prepare_threshold=None if is_pooled else 5,
            context=options.get("context"),
            **_NETWORK_LIMITS,
        )
        connection.time_limit = statement_timeout
        try:
            if not is_pooled and _has_pooler(connection):
                raise UnexpectedPooler
            identity.check(_select_identity(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    event.listen(engine, "do_connect", connect)
    begin_transactions(engine)
    return engine


def _has_pooler(connection: psycopg.Connection[Any]) -> bool:
    row = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
    return row is None or row[0] != connection.info.backend_pid


def _select_identity(connection: psycopg.Connection[Any]) -> int | None:
    """The identity of a database, None if it has no tables yet."""
    try:
        row = connection.execute(SELECT_IDENTITY).fetchone()
    except psycopg.errors.UndefinedTable:
        return None
    return None if row is None else int(row[0])
