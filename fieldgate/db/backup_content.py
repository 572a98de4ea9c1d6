"""What is in a backup. SQLite checks the whole file, and its rows are counted."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from fieldgate.db.data_versions import IDENTITY_TOPIC


class BackupError(Exception):
    """A backup cannot be made, or a file cannot be restored. The text says why and what to do."""


class BackupContent(NamedTuple):
    """What an SQLite file of Fieldgate has in it."""

    revision: str
    database_id: int
    tables: dict[str, int]  # numbers of rows

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def check_content(file: Path, shown: Path) -> BackupContent:
    """Check a file and read what is in it. `BackupError` if it is damaged or not from Fieldgate."""
    try:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            _check_programs(connection, shown)
            _check_integrity(connection, shown)
            return _read_content(connection, shown)
    except sqlite3.DatabaseError as error:
        raise BackupError(f"{shown} is damaged or not an SQLite database: {error}") from None


def _check_programs(connection: sqlite3.Connection, shown: Path) -> None:
    """Fieldgate has no triggers and views: reading or changing a row could run one that somebody added."""
    program = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
    ).fetchone()
    if program is not None:
        raise BackupError(
            f"{shown} has a {program[0]} {program[1]!r}, which is not from Fieldgate."
        )


def _check_integrity(connection: sqlite3.Connection, shown: Path) -> None:
    messages = [str(message) for (message,) in connection.execute("PRAGMA integrity_check(3)")]
    if messages != ["ok"]:
        raise BackupError(f"{shown} is damaged: {'; '.join(messages)}")
    reference = connection.execute("PRAGMA foreign_key_check").fetchone()
    if reference is not None:
        raise BackupError(
            f"{shown} is damaged: a row of {reference[0]} refers to a missing row of {reference[2]}."
        )


def _read_content(connection: sqlite3.Connection, shown: Path) -> BackupContent:
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    tables = [name for (name,) in connection.execute(query)]
    if not {"alembic_version", "changes"} <= set(tables):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    revision = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    database_id = connection.execute(
        "SELECT version FROM changes WHERE topic = ?", (IDENTITY_TOPIC,)
    ).fetchone()
    if revision is None or database_id is None or not isinstance(database_id[0], int):
        raise BackupError(f"{shown} is not a database of Fieldgate.")
    counts = {}
    for name in tables:
        if name != "alembic_version" and not name.startswith("sqlite_"):
            count = connection.execute(f'SELECT count(*) FROM "{name}"')  # noqa: S608  (names of tables)
            counts[name] = count.fetchone()[0]
    return BackupContent(revision[0], database_id[0], counts)
