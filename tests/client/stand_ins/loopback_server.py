"""An HTTP/1.1 server on a loopback port, in a thread of its own. A function answers the requests."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import msgspec


class ReceivedRequest(msgspec.Struct, frozen=True):
    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The last value of each parameter counts."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))


class Reply(msgspec.Struct, frozen=True):
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"

    def encode(self) -> bytes:
        head = [f"HTTP/1.1 {self.status} Reason", f"Content-Length: {len(self.body)}"]
        head += [
            f"{name}: {value}"
            for name, value in (("Content-Type", self.content_type), *self.headers)
        ]
        return "\r\n".join([*head, "", ""]).encode() + self.body


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    named = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    return Reply(status, msgspec.json.encode(value), named)


Responder = Callable[[ReceivedRequest], Reply]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class LoopbackServer:
    """`requests` has all requests in the order of arrival."""

    def __init__(self, respond: Responder) -> None:
        self.respond = respond
        self.requests: list[ReceivedRequest] = []
        self._thread = ServerThread(self._serve)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._thread.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.requests.append(request)
            writer.write(self.respond(request).encode())
            await writer.drain()


class ServerThread:
    """An asyncio server in a thread, so that it also serves clients that block."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._loop = asyncio.new_event_loop()
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._stopped: asyncio.Event
        self.port = 0

    def start(self) -> None:
        self._thread.start()
        assert self._started.wait(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stopped = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 20)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stopped.wait()
        # A connection that is just being accepted is lost, and never closed, if the server closes meanwhile.
        while asyncio.all_tasks() - {asyncio.current_task()} - {*self._connections}:
            await asyncio.sleep(0)
        server.close()
        for writer in self._connections.values():
            writer.transport.abort()
        await asyncio.gather(*self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await self._handle(reader, writer)
        finally:
            del self._connections[task]
            writer.close()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """The first line and the headers; empty at the end of the connection."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def parse_headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    head = await read_head(reader)
    if not head:
        return None
    method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    headers = parse_headers(head)
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join([part async for part in _chunks(reader)])
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ReceivedRequest(method, target, headers, body)


async def _chunks(reader: asyncio.StreamReader) -> Any:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
