"""Bodies of responses: compressed ones, with bounds on size and time."""

import gzip
import os
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fieldgate_client import Client, UnexpectedResponse, response_body
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.response_body import read_body

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.loopback_server import LoopbackServer, Reply

TIMEOUT = 30.0


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Iterator[bytes] | list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def answer(pieces: Iterator[bytes] | list[bytes], encoding: str = "gzip") -> httpx.Response:
    headers = {"Content-Encoding": encoding} if encoding else {}
    request = httpx.Request("GET", "http://field.example/api/v2/event/")
    return httpx.Response(200, headers=headers, stream=Pieces(pieces), request=request)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 500, 65536])
async def test_gzip_in_any_pieces(size: int) -> None:
    content = os.urandom(20_000) + bytes(20_000)
    assert await read_body(answer(cut(gzip.compress(content), size)), TIMEOUT) == content


async def test_a_damaged_body_is_noticed() -> None:
    body = gzip.compress(b'{"count": 1}')
    with pytest.raises(httpx.DecodingError):
        await read_body(answer([body[:12] + b"damaged" + body[12:]]), TIMEOUT)


async def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_body, "MAX_BODY_BYTES", 3 * 1024**2)
    pieces = iter(cut(gzip.compress(bytes(40 * 1024**2)), 4096))
    with pytest.raises(UnexpectedResponse, match="larger than 3 MB"):
        await read_body(answer(pieces), TIMEOUT)
    assert next(pieces, None) is not None, "the rest is not read"


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip,br", "compress"])
def test_what_was_not_asked_for_is_refused(encoding: str) -> None:
    reply = Reply(200, gzip.compress(b"[]"), (("Content-Encoding", encoding),))
    with (
        LoopbackServer(lambda _: reply) as server,
        Client(server.base_url, options=QUICK) as client,
    ):
        with pytest.raises(UnexpectedResponse, match="compressed in a way that was not asked for"):
            client.list("event/").first()
        assert server.requests[0].headers["accept-encoding"] == "identity"


def test_gzip_is_asked_for_where_it_saves_traffic() -> None:
    options = ConnectionOptions(compression=True)
    reply = Reply(200, gzip.compress(b'[{"id": 1}]'), (("Content-Encoding", "gzip"),))
    with (
        LoopbackServer(lambda _: reply) as server,
        Client(server.base_url, options=options) as client,
    ):
        assert client.list("event/").first() == {"id": 1}
        assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_a_body_that_takes_too_long() -> None:
    """However fast it comes."""
    with pytest.raises(UnexpectedResponse, match="takes longer than 0 s"):
        await read_body(answer([b"a"] * 3, ""), TIMEOUT, body_timeout=0)


async def test_a_body_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps any timeout of single reads from ending the request."""
    monkeypatch.setattr(response_body, "MIN_BYTES_PER_SECOND", 10**12)
    with pytest.raises(httpx.ReadTimeout, match="too slowly"):
        await read_body(answer([b"a"] * 3, ""), timeout=0)
    assert await read_body(answer([b"a"] * 3, ""), timeout=60) == b"aaa"
