"""Lazy lists of records: nothing is requested before they are used."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

import msgspec
from anyio import to_thread

from fieldgate_client.errors import FieldgateError
from fieldgate_client.exports import arrow
from fieldgate_client.exports.csv_file import write_csv
from fieldgate_client.exports.geojson import GeoJSONWriter, read_country_positions
from fieldgate_client.exports.output_file import OutputFile, Target
from fieldgate_client.exports.table import Table, load_library, to_lines
from fieldgate_client.exports.xlsx import MAX_SHEET_RECORDS, write_xlsx
from fieldgate_client.list_query import ListQuery, format_timestamp, next_since, since_parameters
from fieldgate_client.records import DeletedEvent
from fieldgate_client.server_url import API_ROOT
from fieldgate_client.walk import WalkReport

if TYPE_CHECKING:
    import pandas
    import polars

DELETED_PATH = "event/deleted/"

Progress = Callable[
    [int, "int | None"], None
]  # records received, and how many there are if the server says
Record = TypeVar("Record")
Result = TypeVar("Result")


class AsyncRecordList(Generic[Record]):
    """`async for event in client.events(…)`; `await list.count()`; `list[:10]`; `await list.to_csv(path)`."""

    def __init__(self, query: ListQuery[Record]) -> None:
        self.query = query
        self.report = WalkReport()  # of the last walk

    def __repr__(self) -> str:
        query = self.query
        filters = ", ".join(
            f"{key}={value}" for key, value in [*query.parameters, *since_parameters(query.since)]
        )
        start, stop = query.options.start, query.options.stop
        part = f"[{start}:{'' if stop is None else stop}]" if query.options.is_part else ""
        return f"<{type(self).__name__} {query.connection.server}{query.path}{' ' if filters else ''}{filters}{part}>"

    def __aiter__(self) -> AsyncIterator[Record]:
        return self._records()

    async def _records(self) -> AsyncIterator[Record]:
        async with aclosing(self.pages()) as pages:
            async for page in pages:
                for record in page:
                    yield record

    async def pages(self) -> AsyncGenerator[list[Record], None]:
        """The records page by page."""
        async with aclosing(self.raw_pages()) as pages:
            async for page in pages:
                yield self.query.decode(page)

    async def raw_pages(self) -> AsyncGenerator[list[msgspec.Raw], None]:
        """The records as JSON, exactly as the server sent them."""
        walk = self.query.walk()
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
        page = await self.query.fetch_page(self.query.options.start, 1)
        return self.query.decode(page.records[:1])[0] if page.records else None

    async def deleted(self) -> list[DeletedEvent]:
        """Of `events(since=…)`: what was deleted, merged or hidden since then, whatever the filters."""
        if self.query.since is None:
            raise FieldgateError(
                "deleted() is for lists of changes, such as client.events(since=…)."
            )
        query: ListQuery[DeletedEvent] = ListQuery(
            self.query.connection,
            API_ROOT + DELETED_PATH,
            (("since", format_timestamp(self.query.since)),),
            DeletedEvent,
            options=msgspec.structs.replace(self.query.options, start=0, stop=None),
        )
        return [each async for each in AsyncRecordList(query)]

    @property
    def next_since(self) -> datetime:
        """The `since` for the next time: the server's clock at the first page, minus five minutes."""
        return next_since(self.report.started_at)

    def __getitem__(self, part: slice) -> AsyncRecordList[Record]:
        if not isinstance(part, slice):
            raise TypeError(
                f"Write `await records[{part!r}:].first()` for one record: this list is read with await."
            )
        start, stop, step = part.start or 0, part.stop, part.step
        if start < 0 or (stop is not None and stop < 0) or step not in (None, 1):
            raise ValueError("Only slices from the front are possible, such as [:10] or [100:200].")
        return AsyncRecordList(self.query.part(start, stop))

    async def to_ndjson(self, path: Target, *, on_progress: Progress | None = None) -> int:
        """Write the records as JSON, one per line, with all fields. Return how many there are.

        The file appears when it is complete; a former one stays until then. `path` can be a binary file object.
        """
        with OutputFile(path) as output:
            count = await self._read(
                lambda records: output.file.write(to_lines(records)), on_progress
            )
            output.commit()
        return count

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
        return await self._write_table(path, columns, on_progress, partial(write_csv, bom=bom))

    async def to_xlsx(
        self,
        path: Target,
        *,
        columns: Sequence[str] | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Write a table as an Excel workbook. Times are dates of Excel, in UTC. Needs the extra `xlsx`.

        `columns` as for `to_csv`.
        """
        load_library("xlsxwriter", "xlsx")
        return await self._write_table(path, columns, on_progress, write_xlsx, MAX_SHEET_RECORDS)

    async def to_parquet(
        self,
        path: Target,
        *,
        columns: Sequence[str] | None = None,
        on_progress: Progress | None = None,
    ) -> int:
        """Write a table as a Parquet file. `columns` as for `to_csv`. Needs the extra `parquet`."""
        load_library("pyarrow", "parquet")
        return await self._write_table(path, columns, on_progress, arrow.write_parquet)

    async def to_geojson(
        self, path: Target | None = None, *, on_progress: Progress | None = None
    ) -> Any:
        """A point for each country of each event. Write a file and return the number of records, or return a dict."""
        is_events = self.query.path.startswith(f"{API_ROOT}event/")
        positions = await read_country_positions(self.query.connection) if is_events else {}
        memory = BytesIO()
        with OutputFile(memory if path is None else path) as output:
            writer = GeoJSONWriter(output.file, positions)
            count = await self._read(writer.write, on_progress)
            writer.finish()
            output.commit()
        if path is not None:
            return count
        return msgspec.json.decode(memory.getvalue())

    async def to_pandas(
        self, *, columns: Sequence[str] | None = None, flatten: bool = True
    ) -> pandas.DataFrame:
        """A data frame with nullable types and times in UTC. Needs the extra `pandas`.

        `flatten=False` keeps lists and objects as they are. `columns` as for `to_csv`.
        """
        load_library("pandas", "pandas")
        return await self._to_frame(arrow.to_pandas, columns, flatten=flatten)

    async def to_polars(
        self, *, columns: Sequence[str] | None = None, flatten: bool = True
    ) -> polars.DataFrame:
        """A data frame with times in UTC. Needs the extra `polars`. Arguments as for `to_pandas`."""
        load_library("polars", "polars")
        return await self._to_frame(arrow.to_polars, columns, flatten=flatten)

    async def _to_frame(
        self, convert: Callable[[Table], Result], columns: Sequence[str] | None, *, flatten: bool
    ) -> Result:
        load_library("pyarrow", "parquet")
        with Table(self.query.record_type, columns, is_flat=flatten) as table:
            await self._read(table.write, None)
            return await to_thread.run_sync(convert, table)

    async def _write_table(
        self,
        path: Target,
        columns: Sequence[str] | None,
        on_progress: Progress | None,
        write: Callable[[Table, BinaryIO], None],
        max_records: int | None = None,
    ) -> int:
        with (
            OutputFile(path) as output,
            Table(
                self.query.record_type, columns, folder=output.folder, max_records=max_records
            ) as table,
        ):
            count = await self._read(table.write, on_progress)
            await to_thread.run_sync(write, table, output.file)
            output.commit()
        return count

    async def _read(
        self, write: Callable[[list[msgspec.Raw]], object], on_progress: Progress | None
    ) -> int:
        """Give all records to `write`, page by page; return how many there are."""
        received = 0
        async with aclosing(self.raw_pages()) as pages:
            async for records in pages:
                await to_thread.run_sync(write, records)
                received += len(records)
                if on_progress is not None:
                    on_progress(received, self.query.options.size(self.report.count))
        return received
