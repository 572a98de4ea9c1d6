"""Many rows and many values, on both databases."""

from sqlalchemy import func, select

from fieldgate.accounts.tables import users
from fieldgate.db import Database, in_values, insert_rows, new_uid
from fieldgate.db.tables import topic_versions


async def test_rows_are_written_and_found_however_many(database: Database) -> None:
    topics = [f"topic {number}" for number in range(40_000)]
    async with database.transaction() as connection:
        await insert_rows(connection, topic_versions, [{"topic": topic, "version": 1} for topic in topics])
        await insert_rows(connection, topic_versions, [])
        counted = select(func.count()).select_from(topic_versions)
        of_all = await connection.execute(counted.where(in_values(database, topic_versions.c.topic, topics)))
        of_some = await connection.execute(
            counted.where(in_values(database, topic_versions.c.topic, ["topic 7", "'", "é"]))
        )
        nobody = select(func.count()).select_from(users).where(in_values(database, users.c.id, []))
        of_none = await connection.execute(nobody)
        assert (of_all.scalar_one(), of_some.scalar_one(), of_none.scalar_one()) == (40_000, 1, 0)


def test_identifiers_do_not_repeat() -> None:
    made = {new_uid("p") for _ in range(10_000)}
    assert len(made) == 10_000
    assert {len(uid) for uid in made} == {22}
    assert {uid[0] for uid in made} == {"p"}
    assert len({letter for uid in made for letter in uid[1:]}) == 57
