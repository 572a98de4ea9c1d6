"""New migrations follow the rules of CONTRIBUTING.md: the release before works on, and nobody waits for a lock."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event

from fieldgate.db import Database, migrations
from fieldgate.db.migrations import revisions
from tests.databases import postgres_database

FIRST_WITH_RULES = "0016"
LARGE_TABLES = {"events", "event_documents", "event_words", "event_history", "event_sources"}

_RULES = [
    (r"ALTER TABLE \S+ DROP COLUMN", "removes a column"),
    (r"DROP TABLE", "removes a table"),
    (r"ALTER TABLE \S+ RENAME", "renames something"),
    (r"ALTER TABLE \S+ ALTER COLUMN \S+ (TYPE|SET NOT NULL)", "makes a column stricter, or rewrites it"),
    (r"ALTER TABLE \S+ ADD COLUMN (?!.*DEFAULT).*NOT NULL", "adds a column that the release before cannot fill"),
    (r"ALTER TABLE \S+ ADD CONSTRAINT (?!.*NOT VALID)", "checks all rows under a lock"),
]


def broken_rules(statements: Sequence[str]) -> list[str]:
    """What is wrong with the statements of an upgrade. Tables that it creates itself are nobody else's yet."""
    created = {match[1] for each in statements if (match := re.search(r"CREATE TABLE (\S+)", each))}
    found = []
    for statement in (" ".join(each.split()) for each in statements):
        table = re.search(r"(?:ALTER TABLE|UPDATE|DELETE FROM| ON) (\S+)", statement)
        name = table[1] if table else ""
        if name in created:
            continue
        found += [f"{text}: {statement}" for pattern, text in _RULES if re.match(pattern, statement, re.IGNORECASE)]
        if re.match(r"CREATE (UNIQUE )?INDEX (?!CONCURRENTLY)", statement):
            found.append(f"creates an index under a lock: {statement}")
        if re.match(r"(UPDATE|DELETE FROM) ", statement) and name in LARGE_TABLES:
            found.append(f"changes a large table: {statement}")
    return found


@pytest.mark.parametrize(
    ("statement", "is_allowed"),
    [
        ("ALTER TABLE events ADD COLUMN note TEXT", True),
        ("ALTER TABLE events ADD COLUMN note TEXT DEFAULT '' NOT NULL", True),
        ("ALTER TABLE events ADD COLUMN note TEXT NOT NULL", False),
        ("ALTER TABLE events DROP COLUMN slug", False),
        ("DROP TABLE event_words", False),
        ("ALTER TABLE users RENAME username TO name", False),
        ("ALTER TABLE users ALTER COLUMN username TYPE TEXT", False),
        ("ALTER TABLE users ADD CONSTRAINT x CHECK (id > 0)", False),
        ("ALTER TABLE users ADD CONSTRAINT x CHECK (id > 0) NOT VALID", True),
        ("CREATE INDEX x ON events (start)", False),
        ("CREATE INDEX CONCURRENTLY x ON events (start)", True),
        ("UPDATE events SET start = 0", False),
        ("UPDATE event_syncs SET reached = 0", True),
        ("CREATE TABLE visits (id INTEGER)", True),
    ],
)
def test_rules(statement: str, is_allowed: bool) -> None:
    assert (broken_rules([statement]) == []) is is_allowed


def test_new_tables_have_no_rules() -> None:
    assert broken_rules(["CREATE TABLE visits (id INTEGER)", "CREATE INDEX x ON visits (id)"]) == []


async def test_new_migrations_follow_the_rules(postgres: str) -> None:
    async with postgres_database(postgres, is_empty=True) as url:
        database = Database(url)
        statements: list[str] = []

        def record(connection: Connection, cursor: Any, statement: str, *_: object) -> None:
            statements.append(statement)

        event.listen(database._engine.sync_engine, "before_cursor_execute", record)
        for revision in revisions():
            statements.clear()
            await migrations._run(database, command.upgrade, revision)
            assert statements
            if revision >= FIRST_WITH_RULES:
                assert broken_rules(statements) == [], revision
        await database.close()


def test_every_migration_has_a_downgrade() -> None:
    script = ScriptDirectory.from_config(migrations._config())
    for each in script.walk_revisions():
        assert hasattr(each.module, "downgrade"), each.revision
