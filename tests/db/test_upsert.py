"""Insert-or-update, on both databases."""

from sqlalchemy import select

from fieldgate.db import Database, insert_missing, upsert
from fieldgate.db.tables import topic_versions

OLD = [{"topic": "test a", "version": 1}, {"topic": "test b", "version": 2}]
NEW = [{"topic": "test b", "version": 20}, {"topic": "test c", "version": 30}]


async def _stored(database: Database) -> dict[str, int]:
    query = select(topic_versions).where(topic_versions.c.topic.like("test %"))
    async with database.read_transaction() as connection:
        return {row.topic: row.version for row in await connection.execute(query)}


async def test_upsert_inserts_new_rows_and_replaces_existing(database: Database) -> None:
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(upsert(connection.dialect, topic_versions), rows)
    assert await _stored(database) == {"test a": 1, "test b": 20, "test c": 30}


async def test_upsert_can_set_an_expression(database: Database) -> None:
    increment = upsert(database.dialect, topic_versions, {"version": topic_versions.c.version + 1})
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(increment, rows)
    assert await _stored(database) == {"test a": 1, "test b": 3, "test c": 30}


async def test_insert_missing_keeps_existing_rows(database: Database) -> None:
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(insert_missing(connection.dialect, topic_versions).values(rows))
    assert await _stored(database) == {"test a": 1, "test b": 2, "test c": 30}
