"""A Fieldgate service in this process, with clients that reach it without a network, and a worker for imports."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
from fieldgate_client import AsyncClient
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.retries import RetryPolicy

from tests.conftest import BASE_URL, Service
from tests.data.accounts import create_token
from tests.data.imports import import_worker as new_worker

QUICK_RETRIES = RetryPolicy(first_pause=0.001, longest_pause=0.01)


class LossyTransport(httpx.AsyncBaseTransport):
    """Passes requests on. `lose` says whether the answer to a request is lost on the way back."""

    def __init__(
        self, inner: httpx.AsyncBaseTransport, lose: Callable[[httpx.Request], bool]
    ) -> None:
        self._inner = inner
        self._lose = lose
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        self.requests.append(request)
        if self._lose(request):
            await response.aread()
            raise httpx.ReadError("the connection was reset")
        return response


class ClientService:
    """Users with their clients."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.transport = LossyTransport(
            httpx.ASGITransport(service.app), lambda request: self.lose(request)
        )
        self.lose: Callable[[httpx.Request], bool] = lambda request: False
        self.options = ConnectionOptions(retries=QUICK_RETRIES, transport=self.transport)

    def client(self, token: str = "", **options: Any) -> AsyncClient:
        return AsyncClient(BASE_URL, token, options=self.options, **options)

    async def user(self, name: str = "", **details: Any) -> str:
        """Create a user, and return a token."""
        _, number = await self.service.create_user(name, **details)
        return create_token(self.service, number)

    def requests(self, method: str, path: str) -> list[httpx.Request]:
        return [
            each
            for each in self.transport.requests
            if (each.method, each.url.path) == (method, path)
        ]


@asynccontextmanager
async def import_worker(service: Service) -> AsyncIterator[None]:
    """Process imports while the block runs."""
    worker = new_worker(service)

    async def work() -> None:
        while True:
            if not await worker.process_one():
                await asyncio.sleep(0.01)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
