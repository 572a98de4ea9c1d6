"""A stand-in for a server: lists in pages, as the client requests them."""

from collections.abc import Iterable
from typing import Any

import httpx
import msgspec
from fieldgate_client.async_client import AsyncClient
from fieldgate_client.client import Client
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.retries import RetryPolicy

URL = "https://field.example"
EVENTS = "/api/v2/event/"


class RecordServer:
    """`lists` has records, or their JSON, by path. Requests from `fails_from` on get a status that is not retried."""

    def __init__(
        self,
        lists: dict[str, Iterable[Any]],
        *,
        max_limit: int = 1000,
        fails_from: int | None = None,
    ) -> None:
        self._lists = {
            path: [_json(record) for record in records] for path, records in lists.items()
        }
        self._max_limit = max_limit
        self._fails_from = fails_from
        self.requests: list[str] = []

    def client(self) -> Client:
        return Client(URL, page_size=self._max_limit, options=self._options())

    def async_client(self) -> AsyncClient:
        return AsyncClient(URL, page_size=self._max_limit, options=self._options())

    def _options(self) -> ConnectionOptions:
        return ConnectionOptions(
            transport=httpx.MockTransport(self._answer), retries=RetryPolicy(attempts=1)
        )

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request.url.path)
        records = self._lists.get(request.url.path)
        if records is None or (
            self._fails_from is not None and len(self.requests) > self._fails_from
        ):
            return httpx.Response(404 if records is None else 400, json={"detail": "No."})
        offset, limit = (
            int(request.url.params["offset"]),
            min(self._max_limit, int(request.url.params["limit"])),
        )
        link = f'"{URL}{request.url.path}?limit={limit}&offset={offset + limit}"'
        body = b'{"count":%d,"next":%s,"previous":null,"results":[%s]}' % (
            len(records),
            link.encode() if offset + limit < len(records) else b"null",
            b",".join(records[offset : offset + limit]),
        )
        return httpx.Response(200, content=body, headers={"content-type": "application/json"})


def _json(record: Any) -> bytes:
    return record if isinstance(record, bytes) else msgspec.json.encode(record)
