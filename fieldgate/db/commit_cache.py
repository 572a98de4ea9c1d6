"""A cache that every commit empties, whichever process made it. It can only exist on SQLite.

holders = CommitCache[bytes, TokenHolder](database, max_entries=1000)
current = holders.current()
holder = current.get(digest)
if holder is None:
    holder = ...  # read it with a `PreparedQuery`
    current.put(digest, holder)

`Database.commit_state` differs after each commit of any connection. So a value is exactly what a query would return
now, at a fraction of its cost. It needs no topic that writers would have to raise: a row that somebody changes by hand
counts, too.

On PostgreSQL nothing is cached. What tells of a commit there arrives later than the commit (LISTEN), or is a query
itself, which costs as much as the query that it would save.
"""

import sqlite3
from collections.abc import Hashable
from typing import Generic, TypeVar

from fieldgate.cache import BoundedCache
from fieldgate.db.database import Database

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class CommitCache(Generic[Key, Value]):
    """Maps keys to values other than None, until the next commit."""

    def __init__(self, database: Database, max_entries: int) -> None:
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
