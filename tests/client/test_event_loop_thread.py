"""The thread of `Client`: iterators that end anywhere, callbacks, other processes, other event loops."""

import asyncio
import multiprocessing
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from multiprocessing.queues import SimpleQueue
from typing import Any

import httpx
import pytest
from fieldgate_client import AsyncClient, Client
from fieldgate_client.client import EventLoopThread

from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

RECORDS = 60


def respond(request: ReceivedRequest) -> Reply:
    offset, limit = int(request.query["offset"]), int(request.query["limit"])
    results = [{"id": id_} for id_ in range(offset, min(RECORDS, offset + limit))]
    following = (
        f"{request.path}?limit={limit}&offset={offset + limit}"
        if offset + limit < RECORDS
        else None
    )
    return json_reply({"count": RECORDS, "next": following, "previous": None, "results": results})


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(respond) as started:
        yield started


def test_a_callback_cannot_wait_for_the_client(server: LoopbackServer) -> None:
    thread = EventLoopThread()

    async def nothing() -> None:
        pass

    async def callback() -> None:
        thread.run(nothing())

    async def iterating_callback() -> None:
        next(thread.iterate(numbers()))

    async def numbers() -> AsyncGenerator[int, None]:
        yield 1

    for each in (callback, iterating_callback):
        with pytest.raises(RuntimeError, match="cannot use the client"):
            thread.run(each())
    thread.stop()


async def test_a_cancellation_when_the_answer_has_just_arrived(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`asyncio.wait_for` of Python 3.11 forgets it, and the list is read to its end."""
    client = AsyncClient(server.base_url, page_size=5)
    send = httpx.AsyncClient.send

    async def send_and_cancel(
        self: httpx.AsyncClient, *arguments: Any, **options: Any
    ) -> httpx.Response:
        response = await send(self, *arguments, **options)
        asyncio.get_running_loop().call_soon(reading.cancel)
        monkeypatch.undo()
        return response

    async def read() -> int:
        return len([record async for record in client.list("event/")])

    monkeypatch.setattr(httpx.AsyncClient, "send", send_and_cancel)
    reading = asyncio.ensure_future(read())
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await read() == RECORDS
    await client.close()


def _read_in_child(client: Client, found: "SimpleQueue[object]") -> None:
    try:
        found.put(len([*client.list("event/").pages()]))
    except BaseException as error:
        found.put(repr(error))


def test_a_client_that_was_used_before_a_fork(server: LoopbackServer) -> None:
    context = multiprocessing.get_context("fork")
    with Client(server.base_url, page_size=5, concurrency=8) as client:
        pages = len([*client.list("event/").pages()])
        found: SimpleQueue[object] = context.SimpleQueue()
        children = [context.Process(target=_read_in_child, args=(client, found)) for _ in range(2)]
        for child in children:
            child.start()
        assert [found.get(), found.get()] == [pages, pages]
        for child in children:
            child.join()
        assert len([*client.list("event/").pages()]) == pages


SCRIPT = """
from fieldgate_client import Client
client = Client({url!r})
print(len(client.list("event/")), client.list("event/").first()["id"])
"""


def test_a_script_that_closes_nothing_ends_without_warnings(server: LoopbackServer) -> None:
    script = SCRIPT.format(url=server.base_url)
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"{RECORDS} 0\n", "")


def test_an_asynchronous_client_in_two_event_loops(server: LoopbackServer) -> None:
    client = AsyncClient(server.base_url, page_size=5, concurrency=8)

    async def read() -> int:
        number = len([record async for record in client.list("event/")])
        await client.close()
        return number

    assert [asyncio.run(read()), asyncio.run(read())] == [RECORDS, RECORDS]
