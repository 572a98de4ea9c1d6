"""Work that ends when its client leaves. Granian reports that wrongly after a call of `receive` was cancelled."""

import asyncio
from typing import Any

import pytest

from fieldgate.errors import RequestTimeout
from fieldgate.http.disconnects import Client, run_until_disconnect


class Connection:
    """ASGI's `receive` of a client that sent its request, and stays until it leaves."""

    def __init__(self) -> None:
        self.calls = 0
        self.has_left = asyncio.Event()

    async def __call__(self) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 1:
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.has_left.wait()
        return {"type": "http.disconnect"}


async def test_one_call_waits_for_the_end_of_the_connection() -> None:
    connection = Connection()
    client = Client(connection)
    for number in range(3):
        assert await run_until_disconnect(client, asyncio.sleep(0.001, number)) == number
    assert connection.calls == 2
    client.forget()


async def test_work_ends_when_the_client_leaves() -> None:
    connection = Connection()
    client = Client(connection)
    assert await run_until_disconnect(client, asyncio.sleep(0, "done")) == "done"
    connection.has_left.set()
    is_cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()

    with pytest.raises(RequestTimeout):
        await run_until_disconnect(client, work())
    assert is_cancelled.is_set()
