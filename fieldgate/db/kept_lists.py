"""Lists whose order is kept until their data changes, so that any page of any depth is a slice.

    page = kept_lists.page(transaction, key, query, PageRequest(50, 100))
    page.count, page.rows

The first page of a list is COUNT and LIMIT: most lists are never read further. From the second page on, the ids of
the whole list are kept. The key has the version of the data, so nothing has to be removed when the data changes.
"""

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
from sqlalchemy import Executable, Result, Select, func

from fieldgate.cache import SharedResults
from fieldgate.pagination import PageRequest

MAX_LISTS_BYTES = 64 * 1024 * 1024
BATCH_SIZE = 10_000  # rows that are read at a time
ENTRY_BYTES = 512  # of a kept list, beside its numbers

Columns = tuple["array[int]", ...]  # the numbers of a row, each column with those of all rows


class ListPage(msgspec.Struct, frozen=True):
    count: int  # of the whole list
    rows: Sequence[Sequence[int]]  # of the page


class Connected(Protocol):
    """A connection or a transaction."""

    def execute(self, statement: Executable, /) -> Result[Any]: ...


class KeptLists:
    """Kept lists of integers, such as the ids of a list."""

    def __init__(self, max_bytes: int = MAX_LISTS_BYTES) -> None:
        self._lists = SharedResults[Columns](max_bytes, _size)

    def page(
        self,
        connection: Connected,
        key: Hashable,
        make_query: Callable[[], Select[Any]],
        page: PageRequest,
    ) -> ListPage:
        """A page of an ordered query of columns with integers. It is only made if the list is not kept."""
        if page.offset or self._lists.find(key) is not None:
            columns = self.columns(key, lambda: read_columns(connection, make_query()))
            return slice_page(columns, page)
        query = make_query()
        rows = connection.execute(query.limit(page.limit)).all()
        if len(rows) < page.limit:
            return ListPage(len(rows), rows)
        count: int = connection.execute(_count_of(query)).scalar_one()
        return ListPage(count, rows)

    def columns(self, key: Hashable, read: Callable[[], Columns]) -> Columns:
        """The whole list, which `read` reads if it is not kept."""
        return self._lists.get(key, read)


def read_columns(connection: Connected, query: Select[Any]) -> Columns:
    """All rows of a query, in little memory."""
    columns = tuple(array("q") for _ in query.selected_columns)
    result = connection.execute(query.execution_options(yield_per=BATCH_SIZE))
    for rows in result.partitions():
        values: Iterable[Sequence[int]] = zip(*rows, strict=True)
        for column, more in zip(columns, values, strict=True):
            column.extend(more)
    return columns


def _count_of(query: Select[Any]) -> Select[Any]:
    return query.order_by(None).with_only_columns(func.count(), maintain_column_froms=True)


def slice_page(columns: Columns, page: PageRequest) -> ListPage:
    end = page.offset + page.limit
    rows = zip(*[column[page.offset : end] for column in columns], strict=True)
    return ListPage(len(columns[0]), list(rows))


def _size(columns: Columns) -> int:
    return ENTRY_BYTES + sum(len(column) * column.itemsize for column in columns)
