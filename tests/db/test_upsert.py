"""Insert-or-update, bulk inserts, long value lists and uids, on both databases."""

import pytest
from sqlalchemy import bindparam, func, null, select

from fieldgate.accounts.tables import users
from fieldgate.db import (
    AsyncDatabase,
    PreparedPage,
    in_values,
    insert_missing,
    insert_rows,
    new_uid,
    paginate,
    upsert,
)
from fieldgate.db.tables import topic_versions
from fieldgate.pagination import PageRequest

OLD = [{"topic": "test a", "version": 1}, {"topic": "test b", "version": 2}]
NEW = [{"topic": "test b", "version": 20}, {"topic": "test c", "version": 30}]


async def _stored(database: AsyncDatabase) -> dict[str, int]:
    query = select(topic_versions).where(topic_versions.c.topic.like("test %"))
    async with database.read_transaction() as connection:
        return {row.topic: row.version for row in await connection.execute(query)}


async def test_upsert_inserts_new_rows_and_replaces_existing(database: AsyncDatabase) -> None:
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(upsert(connection.dialect, topic_versions), rows)
    assert await _stored(database) == {"test a": 1, "test b": 20, "test c": 30}


async def test_upsert_can_set_an_expression(database: AsyncDatabase) -> None:
    increment = upsert(database.dialect, topic_versions, {"version": topic_versions.c.version + 1})
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(increment, rows)
    assert await _stored(database) == {"test a": 1, "test b": 3, "test c": 30}


async def test_insert_missing_keeps_existing_rows(database: AsyncDatabase) -> None:
    for rows in (OLD, NEW):
        async with database.transaction() as connection:
            await connection.execute(
                insert_missing(connection.dialect, topic_versions).values(rows)
            )
    assert await _stored(database) == {"test a": 1, "test b": 2, "test c": 30}


async def test_bulk_insert_and_in_values_take_any_number(database: AsyncDatabase) -> None:
    topics = [f"topic {number}" for number in range(40_000)]
    async with database.transaction() as connection:
        await insert_rows(
            connection, topic_versions, [{"topic": topic, "version": 1} for topic in topics]
        )
        await insert_rows(connection, topic_versions, [])
        counted = select(func.count()).select_from(topic_versions)
        all_rows = await connection.execute(
            counted.where(in_values(database, topic_versions.c.topic, topics))
        )
        some_rows = await connection.execute(
            counted.where(in_values(database, topic_versions.c.topic, ["topic 7", "'", "é"]))
        )
        no_users = (
            select(func.count()).select_from(users).where(in_values(database, users.c.id, []))
        )
        no_rows = await connection.execute(no_users)
        assert (all_rows.scalar_one(), some_rows.scalar_one(), no_rows.scalar_one()) == (
            40_000,
            1,
            0,
        )


def test_uids_are_unique_and_well_formed() -> None:
    uids = {new_uid("p") for _ in range(10_000)}
    assert len(uids) == 10_000
    assert {len(uid) for uid in uids} == {22}
    assert {uid[0] for uid in uids} == {"p"}
    assert len({letter for uid in uids for letter in uid[1:]}) == 57


TOPIC, VERSION = topic_versions.c.topic, topic_versions.c.version
TEST_ROWS = select(TOPIC, VERSION).where(TOPIC.like("test %"))
ROWS = [(f"test {number}", number // 3) for number in range(9)]  # versions repeat, topics do not


@pytest.fixture
async def nine_rows(database: AsyncDatabase) -> AsyncDatabase:
    async with database.transaction() as connection:
        await insert_rows(
            connection, topic_versions, [{"topic": topic, "version": v} for topic, v in ROWS]
        )
    return database


@pytest.mark.parametrize(
    ("limit", "offset"), [(4, 0), (4, 4), (4, 8), (4, 9), (100, 0), (1, 10**12)]
)
async def test_page_and_count(nine_rows: AsyncDatabase, limit: int, offset: int) -> None:
    page = await paginate(
        nine_rows, TEST_ROWS, PageRequest(limit, offset), order_by=[VERSION.desc(), TOPIC.desc()]
    )
    assert page.total == 9
    assert [tuple(row) for row in page.rows] == ROWS[::-1][offset : offset + limit]


async def test_own_order_of_the_query_is_kept_first(nine_rows: AsyncDatabase) -> None:
    query = TEST_ROWS.order_by(VERSION.desc())
    count, rows = await paginate(nine_rows, query, PageRequest(2, 2), order_by=[TOPIC])
    assert (count, [row.topic for row in rows]) == (9, ["test 8", "test 3"])


async def test_query_without_a_condition(nine_rows: AsyncDatabase) -> None:
    page = await paginate(nine_rows, select(TOPIC), PageRequest(1000, 0), order_by=[TOPIC])
    assert page.total == len(page.rows) >= 9


async def test_no_match(nine_rows: AsyncDatabase) -> None:
    page = await paginate(
        nine_rows, TEST_ROWS.where(VERSION > 100), PageRequest(), order_by=[TOPIC]
    )
    assert page == (0, [])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("limit", "offset"), [(4, 0), (4, 4), (4, 8), (4, 9), (100, 0)])
async def test_prepared_page_and_count(
    nine_rows: AsyncDatabase, limit: int, offset: int, descending: bool
) -> None:
    query = TEST_ROWS.where(bindparam("lowest") <= VERSION)
    prepared = PreparedPage(nine_rows, query, (VERSION, TOPIC), descending=descending)
    expected = ROWS[3:][:: -1 if descending else 1][offset : offset + limit]
    count, rows = await prepared.load(PageRequest(limit, offset), lowest=1)
    assert (count, [tuple(row) for row in rows]) == (6, expected)


async def test_prepared_page_without_match(nine_rows: AsyncDatabase) -> None:
    prepared = PreparedPage(nine_rows, TEST_ROWS.where(VERSION > 100), (TOPIC,))
    assert await prepared.load(PageRequest()) == (0, [])


async def test_prepared_page_keeps_rows_with_null_columns(nine_rows: AsyncDatabase) -> None:
    query = select(null().label("before"), TOPIC, null().label("after")).where(TOPIC.like("test %"))
    prepared = PreparedPage(nine_rows, query, (TOPIC,))
    count, rows = await prepared.load(PageRequest(2, 1))
    assert (count, [tuple(row) for row in rows]) == (
        9,
        [(None, "test 1", None), (None, "test 2", None)],
    )
