"""A service with an import worker, on both databases."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from tests.conftest import StartService
from tests.data.imports import import_worker
from tests.imports.test_worker import ImportHarness

OpenHarness = Callable[..., AbstractAsyncContextManager[ImportHarness]]


@pytest.fixture
def open_harness(start: StartService, database_url: str) -> OpenHarness:
    @asynccontextmanager
    async def opened(**settings: Any) -> AsyncIterator[ImportHarness]:
        async with start(database_url=database_url, **settings) as service:
            headers = {"Authorization": f"Token {await service.create_token()}"}
            yield ImportHarness(service, headers, import_worker(service, **settings))

    return opened


@pytest.fixture
async def harness(open_harness: OpenHarness) -> AsyncIterator[ImportHarness]:
    async with open_harness() as harness:
        yield harness
