"""Limit/offset pagination of queries.

    page = await paginate(database, select(users), PageRequest(50, 100), order_by=[users.c.username_key, users.c.id])
    page.total, page.rows

`PreparedPage` does the same for lists that are requested often: one statement, or two for an empty page, compiled once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Row, Select, bindparam, func, select, true
from sqlalchemy.engine import Connection

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.prepared import PreparedQuery
from fieldgate.pagination import PageRequest


class RowPage(NamedTuple):
    """One page of rows, and how many rows match in total."""

    total: int
    rows: Sequence[Row[Any]]


async def paginate(
    database: AsyncDatabase,
    query: Select[Any],
    page: PageRequest,
    *,
    order_by: Sequence[ColumnElement[Any]],
) -> RowPage:
    """Count the rows of a query and load one page of them, in a read transaction of its own.

    `order_by` must end with the primary key or another unique column: with ties, a row could be on two pages or none.
    The query must not be grouped or distinct.
    """
    of_page = query.order_by(*order_by).limit(page.limit).offset(page.offset)

    def load(connection: Connection) -> RowPage:
        return RowPage(
            connection.execute(_count_query(query)).scalar_one(), connection.execute(of_page).all()
        )

    return await database.read(load)


class PreparedPage:
    """A page query compiled once. Rows are tuples of the driver's own values."""

    def __init__(
        self,
        database: AsyncDatabase,
        query: Select[Any],
        order_by: Sequence[Column[Any]],
        *,
        descending: bool = False,
    ) -> None:
        """`order_by` are selected columns, the last one unique; the query may have bind parameters."""
        ordered = query.order_by(*_order_terms(query.selected_columns, order_by, descending))
        page = ordered.limit(bindparam("limit")).offset(bindparam("offset"))
        count = _count_query(query)
        self._query = PreparedQuery(
            database, page.add_columns(count.correlate(None).scalar_subquery())
        )
        # An empty page has no row for the count. This takes longer: the page is stored and sorted again.
        counted, rows = count.subquery(), page.subquery()
        self._any_page = PreparedQuery(
            database,
            select(*rows.c, counted.c.count)
            .select_from(counted.outerjoin(rows, true()))
            .order_by(*_order_terms(rows.c, order_by, descending)),
        )
        self._key_index = [column.name for column in rows.c].index(order_by[-1].name)

    async def load(self, page: PageRequest, **values: object) -> tuple[int, list[Sequence[Any]]]:
        """Return how many rows match, and the rows of a page."""
        values = {**values, "limit": page.limit, "offset": page.offset}
        found = await self._query.all(**values) or await self._any_page.all(**values)
        key = self._key_index
        return found[0][-1], [row[:-1] for row in found if row[key] is not None]


def _count_query(query: Select[Any]) -> Select[int]:
    return query.with_only_columns(
        func.count().label("count"), maintain_column_froms=True
    ).order_by(None)


def _order_terms(
    columns: Any, order_by: Sequence[Column[Any]], descending: bool
) -> list[ColumnElement[Any]]:
    named = [columns[column.name] for column in order_by]
    return [column.desc() if descending else column.asc() for column in named]
