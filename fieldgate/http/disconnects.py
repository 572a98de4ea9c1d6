"""Notice that a client closed its connection, to end work that only it waits for."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from fieldgate.errors import RequestTimeout

Receive = Callable[[], Awaitable[Any]]  # of ASGI
Result = TypeVar("Result")


class Client:
    """What a client sends, and whether it is still there: ASGI's `receive` of one request.

    Only one call waits for the end of the connection, however many pieces of work need to know. After a call that was
    cancelled, Granian says now and then that a client has left who has not.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._leaving: asyncio.Task[None] | None = None

    async def __call__(self) -> Any:
        return await self._receive()

    def leaving(self) -> "asyncio.Task[None]":
        """A task that ends when the client closes its connection."""
        if self._leaving is None:
            self._leaving = asyncio.create_task(wait_for_disconnect(self._receive))
        return self._leaving

    def forget(self) -> None:
        """Wait no longer. A body that was not read can then be discarded."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client closes its connection. What it still sends of a body is dropped."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except RequestTimeout:
        # The client announced a body and does not send it, but it may be there and read.
        await asyncio.Event().wait()


async def run_until_disconnect(client: Client, work: Coroutine[Any, Any, Result]) -> Result:
    """Run work that writes nothing. It is cancelled if the client disconnects: then raise `RequestTimeout`."""
    running = asyncio.create_task(work)
    try:
        await asyncio.wait((running, client.leaving()), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise RequestTimeout
        return running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
