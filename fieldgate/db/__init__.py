"""The database: one surface for SQLite and PostgreSQL, migrations, and who tells caches that data changed."""

from fieldgate.db.bulk import insert_rows
from fieldgate.db.data_versions import IDENTITY, Changes
from fieldgate.db.database import Database
from fieldgate.db.errors import is_out_of_reach
from fieldgate.db.prepared import Lookup, among, one_of
from fieldgate.db.snapshot import Snapshot, snapshot
from fieldgate.db.tables import Instant, metadata, now
from fieldgate.db.uid import new_uid

__all__ = [
    "IDENTITY",
    "Changes",
    "Database",
    "Instant",
    "Lookup",
    "Snapshot",
    "among",
    "insert_rows",
    "is_out_of_reach",
    "metadata",
    "new_uid",
    "now",
    "one_of",
    "snapshot",
]
