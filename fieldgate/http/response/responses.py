"""An answer ready to be sent, and the headers all of them carry."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from itertools import chain
from typing import Any

import msgspec

from fieldgate import __version__
from fieldgate.concurrency import run_in_thread_if
from fieldgate.errors import Header
from fieldgate.http.response import compression
from fieldgate.i18n.languages import Language

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

STREAM_SEND_TIMEOUT_SECONDS = 5 * 60  # seconds a client may take for one part of a stream

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")  # the order of the Allow header

VARY = ("Accept", "Accept-Language", "Accept-Encoding")
VARY_BY_CALLER = ("Authorization", "Cookie")

SECURITY_HEADERS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
API_CSP: Header = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
HTML_CSP: Header = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
)

NO_CACHE: Header = (b"cache-control", b"no-cache")
PRIVATE_NO_CACHE: Header = (b"cache-control", b"private, no-cache")
NO_STORE: Header = (b"cache-control", b"no-store")


class Response(msgspec.Struct):
    """Status, headers and body. What differs from request to request, such as its id, is added when it is sent."""

    status: int
    headers: list[Header]
    body: bytes = b""
    etag: bytes = b""
    # What follows the body, made while it is sent, of whatever length. An empty part only asks whether to go on.
    stream: AsyncGenerator[bytes, None] | None = None

    @property
    def size(self) -> int:
        """Roughly, the memory this answer holds."""
        return len(self.body) + sum(map(len, chain.from_iterable(self.headers))) + 512


def vary(*more: str) -> Header:
    return (b"vary", ", ".join((*VARY, *more)).encode())


def allow(methods: Collection[str]) -> Header:
    return (b"allow", ", ".join(method for method in METHODS if method in methods).encode())


def content_language(language: Language) -> Header:
    return (b"content-language", language.value.encode())


def make_etag(*parts: object) -> bytes:
    """A strong validator from what the answer was made of; a release makes all of them new."""
    digest = hashlib.blake2b(msgspec.msgpack.encode((__version__, *parts)), digest_size=12)
    return b'"' + digest.hexdigest().encode() + b'"'


def make_body_etag(body: bytes) -> bytes:
    """A strong validator where nothing is known but the body itself."""
    return b'"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'


async def encode(response: Response, encoding: str) -> Response:
    """Compress where it pays, and write down length and validator."""
    if response.stream is not None:
        return response
    body, etag, headers = response.body, response.etag, [*response.headers]
    if encoding and len(body) > compression.MIN_COMPRESS_BYTES:
        # A large body keeps a core busy for a while: not the one that answers everybody else.
        is_long = len(body) > compression.COMPRESS_IN_THREAD_THRESHOLD_BYTES
        body = await run_in_thread_if(is_long, compression.compress, body, encoding)
        headers.append((b"content-encoding", encoding.encode()))
        # A compressed body is another representation, so it has another strong validator.
        etag = etag and etag[:-1] + b"-" + encoding.encode() + b'"'
    if etag:
        headers.append((b"etag", etag))
    if response.status != HTTPStatus.NO_CONTENT:
        headers.append((b"content-length", str(len(body)).encode()))
    return Response(response.status, headers, body, etag)


async def start_stream(response: Response, method: str) -> Response:
    """Make the first part of a stream: what goes wrong until then can still be told."""
    if response.stream is None or method == "HEAD":
        return response
    return msgspec.structs.replace(response, body=await anext(response.stream, b""))


def etag_matches(response: Response, if_none_match: bytes) -> bool:
    """Whether the client holds this very answer already (RFC 9110, 13.1.2)."""
    if if_none_match == response.etag or if_none_match.strip() == b"*":
        return True
    return response.etag in (member.strip().removeprefix(b"W/") for member in if_none_match.split(b","))


_BODY_HEADERS = {b"content-type", b"content-length", b"content-encoding"}


async def send_response(
    receive: Receive,
    send: Send,
    response: Response,
    extra_headers: Sequence[Header],
    request_headers: Mapping[bytes, bytes],
    method: str,
) -> int:
    """Send the answer, or 304 where the client has it; returns the status that went out."""
    status, body = response.status, response.body
    complete = [*response.headers, *extra_headers]
    if method == "HEAD":
        body = b""
    condition = request_headers.get(b"if-none-match")
    if condition is not None and response.etag and method in ("GET", "HEAD") and etag_matches(response, condition):
        status, body = 304, b""
        complete = [header for header in complete if header[0] not in _BODY_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": complete})
    if response.stream is not None and method != "HEAD":
        async with aclosing(response.stream):
            await _send_stream(receive, send, body, response.stream)
        body = b""
    await send({"type": "http.response.body", "body": body})
    return status


async def _send_stream(receive: Receive, send: Send, chunk: bytes, chunks: AsyncGenerator[bytes, None]) -> None:
    """Send part after part, until the last or until the client is gone."""
    gone = asyncio.create_task(_wait_for_disconnect(receive))
    try:
        while not gone.done():
            if chunk:
                async with asyncio.timeout(STREAM_SEND_TIMEOUT_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            chunk = await anext(chunks)
    except StopAsyncIteration:
        pass
    finally:
        gone.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
