"""Pages of rows, on both databases."""

import pytest
from sqlalchemy import bindparam, null, select

from fieldgate.db import Database, PreparedPage, insert_rows, paginate
from fieldgate.db.tables import topic_versions
from fieldgate.pagination import PageRequest

TOPIC, VERSION = topic_versions.c.topic, topic_versions.c.version
TEST_ROWS = select(TOPIC, VERSION).where(TOPIC.like("test %"))
ROWS = [(f"test {number}", number // 3) for number in range(9)]  # versions repeat, topics do not


@pytest.fixture
async def nine_rows(database: Database) -> Database:
    async with database.transaction() as connection:
        await insert_rows(connection, topic_versions, [{"topic": topic, "version": v} for topic, v in ROWS])
    return database


@pytest.mark.parametrize(("limit", "offset"), [(4, 0), (4, 4), (4, 8), (4, 9), (100, 0), (1, 10**12)])
async def test_page_and_count(nine_rows: Database, limit: int, offset: int) -> None:
    page = await paginate(nine_rows, TEST_ROWS, PageRequest(limit, offset), order_by=[VERSION.desc(), TOPIC.desc()])
    assert page.total == 9
    assert [tuple(row) for row in page.rows] == ROWS[::-1][offset : offset + limit]


async def test_own_order_of_the_query_is_kept_first(nine_rows: Database) -> None:
    query = TEST_ROWS.order_by(VERSION.desc())
    count, rows = await paginate(nine_rows, query, PageRequest(2, 2), order_by=[TOPIC])
    assert (count, [row.topic for row in rows]) == (9, ["test 8", "test 3"])


async def test_query_without_a_condition(nine_rows: Database) -> None:
    page = await paginate(nine_rows, select(TOPIC), PageRequest(1000, 0), order_by=[TOPIC])
    assert page.total == len(page.rows) >= 9


async def test_no_match(nine_rows: Database) -> None:
    page = await paginate(nine_rows, TEST_ROWS.where(VERSION > 100), PageRequest(), order_by=[TOPIC])
    assert page == (0, [])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("limit", "offset"), [(4, 0), (4, 4), (4, 8), (4, 9), (100, 0)])
async def test_prepared_page_and_count(nine_rows: Database, limit: int, offset: int, descending: bool) -> None:
    query = TEST_ROWS.where(bindparam("lowest") <= VERSION)
    prepared = PreparedPage(nine_rows, query, (VERSION, TOPIC), descending=descending)
    expected = ROWS[3:][:: -1 if descending else 1][offset : offset + limit]
    count, rows = await prepared.load(PageRequest(limit, offset), lowest=1)
    assert (count, [tuple(row) for row in rows]) == (6, expected)


async def test_prepared_page_without_match(nine_rows: Database) -> None:
    prepared = PreparedPage(nine_rows, TEST_ROWS.where(VERSION > 100), (TOPIC,))
    assert await prepared.load(PageRequest()) == (0, [])


async def test_prepared_page_keeps_rows_with_null_columns(nine_rows: Database) -> None:
    query = select(null().label("before"), TOPIC, null().label("after")).where(TOPIC.like("test %"))
    prepared = PreparedPage(nine_rows, query, (TOPIC,))
    count, rows = await prepared.load(PageRequest(2, 1))
    assert (count, [tuple(row) for row in rows]) == (9, [(None, "test 1", None), (None, "test 2", None)])
