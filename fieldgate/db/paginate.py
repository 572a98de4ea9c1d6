"""Limit/offset pagination of queries.

    page = await paginate(connection, select(users), PageRequest(50, 100), order_by=[users.c.username_key, users.c.id])
    page.total, page.rows

`PreparedPage` does the same for lists that are requested often: one statement, compiled once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Row, Select, bindparam, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db.database import Database
from fieldgate.db.prepared import PreparedQuery
from fieldgate.pagination import PageRequest


class RowPage(NamedTuple):
    """One page of rows, and how many rows match in total."""

    total: int
    rows: Sequence[Row[Any]]


async def paginate(
    connection: AsyncConnection, query: Select[Any], page: PageRequest, *, order_by: Sequence[ColumnElement[Any]]
) -> RowPage:
    """Count the rows of a query and load one page of them.

    `order_by` must end with the primary key or another unique column: with ties, a row could be on two pages or none.
    Run this in a `Database.read_transaction`, so that both statements see the same data. The query must not be grouped
    or distinct.
    """
    total: int = (await connection.execute(_count_query(query))).scalar_one()
    rows = await connection.execute(query.order_by(*order_by).limit(page.limit).offset(page.offset))
    return RowPage(total, rows.all())


class PreparedPage:
    """A page query compiled once. Rows are tuples of the driver's own values."""

    def __init__(
        self, database: Database, query: Select[Any], order_by: Sequence[Column[Any]], *, descending: bool = False
    ) -> None:
        """`order_by` are selected columns, the last one unique; the query may have bind parameters."""
        count = _count_query(query).subquery()
        page = query.order_by(*_order_terms(query.selected_columns, order_by, descending))
        rows = page.limit(bindparam("limit")).offset(bindparam("offset")).subquery()
        # The count is in every row, also in the only one of an empty page, where all other columns are null.
        statement = select(count.c.count, *rows.c).select_from(count.outerjoin(rows, true()))
        self._query = PreparedQuery(database, statement.order_by(*_order_terms(rows.c, order_by, descending)))
        self._key_index = 1 + [column.name for column in rows.c].index(order_by[-1].name)

    async def load(self, page: PageRequest, **values: object) -> tuple[int, list[Sequence[Any]]]:
        """Return how many rows match, and the rows of a page."""
        found = await self._query.all(**values, limit=page.limit, offset=page.offset)
        key = self._key_index
        return found[0][0], [row[1:] for row in found if row[key] is not None]


def _count_query(query: Select[Any]) -> Select[int]:
    return query.with_only_columns(func.count().label("count"), maintain_column_froms=True).order_by(None)


def _order_terms(columns: Any, order_by: Sequence[Column[Any]], descending: bool) -> list[ColumnElement[Any]]:
    named = [columns[column.name] for column in order_by]
    return [column.desc() if descending else column.asc() for column in named]
