"""Insert-or-update, bulk inserts, long value lists and uids, on both databases."""

from sqlalchemy import func, select

from fieldgate.accounts.tables import users
from fieldgate.db import Database, in_values, insert_missing, insert_rows, new_uid, upsert
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


async def test_bulk_insert_and_in_values_take_any_number(database: Database) -> None:
    topics = [f"topic {number}" for number in range(40_000)]
    async with database.transaction() as connection:
        await insert_rows(connection, topic_versions, [{"topic": topic, "version": 1} for topic in topics])
        await insert_rows(connection, topic_versions, [])
        counted = select(func.count()).select_from(topic_versions)
        all_rows = await connection.execute(counted.where(in_values(database, topic_versions.c.topic, topics)))
        some_rows = await connection.execute(
            counted.where(in_values(database, topic_versions.c.topic, ["topic 7", "'", "é"]))
        )
        no_users = select(func.count()).select_from(users).where(in_values(database, users.c.id, []))
        no_rows = await connection.execute(no_users)
        assert (all_rows.scalar_one(), some_rows.scalar_one(), no_rows.scalar_one()) == (40_000, 1, 0)


def test_uids_are_unique_and_well_formed() -> None:
    uids = {new_uid("p") for _ in range(10_000)}
    assert len(uids) == 10_000
    assert {len(uid) for uid in uids} == {22}
    assert {uid[0] for uid in uids} == {"p"}
    assert len({letter for uid in uids for letter in uid[1:]}) == 57
