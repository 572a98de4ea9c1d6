"""Bulk inserts, long value lists and uids, on both databases."""

from sqlalchemy import func, select

from fieldgate.accounts.tables import users
from fieldgate.db import Database, in_values, insert_rows, new_uid
from fieldgate.db.tables import topic_versions


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
