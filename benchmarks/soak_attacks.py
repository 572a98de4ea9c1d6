"""Attacks of a soak test, each bounded in connections and rate, from loopback addresses of their own.

`python -m benchmarks.soak_attacks NAME PORT SECONDS TOKEN`: the token is of a user who is an attacker, too.
"""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping

SILENT_CONNECTIONS = 1100
DRIPPING_CONNECTIONS = 300
DRIP_SECONDS = 5.0
SLOW_READERS = 8
SLOW_BYTES_PER_SECOND = 200
FLOOD_CONNECTIONS = 16
FLOOD_PER_SECOND = 800
GUESSES_PER_SECOND = 20
UPLOADS = 40
UPLOAD_BYTES = 5_000_000
CONNECT_TIMEOUT_SECONDS = 5
VICTIM = "person0"  # whose password is guessed

_HOST = b"Host: 127.0.0.1\r\n"


class Attacker:
    """Runs one attack until a time. `seen` counts what the server answered."""

    def __init__(self, port: int, address: str, token: str, until: float) -> None:
        self._port = port
        self._token = token
        self._address = address
        self._until = until
        self.seen: Counter[str] = Counter()

    @property
    def _is_over(self) -> bool:
        return time.monotonic() >= self._until

    async def open_silent_connections(self) -> None:
        await self._repeat(SILENT_CONNECTIONS, self._stay_silent)

    async def drip_headers(self) -> None:
        await self._repeat(
            DRIPPING_CONNECTIONS, lambda: self._drip(b"GET / HTTP/1.1\r\n" + _HOST + b"X-Drip: " + b"a" * 500)
        )

    async def drip_bodies(self) -> None:
        head = (
            b"POST /get_auth_token HTTP/1.1\r\n"
            + _HOST
            + b"Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
        )
        await self._repeat(DRIPPING_CONNECTIONS, lambda: self._drip(b"{" * 500, head))

    async def read_exports_slowly(self) -> None:
        await self._repeat(SLOW_READERS, self._read_slowly)

    async def flood(self) -> None:
        gap = FLOOD_CONNECTIONS / FLOOD_PER_SECOND
        request = b"GET /api/v2/event/?limit=50 HTTP/1.1\r\n" + _HOST + b"\r\n"
        await self._repeat(FLOOD_CONNECTIONS, lambda: self._request_often(lambda: request, gap))

    async def guess_passwords(self) -> None:
        numbers = itertools.count()

        def guess() -> bytes:
            credentials = base64.b64encode(f"{VICTIM}:guess{next(numbers)}".encode())
            return b"GET /token/ HTTP/1.1\r\n" + _HOST + b"Authorization: Basic " + credentials + b"\r\n\r\n"

        connections = 10
        await self._repeat(connections, lambda: self._request_often(guess, connections / GUESSES_PER_SECOND))

    async def upload_large_files(self) -> None:
        await self._repeat(UPLOADS, self._upload)

    async def _repeat(self, connections: int, attack: Callable[[], Awaitable[None]]) -> None:
        """Keep this many connections busy with the attack, again and again when they are closed."""

        async def again() -> None:
            while not self._is_over:
                try:
                    async with asyncio.timeout_at(asyncio.get_running_loop().time() + self._until - time.monotonic()):
                        await attack()
                except TimeoutError:
                    pass
                except OSError as error:
                    self.seen[type(error).__name__] += 1
                await asyncio.sleep(min(1.0, max(0.0, self._until - time.monotonic())))

        await asyncio.gather(*(again() for _ in range(connections)))

    async def _connect(self, **options: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            connection = asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._address, 0), **options)
            return await connection

    async def _stay_silent(self) -> None:
        reader, writer = await self._connect()
        try:
            self.seen["closed" if await reader.read(1) == b"" else "answered"] += 1
        finally:
            writer.transport.abort()

    async def _drip(self, content: bytes, head: bytes = b"") -> None:
        reader, writer = await self._connect()
        try:
            writer.write(head)
            for number in range(len(content)):
                writer.write(content[number : number + 1])
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(DRIP_SECONDS):
                        self.seen[_status_of(await reader.read(4096))] += 1
                        return
        finally:
            writer.transport.abort()

    async def _read_slowly(self) -> None:
        reader, writer = await self._connect(limit=1024)
        try:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            writer.write(b"GET /api/v2/event/export/?format=csv HTTP/1.1\r\n" + _HOST + b"\r\n")
            first = True
            while data := await reader.read(SLOW_BYTES_PER_SECOND):
                if first:
                    self.seen[_status_of(data)] += 1
                    if b" 200 " not in data[:20]:
                        return
                first = False
                await asyncio.sleep(1)
            self.seen["closed"] += 1
        finally:
            writer.transport.abort()

    async def _request_often(self, make: Callable[[], bytes], gap: float) -> None:
        reader, writer = await self._connect()
        try:
            while not self._is_over:
                began = time.monotonic()
                writer.write(make())
                head = await reader.readuntil(b"\r\n\r\n")
                self.seen[_status_of(head)] += 1
                if length := _content_length(head):
                    await reader.readexactly(length)
                await asyncio.sleep(max(0.0, gap - (time.monotonic() - began)))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.seen["closed"] += 1
        finally:
            writer.transport.abort()

    async def _upload(self) -> None:
        reader, writer = await self._connect()
        try:
            head = b"POST /api/v2/imports/ HTTP/1.1\r\n" + _HOST + b"Content-Type: multipart/form-data; boundary=b\r\n"
            head += f"Authorization: Token {self._token}\r\n".encode()
            writer.write(head + b"Content-Length: %d\r\n\r\n" % UPLOAD_BYTES)
            writer.write(b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.xlsx"\r\n\r\n')
            piece = bytes(50_000)
            for _ in range(UPLOAD_BYTES // len(piece)):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.05)
            self.seen[_status_of(await reader.read(4096))] += 1
        finally:
            writer.transport.abort()


def _status_of(head: bytes) -> str:
    return head[9:12].decode("ascii", "replace") if head.startswith(b"HTTP/1.1 ") else "closed"


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


ATTACKS: Mapping[str, Callable[[Attacker], Awaitable[None]]] = {
    "silent connections": Attacker.open_silent_connections,
    "dripped headers": Attacker.drip_headers,
    "dripped bodies": Attacker.drip_bodies,
    "slow export readers": Attacker.read_exports_slowly,
    "flood": Attacker.flood,
    "password guesses": Attacker.guess_passwords,
    "large uploads": Attacker.upload_large_files,
}


def address_of(name: str) -> str:
    """The loopback address of an attack."""
    return f"127.0.9.{1 + list(ATTACKS).index(name)}"


async def run(name: str, port: int, seconds: float, token: str) -> Counter[str]:
    attacker = Attacker(port, address_of(name), token, time.monotonic() + seconds)
    await ATTACKS[name](attacker)
    return attacker.seen


if __name__ == "__main__":
    os.nice(10)  # the well-behaved callers are on the same core
    print(json.dumps(asyncio.run(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]))))
