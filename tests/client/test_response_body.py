"""Bodies of responses: compressed ones are decompressed in small steps, with bounds on size and time."""

import gzip
import os
import zlib
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fieldgate_client import Client, UnexpectedResponse, response_body
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.response_body import STEP_BYTES, read_body
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.lists(st.binary(max_size=2000), min_size=1, max_size=4), st.integers(1, 500))
async def test_gzip_in_any_pieces(members: list[bytes], size: int) -> None:
    """Also several gzip files one after the other."""
    body = b"".join(gzip.compress(member) for member in members)
    assert await read_body(answer(cut(body, size)), TIMEOUT) == b"".join(members)


@pytest.mark.parametrize("size", [STEP_BYTES - 1, STEP_BYTES, STEP_BYTES + 1, 3 * STEP_BYTES])
@pytest.mark.parametrize("content", [b"a", None])
async def test_bodies_larger_than_a_step(size: int, content: bytes | None) -> None:
    data = content * size if content else os.urandom(size)
    assert await read_body(answer(cut(gzip.compress(data, 1), 65536)), TIMEOUT) == data


@given(st.binary(min_size=1, max_size=300), st.data())
async def test_a_damaged_body_is_noticed(content: bytes, data: st.DataObject) -> None:
    body = gzip.compress(content)
    end = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(httpx.DecodingError):
        await read_body(answer([body[:end]]), TIMEOUT)


async def test_a_bomb_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte that becomes a gigabyte: decompression ends at the limit."""
    monkeypatch.setattr(response_body, "MAX_BODY_BYTES", 3 * STEP_BYTES)
    steps: list[int] = []

    class Watched:
        def __init__(self, window: int) -> None:
            self._inner = decompressobj(window)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        def decompress(self, raw: bytes, most: int) -> bytes:
            chunk = self._inner.decompress(raw, most)
            steps.append(len(chunk))
            return chunk

    decompressobj = zlib.decompressobj
    monkeypatch.setattr(zlib, "decompressobj", Watched)
    compressor = zlib.compressobj(9, wbits=31)
    bomb = b"".join([*(compressor.compress(bytes(STEP_BYTES)) for _ in range(40)), compressor.flush()])
    with pytest.raises(UnexpectedResponse, match="larger than 3 MB"):
        await read_body(answer([bomb]), TIMEOUT)
    assert steps == [STEP_BYTES] * 4


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip,br", "compress"])
def test_what_was_not_asked_for_is_refused(encoding: str) -> None:
    reply = Reply(200, gzip.compress(b"[]"), (("Content-Encoding", encoding),))
    with LoopbackServer(lambda _: reply) as server, Client(server.base_url, options=QUICK) as client:
        with pytest.raises(UnexpectedResponse, match="compressed in a way that was not asked for"):
            client.list("event/").first()
        assert server.requests[0].headers["accept-encoding"] == "identity"


def test_gzip_is_asked_for_where_it_saves_traffic() -> None:
    options = ConnectionOptions(compression=True)
    reply = Reply(200, gzip.compress(b'[{"id": 1}]'), (("Content-Encoding", "gzip"),))
    with LoopbackServer(lambda _: reply) as server, Client(server.base_url, options=options) as client:
        assert client.list("event/").first() == {"id": 1}
        assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_a_body_that_drips(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps any timeout of single reads from ending the request."""
    monkeypatch.setattr(response_body, "MIN_BYTES_PER_SECOND", 10**12)
    with pytest.raises(httpx.ReadTimeout, match="too slowly"):
        await read_body(answer([b"a"] * 3, ""), timeout=0)
    assert await read_body(answer([b"a"] * 3, ""), timeout=60) == b"aaa"
