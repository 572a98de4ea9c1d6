"""The database: one surface for SQLite and PostgreSQL, migrations, and who tells caches that data changed."""

from fieldgate.db.changes import Changes
from fieldgate.db.database import OUT_OF_REACH, Database
from fieldgate.db.lookup import Lookup
from fieldgate.db.tables import Instant, metadata, now

__all__ = ["OUT_OF_REACH", "Changes", "Database", "Instant", "Lookup", "metadata", "now"]
