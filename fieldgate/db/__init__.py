"""Access to the database, SQLite and PostgreSQL: transactions, queries, migrations, and data versions for caches."""

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.data_versions import IDENTITY_TOPIC, DataVersions
from fieldgate.db.database import Database, sqlite_file
from fieldgate.db.lookup import Lookup
from fieldgate.db.outages import is_unavailable
from fieldgate.db.paginate import PreparedPage, RowPage, paginate
from fieldgate.db.prepared import CommitCache, PreparedQuery, in_bound_list, in_values
from fieldgate.db.snapshot import Snapshot, snapshot
from fieldgate.db.tables import ClockTime, Timestamp, metadata, now
from fieldgate.db.transactions import ReadTransaction, WriteTransaction
from fieldgate.db.uid import is_asset_uid, new_uid
from fieldgate.db.upsert import insert_missing, insert_rows, insert_rows_sync, upsert

__all__ = [
    "IDENTITY_TOPIC",
    "AsyncDatabase",
    "ClockTime",
    "CommitCache",
    "DataVersions",
    "Database",
    "Lookup",
    "PreparedPage",
    "PreparedQuery",
    "ReadTransaction",
    "RowPage",
    "Snapshot",
    "Timestamp",
    "WriteTransaction",
    "in_bound_list",
    "in_values",
    "insert_missing",
    "insert_rows",
    "insert_rows_sync",
    "is_asset_uid",
    "is_unavailable",
    "metadata",
    "new_uid",
    "now",
    "paginate",
    "snapshot",
    "sqlite_file",
    "upsert",
]  # fmt: skip
