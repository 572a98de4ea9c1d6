"""Lazy lists of records: nothing is requested before they are used."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from fieldgate_client.errors import FieldgateError
from fieldgate_client.event_loop_thread import EventLoopThread
from fieldgate_client.exports import formats
from fieldgate_client.exports.export import Progress, RecordWriter, export_pages, export_pages_async
from fieldgate_client.list_query import ListQuery
from fieldgate_client.records import DeletedEvent
from fieldgate_client.server_url import API_ROOT
from fieldgate_client.since import deleted_query, next_since, since_parameters
from fieldgate_client.walk import Walk, WalkReport

if TYPE_CHECKING:
    import pandas
    import polars

    from fieldgate_client.exports.geojson import Position
    from fieldgate_client.exports.output_file import Target
    from fieldgate_client.incremental import UpdateResult

Record = TypeVar("Record")
Written = TypeVar("Written")


class AsyncRecordList(Generic[Record]):
    """`async for event in client.events(…)`; `await list.count()`; `list[:10]`; `await list.to_csv(path)`."""

    def __init__(self, query: ListQuery[Record]) -> None:
        self.query = query
        self.report = WalkReport()  # of the last walk

    def __repr__(self) -> str:
        return _describe(type(self).__name__, self.query)

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._records()

    async def _records(self) -> AsyncIterator[Record]:
        async with aclosing(self.pages()) as pages:
            async for page in pages:
                for record in page:
                    yield record

    def pages(self) -> AsyncGenerator[list[Record], None]:
        """The records page by page."""
        return self._read(self.query.decoded().walk())

    def raw_pages(self, *, is_fixed: bool = False) -> AsyncGenerator[list[msgspec.Raw], None]:
        """The records as JSON, exactly as the server sent them."""
        return self._read(self.query.walk(is_fixed=is_fixed))

    async def _read(self, walk: Walk) -> AsyncGenerator[list[Any], None]:
        self.report = walk.report
        async with aclosing(walk.pages()) as pages:
            async for page in pages:
                yield page

    async def count(self) -> int:
        count = await self.query.count()
        if count is None:
            raise FieldgateError(f"{self.query.path} does not tell how many records it has.")
        return count

    async def first(self) -> Record | None:
        page = await self.query.fetch_page(self.query.start, 1)
        return self.query.decode(page.records[:1])[0] if page.records else None

    async def deleted(self) -> list[DeletedEvent]:
        """Of `events(since=…)`: what was deleted, merged or hidden since then, whatever the filters."""
        return [each async for each in AsyncRecordList(deleted_query(self.query, DeletedEvent))]

    @property
    def next_since(self) -> datetime:
        """The `since` for the next time: the server's clock at the first page, minus five minutes."""
        return next_since(self.report.started_at)

    async def update(self, path: str | os.PathLike[str], *, on_progress: Progress | None = None) -> UpdateResult:
        """Bring an NDJSON file with this list up to date: what changed, and what is gone. The first run reads all."""
        from fieldgate_client.incremental import update_file

        return await update_file(self.query, path, on_progress)

    def __getitem__(self, part: slice) -> AsyncRecordList[Record]:
        if not isinstance(part, slice):
            raise TypeError(f"Write `await records[{part!r}:].first()` for one record: this list is read with await.")
        return type(self)(self.query.part(*_bounds(part)))

    async def to_ndjson(self, path: Target, *, resume: bool = False, on_progress: Progress | None = None) -> int:
        """Write the records as JSON, one per line, with all fields. Return how many there are.

        The file appears when it is complete; a former one stays until then. `path` can be a binary file object. With
        `resume`, records are kept in `path.part` until then, and the next run continues a run that was interrupted.
        """
        if resume:
            from fieldgate_client.resumable import write_resumable

            return await write_resumable(self, path, on_progress)
        return (await self._export(formats.ndjson(path), on_progress))[1]

    async def to_csv(
        self,
        path: Target,
        *,
        columns: Sequence[str] | None = None,
        bom: bool = False,
        on_progress: Progress | None = None,
    ) -> int:
        """Write a table as CSV in UTF-8, safe to open in spreadsheets. Excel needs `bom` to recognise UTF-8.

        `columns` are the names of the columns in their order; `countries` stands for all columns `countries.…`. A name
        that no record has raises `UnknownName`, and no file is written.
        """
        return (await self._export(formats.csv(path, self.query.record_type, columns, bom=bom), on_progress))[1]

    async def to_xlsx(
        self, path: Target, *, columns: Sequence[str] | None = None, on_progress: Progress | None = None
    ) -> int:
        """Write a table as an Excel workbook. Times are dates of Excel, in UTC. Needs the extra `xlsx`.

        `columns` as for `to_csv`.
        """
        return (await self._export(formats.xlsx(path, self.query.record_type, columns), on_progress))[1]

    async def to_parquet(
        self, path: Target, *, columns: Sequence[str] | None = None, on_progress: Progress | None = None
    ) -> int:
        """Write a table as a Parquet file. `columns` as for `to_csv`. Needs the extra `parquet`."""
        return (await self._export(formats.parquet(path, self.query.record_type, columns), on_progress))[1]

    @overload
    async def to_geojson(self, path: None = None, *, on_progress: Progress | None = None) -> dict[str, Any]: ...
    @overload
    async def to_geojson(self, path: Target, *, on_progress: Progress | None = None) -> int: ...
    async def to_geojson(
        self, path: Target | None = None, *, on_progress: Progress | None = None
    ) -> dict[str, Any] | int:
        """A point for each country of each event. Write a file and return the number of records, or return a dict."""
        positions = await self.country_positions()
        if path is None:
            return (await self._export(formats.geojson_dict(positions), on_progress))[0]
        return (await self._export(formats.geojson(path, positions), on_progress))[1]

    async def to_pandas(self, *, columns: Sequence[str] | None = None, flatten: bool = True) -> pandas.DataFrame:
        """A data frame with nullable types and times in UTC. Needs the extra `pandas`.

        `flatten=False` keeps lists and objects as they are. `columns` as for `to_csv`.
        """
        return (await self._export(formats.pandas_frame(self.query.record_type, columns, flatten=flatten), None))[0]

    async def to_polars(self, *, columns: Sequence[str] | None = None, flatten: bool = True) -> polars.DataFrame:
        """A data frame with times in UTC. Needs the extra `polars`. Arguments as for `to_pandas`."""
        return (await self._export(formats.polars_frame(self.query.record_type, columns, flatten=flatten), None))[0]

    async def country_positions(self) -> dict[int, Position]:
        """Where the countries of events are; empty for other lists, and if the server does not say."""
        if not self.query.path.startswith(f"{API_ROOT}event/"):
            return {}
        from fieldgate_client.country_places import read_country_positions

        return await read_country_positions(self.query.connection)

    def progress(self, on_progress: Progress | None) -> Callable[[int], None]:
        """A function that gets the number of records so far, and adds how many there are."""

        def on_page(received: int) -> None:
            if on_progress is not None:
                count, stop = self.report.count, self.query.stop
                if count is not None:
                    count = max(0, (count if stop is None else min(count, stop)) - self.query.start)
                on_progress(received, count)

        return on_page

    async def _export(self, writer: RecordWriter[Written], on_progress: Progress | None) -> tuple[Written, int]:
        return await export_pages_async(self.raw_pages(), writer, self.progress(on_progress))


