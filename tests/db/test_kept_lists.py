"""Kept lists: the first page is COUNT and LIMIT, later pages are parts of one read."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Executable, Result, Select, insert, select

from fieldgate.db.kept_lists import KeptLists, ListPage
from fieldgate.db.tables import topic_versions
from fieldgate.pagination import PageRequest
from tests.data.sql import read_sql, write_sql

COUNT = 25
# Rows of integers, in an order that is not that of their keys.
QUERY: Select[Any] = (
    select(topic_versions.c.version, (topic_versions.c.version * 2).label("double"))
    .where(topic_versions.c.topic.like("number %"))
    .order_by(topic_versions.c.version.desc())
)
EXPECTED = [(number, 2 * number) for number in reversed(range(COUNT))]


@pytest.fixture
def rows(database_url: str) -> None:
    with write_sql(database_url) as connection:
        values = [{"topic": f"number {number}", "version": number} for number in range(COUNT)]
        connection.execute(insert(topic_versions), values)


class Reader:
    """Reads pages, and notes the statements."""

    def __init__(self, connection: Connection, lists: KeptLists | None = None) -> None:
        self._connection = connection
        self._lists = lists or KeptLists()
        self.statements: list[str] = []

    def execute(self, statement: Executable) -> Result[Any]:
        self.statements.append(str(statement))
        return self._connection.execute(statement)

    def page(self, limit: int, offset: int = 0, *, version: int = 1) -> ListPage:
        key = ("numbers", version)
        return self._lists.page(self, key, lambda: QUERY, PageRequest(limit, offset))


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    with read_sql(database_url) as connection:
        yield connection


def test_first_page_is_count_and_limit(rows: None, connection: Connection) -> None:
    reader = Reader(connection)
    for _ in range(2):
        page = reader.page(4)
        assert page.count == COUNT
        assert [tuple(row) for row in page.rows] == EXPECTED[:4]
    limited, count, *again = reader.statements
    assert "count(*)" in count
    assert "ORDER BY" not in count
    assert "LIMIT" in limited
    assert again == [limited, count]


def test_a_first_page_that_is_not_full_is_not_counted(rows: None, connection: Connection) -> None:
    reader = Reader(connection)
    assert reader.page(COUNT + 1).count == COUNT
    assert len(reader.statements) == 1


def test_later_pages_are_parts_of_one_read(rows: None, connection: Connection) -> None:
    reader = Reader(connection)
    for offset in (4, 20, 24, 25, 1000, 4, 0):
        page = reader.page(4, offset)
        assert page.count == COUNT
        assert [tuple(row) for row in page.rows] == EXPECTED[offset : offset + 4]
    [statement] = reader.statements
    assert "LIMIT" not in statement


def test_another_version_is_another_list(rows: None, connection: Connection) -> None:
    reader = Reader(connection)
    for version in (1, 2, 1, 2):
        reader.page(4, 4, version=version)
    assert len(reader.statements) == 2


def test_a_list_that_is_too_long_is_not_kept(rows: None, connection: Connection) -> None:
    reader = Reader(connection, KeptLists(max_bytes=1000))
    for _ in range(2):
        page = reader.page(4, 4)
        assert [tuple(row) for row in page.rows] == EXPECTED[4:8]
    assert len(reader.statements) == 2


def test_an_empty_list(connection: Connection) -> None:
    for offset in (0, 4):
        reader = Reader(connection)
        page = reader.page(4, offset)
        assert (page.count, list(page.rows)) == (0, [])
        assert len(reader.statements) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), max_size=6))
def test_any_pages_in_any_order(
    rows: None, connection: Connection, pages: list[tuple[int, int]]
) -> None:
    reader = Reader(connection)
    for limit, offset in pages:
        page = reader.page(limit, offset)
        assert page.count == COUNT
        assert [tuple(row) for row in page.rows] == EXPECTED[offset : offset + limit]
