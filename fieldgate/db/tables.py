"""The metadata that all tables share, the timestamp type, and the table of data versions.

The migration creates the tables, and states the conditions of partial indexes: in the metadata, these would load the
dialect of PostgreSQL where SQLite is used, which takes 2 MB.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, MetaData, String, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Timestamp(TypeDecorator[datetime]):
    """A point in time, stored as integer microseconds since 1970.

    Both databases compare, sort and return it in the same way, also where a statement bypasses SQLAlchemy.
    """

    impl = BigInteger
    cache_ok = True

    @staticmethod
    def pack(timestamp: datetime) -> int:
        return (timestamp - _EPOCH) // _MICROSECOND

    @staticmethod
    def unpack(microseconds: int) -> datetime:
        return _EPOCH + microseconds * _MICROSECOND

    def process_bind_param(self, value: datetime | None, dialect: Any) -> int | None:  # noqa: ARG002
        return None if value is None else self.pack(value)

    def process_result_value(self, value: int | None, dialect: Any) -> datetime | None:  # noqa: ARG002
        return None if value is None else self.unpack(value)


def now() -> datetime:
    return datetime.now(UTC)


class ClockTime(FunctionElement[datetime]):
    """The time at which a statement is executed, by the clock of the database: on SQLite, in whole milliseconds."""

    type = Timestamp()
    inherit_cache = True


@compiles(ClockTime, "postgresql")
def _postgres_clock(*_: object, **__: object) -> str:
    return "CAST(EXTRACT(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)"


@compiles(ClockTime, "sqlite")
def _sqlite_clock(*_: object, **__: object) -> str:
    return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"


topic_versions = Table(
    "changes",
    metadata,
    Column("topic", String(40), primary_key=True),
    Column("version", BigInteger, nullable=False),
)

# Work that only one process does at a time; see `lease.py`.
leases = Table(
    "leases",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("holder", String(32), nullable=False),
    Column("expires", Timestamp, nullable=False),
)

# Who did what: see `log.py`.
log = Table(
    "log",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("made_at", Timestamp, nullable=False),
    Column("log_type", String(20), nullable=False),
    Column("action", String(40), nullable=False),
    # Who. Null and empty for a failed login, whose `username` is the one that was tried.
    Column("user_id", Integer),
    Column("user_uid", String(22), nullable=False),
    Column("username", String(150), nullable=False),
    Column(
        "credential", String(120), nullable=False
    ),  # session, password, command, or the name of a token
    Column("ip_address", String(45), nullable=False),
    Column("source", String(200), nullable=False),  # the program, as it names itself
    Column("request_id", String(64), nullable=False),
    # On what.
    Column(
        "model_name", String(20), nullable=False
    ),  # asset, user, token, session, event, log, review
    Column("object_uid", String(150), nullable=False),
    Column("object_name", String(255), nullable=False),
    # The user whom the entry is about, if it is about one: who got a permission, whose account was changed.
    Column("subject_id", Integer),
    Column("subject_uid", String(22), nullable=False),
    Column("subject_name", String(150), nullable=False),
    Column("owner_id", Integer),  # of the asset
    Column(
        "effect_count", Integer, nullable=False
    ),  # of a change of permissions: effects in `details`
    Column("times", Integer, nullable=False),  # how often within a minute
    Column(
        "details", JSON, nullable=False
    ),  # after the counts: SQLite reads it to get at what is behind it
    Column(
        "minute_key", String(72), unique=True
    ),  # of entries that are counted: minute, who, what, from where
    Index(None, "log_type", "id"),
    Index(None, "object_uid", "id"),
    Index(None, "user_id", "id"),
    sqlite_autoincrement=True,
)

# Entries by type. A type can have several rows: on PostgreSQL, a writer takes one that nobody has locked.
log_counts = Table(
    "log_counts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("log_type", String(20), nullable=False),
    Column("entries", Integer, nullable=False),
    sqlite_autoincrement=True,
)