class RecordList(Generic[Record]):
    """`for event in client.events(…)`; `len(list)`; `list[0]`, `list[:10]`; `list.to_csv(path)`."""

    def __init__(self, query: ListQuery[Record], loop: EventLoopThread) -> None:
        self._list = AsyncRecordList(query)
        self._loop = loop
        self._count: int | None = None

    def __repr__(self) -> str:
        return _describe(type(self).__name__, self._list.query)

    @property
    def report(self) -> WalkReport:
        return self._list.report

    def __iter__(self) -> Iterator[Record]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Record]]:
        """The records page by page."""
        return self._loop.iterate(self._list.pages())

    def raw_pages(self, *, is_fixed: bool = False) -> Iterator[list[msgspec.Raw]]:
        """The records as JSON, exactly as the server sent them."""
        return self._loop.iterate(self._list.raw_pages(is_fixed=is_fixed))

    def __len__(self) -> int:
        """How many records the server has. Requested once."""
        if self._count is None:
            self._count = self._loop.run(self._list.query.count())
        if self._count is None:  # `list()` asks for the length, and does without it after a TypeError
            raise TypeError(f"{self._list.query.path} does not tell how many records it has: count them while reading.")
        return self._count

    def first(self) -> Record | None:
        return self._loop.run(self._list.first())

    def deleted(self) -> list[DeletedEvent]:
        """Of `events(since=…)`: what was deleted, merged or hidden since then, whatever the filters."""
        return self._loop.run(self._list.deleted())

    @property
    def next_since(self) -> datetime:
        """The `since` for the next time: the server's clock at the first page, minus five minutes."""
        return self._list.next_since

    def update(self, path: str | os.PathLike[str], *, on_progress: Progress | None = None) -> UpdateResult:
        """Bring an NDJSON file with this list up to date: what changed, and what is gone. The first run reads all."""
        return self._loop.run(self._list.update(path, on_progress=on_progress))

    @overload
    def __getitem__(self, part: int) -> Record: ...
    @overload
    def __getitem__(self, part: slice) -> RecordList[Record]: ...
    def __getitem__(self, part: int | slice) -> Record | RecordList[Record]:
        if isinstance(part, slice):
            return RecordList(self._list.query.part(*_bounds(part)), self._loop)
        position = part if part >= 0 else len(self) + part
        record = self[position : position + 1].first() if position >= 0 else None
        if record is None:
            raise IndexError(f"The list has no record {part}.")
        return record

    def to_ndjson(self, path: Target, *, resume: bool = False, on_progress: Progress | None = None) -> int:
        """Write the records as JSON, one per line, with all fields. Return how many there are.

        The file appears when it is complete; a former one stays until then. `path` can be a binary file object. With
        `resume`, records are kept in `path.part` until then, and the next run continues a run that was interrupted.
        """
        if resume:
            return self._loop.run(self._list.to_ndjson(path, resume=True, on_progress=on_progress))
        return (self._export(formats.ndjson(path), on_progress))[1]

    def to_csv(
        self,
        path: Target,
        *,
        columns: Sequence[str] | None = None,
        bom: bool = False,
        on_progress: Progress | None = None,
    ) -> int:
        """Write a table as CSV in UTF-8, safe to open in spreadsheets. Excel needs `bom` to recognise UTF-8.

        `columns` are the names of the columns in their order; `countries` stands for all columns `countries.…`. A name
        that no record has raises `UnknownName`, and no file is written.
        """
        return (self._export(formats.csv(path, self._list.query.record_type, columns, bom=bom), on_progress))[1]

    def to_xlsx(
        self, path: Target, *, columns: Sequence[str] | None = None, on_progress: Progress | None = None
    ) -> int:
        """Write a table as an Excel workbook. Times are dates of Excel, in UTC. Needs the extra `xlsx`.

        `columns` as for `to_csv`.
        """
        return (self._export(formats.xlsx(path, self._list.query.record_type, columns), on_progress))[1]

    def to_parquet(
        self, path: Target, *, columns: Sequence[str] | None = None, on_progress: Progress | None = None
    ) -> int:
        """Write a table as a Parquet file. `columns` as for `to_csv`. Needs the extra `parquet`."""
        return (self._export(formats.parquet(path, self._list.query.record_type, columns), on_progress))[1]

    @overload
    def to_geojson(self, path: None = None, *, on_progress: Progress | None = None) -> dict[str, Any]: ...
    @overload
    def to_geojson(self, path: Target, *, on_progress: Progress | None = None) -> int: ...
    def to_geojson(self, path: Target | None = None, *, on_progress: Progress | None = None) -> dict[str, Any] | int:
        """A point for each country of each event. Write a file and return the number of records, or return a dict."""
        positions = self._loop.run(self._list.country_positions())
        if path is None:
            return (self._export(formats.geojson_dict(positions), on_progress))[0]
        return (self._export(formats.geojson(path, positions), on_progress))[1]

    def to_pandas(self, *, columns: Sequence[str] | None = None, flatten: bool = True) -> pandas.DataFrame:
        """A data frame with nullable types and times in UTC. Needs the extra `pandas`.

        `flatten=False` keeps lists and objects as they are. `columns` as for `to_csv`.
        """
        return (self._export(formats.pandas_frame(self._list.query.record_type, columns, flatten=flatten), None))[0]

    def to_polars(self, *, columns: Sequence[str] | None = None, flatten: bool = True) -> polars.DataFrame:
        """A data frame with times in UTC. Needs the extra `polars`. Arguments as for `to_pandas`."""
        return (self._export(formats.polars_frame(self._list.query.record_type, columns, flatten=flatten), None))[0]

    def _export(self, writer: RecordWriter[Written], on_progress: Progress | None) -> tuple[Written, int]:
        return export_pages(self.raw_pages(), writer, self._list.progress(on_progress))


def _bounds(part: slice) -> tuple[int, int | None]:
    start, stop, step = part.start or 0, part.stop, part.step
    if start < 0 or (stop is not None and stop < 0) or step not in (None, 1):
        raise ValueError("Only slices from the front are possible, such as [:10] or [100:200].")
    return start, stop


def _describe(name: str, query: ListQuery[Any]) -> str:
    filters = ", ".join(f"{key}={value}" for key, value in [*query.parameters, *since_parameters(query.since)])
    part = (
        "" if (query.start, query.stop) == (0, None) else f"[{query.start}:{'' if query.stop is None else query.stop}]"
    )
    return f"<{name} {query.connection.server}{query.path}{' ' if filters else ''}{filters}{part}>"
