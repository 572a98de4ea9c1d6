"""A proxy between a client and a server that damages traffic at random, the same for the same seed.

Which fault happens depends on the seed, the request and how often it was tried, so it does not matter in which order
concurrent requests arrive.
"""

import asyncio
import gzip
import random
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from tests.client.stand_ins.loopback_server import ServerThread, parse_headers, read_head

HTML = b"<!doctype html><title>Welcome to the hotel</title><p>Please log in to use the network."
STATUS_FAULTS = {
    "429": b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
    "429 with Retry-After": b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
    "429 with RateLimit": b'HTTP/1.1 429 Too Many Requests\r\nRateLimit: "all";r=0;t=0\r\nContent-Length: 0\r\n\r\n',
    "500": b'HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"detail":"oops"}',
    "502": b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
    % (len(HTML), HTML),
    "503": b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "504": b"HTTP/1.1 504 Late\r\nContent-Length: 5\r\n\r\nlate\n",
    "200 with HTML": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
    % (len(HTML), HTML),
    "200 without a body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
    "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
}
FAULTS = (
    *STATUS_FAULTS,
    "connection closed before the answer",
    "connection closed after the request",
    "connection closed in the head",
    "connection closed in the body",
    "connection reset in the body",
    "body cut, right Content-Length",
    "body cut, no Content-Length",
    "body cut, chunked without an end",
    "body cut, chunked",
    "gzip damaged",
    "gzip cut",
    "answer sent twice",
    "answer to another request",
    "slow",
)
HARMLESS = ("as it is", "chunked", "gzip", "in small pieces", "until the connection closes")


class FaultProxy:
    """`happened` counts the faults. With `rate` 0 nothing is damaged."""

    def __init__(self, port: int, seed: int, rate: float, faults: tuple[str, ...] = FAULTS) -> None:
        self.happened: Counter[str] = Counter()
        self._upstream_port = port
        self._seed = seed
        self._rate = rate
        self._faults = faults
        self._attempts: Counter[bytes] = Counter()
        self._answers: list[tuple[bytes, bytes]] = []  # heads and bodies of earlier answers
        self._thread = ServerThread(self._serve)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._thread.port}"

    def __enter__(self) -> "FaultProxy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_connection("127.0.0.1", self._upstream_port, limit=1 << 20)
        try:
            while request := await read_head(reader):
                chance = self._chance(request)
                is_damaged = (
                    chance.random() < self._rate and self.happened
                )  # a first answer of HTML is a wrong address
                kind = chance.choice(self._faults if is_damaged else HARMLESS)
                self.happened[kind] += 1
                if not await self._answer(kind, request, upstream, writer, chance):
                    return
        finally:
            upstream[1].close()

    def _chance(self, request: bytes) -> random.Random:
        line = request.split(b"\r\n", 1)[0]
        self._attempts[line] += 1
        return random.Random(f"{self._seed} {line!r} {self._attempts[line]}")

    async def _answer(
        self,
        kind: str,
        request: bytes,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        writer: asyncio.StreamWriter,
        chance: random.Random,
    ) -> bool:
        """Answer a request; return whether the connection stays open."""
        if kind in STATUS_FAULTS:
            writer.write(STATUS_FAULTS[kind])
            await writer.drain()
            return b"close" not in STATUS_FAULTS[kind] and kind != "not HTTP"
        if kind == "connection closed before the answer":
            return False
        upstream[1].write(request)
        head = await read_head(upstream[0])
        body = await upstream[0].readexactly(int(parse_headers(head)["content-length"]))
        if kind == "answer to another request" and self._answers:
            head, body = chance.choice(self._answers)
        self._answers = [*self._answers[-9:], (head, body)]
        if kind == "slow":
            await asyncio.sleep(chance.uniform(0, 0.02))
        if kind == "connection reset in the body":
            writer.write(head + body[: chance.randrange(len(body))])
            await writer.drain()
            writer.transport.abort()
            return False
        if kind == "in small pieces":
            await write_in_pieces(writer, head + body, chance)
            return True
        data, is_open = damaged(kind, head, body, chance)
        writer.write(data)
        await writer.drain()
        return is_open


async def write_in_pieces(writer: asyncio.StreamWriter, data: bytes, chance: random.Random) -> None:
    cuts = [0, *sorted(chance.randrange(len(data)) for _ in range(5)), len(data)]
    for start, stop in pairwise(cuts):
        writer.write(data[start:stop])
        await writer.drain()
        await asyncio.sleep(0)


def damaged(kind: str, head: bytes, body: bytes, chance: random.Random) -> tuple[bytes, bool]:
    """The bytes to send instead of an answer, and whether the connection stays open."""
    cut = body[: chance.randrange(len(body))]
    match kind:
        case "connection closed after the request":
            return b"", False
        case "connection closed in the head":
            return head[: chance.randrange(len(head))], False
        case "connection closed in the body":
            return head + cut, False
        case "body cut, right Content-Length":
            return with_headers(head, {"Content-Length": str(len(cut))}) + cut, True
        case "body cut, no Content-Length":
            return with_headers(head, {"Connection": "close"}) + cut, False
        case "until the connection closes":
            return with_headers(head, {"Connection": "close"}) + body, False
        case "body cut, chunked without an end":
            return with_headers(head, {"Transfer-Encoding": "chunked"}) + chunked(cut)[:-5], False
        case "body cut, chunked":
            return with_headers(head, {"Transfer-Encoding": "chunked"}) + chunked(cut), True
        case "chunked":
            return with_headers(head, {"Transfer-Encoding": "chunked"}) + chunked(body), True
        case "gzip" | "gzip damaged" | "gzip cut":
            packed = gzip.compress(body, 1)
            if kind == "gzip damaged":
                place = chance.randrange(10, len(packed))
                packed = packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :]
            elif kind == "gzip cut":
                packed = packed[: chance.randrange(len(packed))]
            return with_headers(
                head, {"Content-Encoding": "gzip", "Content-Length": str(len(packed))}
            ) + packed, True
        case "answer sent twice":
            return (head + body) * 2, True
    return head + body, True


def with_headers(head: bytes, headers: Mapping[str, str]) -> bytes:
    """The head with other headers for the length and the encoding of the body."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    framing = (b"content-length:", b"transfer-encoding:", b"connection:", b"content-encoding:")
    kept = [line for line in lines if not line.lower().startswith(framing)]
    return b"\r\n".join(
        [*kept, *(f"{name}: {value}".encode() for name, value in headers.items()), b"", b""]
    )


def chunked(body: bytes) -> bytes:
    half = len(body) // 2
    parts = [part for part in (body[:half], body[half:]) if part]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
