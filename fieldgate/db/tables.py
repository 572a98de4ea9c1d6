"""The metadata that all tables share, the timestamp type, and the table of data versions.

Only migrations create tables. They state the conditions of partial indexes: in the metadata, these would load the
dialect of PostgreSQL where SQLite is used, which takes 2 MB.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Column, MetaData, String, Table
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
