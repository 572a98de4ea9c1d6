"""Notice that a client closed its connection, to end work that only it waits for."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from fieldgate.errors import RequestTimeout

Receive = Callable[[], Awaitable[Any]]  # of ASGI
Result = TypeVar("Result")


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client closes its connection. What it still sends of a body is dropped."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except (
        RequestTimeout
    ):  # the client announced a body and does not send it, but it may be there and read
        await asyncio.Event().wait()


async def run_until_disconnect(receive: Receive, work: Coroutine[Any, Any, Result]) -> Result:
    """Run work that writes nothing. It is cancelled if the client disconnects: then raise `RequestTimeout`."""
    running, disconnected = (
        asyncio.create_task(work),
        asyncio.create_task(wait_for_disconnect(receive)),
    )
    try:
        await asyncio.wait((running, disconnected), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise RequestTimeout
        return running.result()
    finally:
        for task in (running, disconnected):
            task.cancel()
        await asyncio.gather(running, disconnected, return_exceptions=True)
