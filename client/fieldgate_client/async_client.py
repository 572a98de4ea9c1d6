"""The client for programs with an event loop.

async with AsyncClient("https://field.example", token="…") as client:
    async for event in client.events(type="Flood"):
        print(event.name)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate_client.connection import Connection, ConnectionOptions
from fieldgate_client.filters import FilterValue, encode_filters
from fieldgate_client.list_query import DEFAULT_CONCURRENCY, DEFAULT_PAGE_SIZE, ListQuery
from fieldgate_client.lists import AsyncRecordList
from fieldgate_client.server_url import resolve_path

if TYPE_CHECKING:
    from types import TracebackType


class AsyncClient:
    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        language: str = "",
        page_size: int = DEFAULT_PAGE_SIZE,
        concurrency: int = DEFAULT_CONCURRENCY,
        options: ConnectionOptions | None = None,
    ) -> None:
        self.connection = Connection(url, token, options)
        self.language = language
        self._page_size = page_size
        self._concurrency = concurrency

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.connection.close()

    def query(self, path: str, filters: dict[str, FilterValue], record_type: Any = dict[str, Any]) -> ListQuery[Any]:
        return ListQuery(
            self.connection,
            resolve_path(path, self.connection.server),
            tuple(encode_filters(filters)),
            record_type,
            self.language,
            self._page_size,
            self._concurrency,
        )

    def list(self, path: str, **filters: FilterValue) -> AsyncRecordList[dict[str, Any]]:
        """Any list of the server, as dicts."""
        return AsyncRecordList(self.query(path, filters))

    async def get(self, path: str, **parameters: FilterValue) -> Any:
        """One record, or any other JSON."""
        return await self.connection.fetch(
            path,
            encode_filters(parameters),
            lambda response: msgspec.json.decode(response.body),
            language=self.language,
        )
