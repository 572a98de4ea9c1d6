"""An answer ready to be sent, and the headers all of them carry."""

import asyncio
import hashlib
from asyncio import to_thread
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from itertools import chain
from typing import Any

import msgspec

from fieldgate import __version__
from fieldgate.errors import Header
from fieldgate.http.response import compression
from fieldgate.i18n.languages import Language

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

PATIENCE = 5 * 60  # seconds a client may take for one part of a stream

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")  # the order of the Allow header

VARY = ("Accept", "Accept-Language", "Accept-Encoding")
VARY_BY_CALLER = ("Authorization", "Cookie")

SECURITY: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
DATA_POLICY: Header = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
PAGE_POLICY: Header = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
)

REVALIDATE: Header = (b"cache-control", b"no-cache")
REVALIDATE_PRIVATELY: Header = (b"cache-control", b"private, no-cache")
NEVER_STORE: Header = (b"cache-control", b"no-store")


class Answer(msgspec.Struct):
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


def tag_of(*parts: object) -> bytes:
    """A strong validator from what the answer was made of; a release makes all of them new."""
    digest = hashlib.blake2b(msgspec.msgpack.encode((__version__, *parts)), digest_size=12)
    return b'"' + digest.hexdigest().encode() + b'"'


def tag_of_body(body: bytes) -> bytes:
    """A strong validator where nothing is known but the body itself."""
    return b'"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'


async def finish(answer: Answer, coding: str) -> Answer:
    """Compress where it pays, and write down length and validator."""
    if answer.stream is not None:
        return answer
    body, etag, headers = answer.body, answer.etag, [*answer.headers]
    if coding and len(body) > compression.SMALLEST:
        # A large body keeps a core busy for a while: not the one that answers everybody else.
        is_long = len(body) > compression.LONG
        body = await to_thread(compression.compress, body, coding) if is_long else compression.compress(body, coding)
        headers.append((b"content-encoding", coding.encode()))
        # A compressed body is another representation, so it has another strong validator.
        etag = etag and etag[:-1] + b"-" + coding.encode() + b'"'
    if etag:
        headers.append((b"etag", etag))
    if answer.status != HTTPStatus.NO_CONTENT:
        headers.append((b"content-length", str(len(body)).encode()))
    return Answer(answer.status, headers, body, etag)


async def begin(answer: Answer, method: str) -> Answer:
    """Make the first part of a stream: what goes wrong until then can still be told."""
    if answer.stream is None or method == "HEAD":
        return answer
    return msgspec.structs.replace(answer, body=await anext(answer.stream, b""))


def is_unchanged(answer: Answer, if_none_match: bytes) -> bool:
    """Whether the client holds this very answer already (RFC 9110, 13.1.2)."""
    if if_none_match == answer.etag or if_none_match.strip() == b"*":
        return True
    return answer.etag in (member.strip().removeprefix(b"W/") for member in if_none_match.split(b","))


_ABOUT_THE_BODY = {b"content-type", b"content-length", b"content-encoding"}


async def transmit(
    receive: Receive, send: Send, answer: Answer, extra: Sequence[Header], headers: Mapping[bytes, bytes], method: str
) -> int:
    """Send the answer, or 304 where the client has it; returns the status that went out."""
    status, body = answer.status, answer.body
    complete = [*answer.headers, *extra]
    if method == "HEAD":
        body = b""
    condition = headers.get(b"if-none-match")
    if condition is not None and answer.etag and method in ("GET", "HEAD") and is_unchanged(answer, condition):
        status, body = 304, b""
        complete = [header for header in complete if header[0] not in _ABOUT_THE_BODY]
    await send({"type": "http.response.start", "status": status, "headers": complete})
    if answer.stream is not None and method != "HEAD":
        async with aclosing(answer.stream):
            await _send_parts(receive, send, body, answer.stream)
        body = b""
    await send({"type": "http.response.body", "body": body})
    return status


async def _send_parts(receive: Receive, send: Send, part: bytes, more: AsyncGenerator[bytes, None]) -> None:
    """Send part after part, until the last or until the client is gone."""
    gone = asyncio.create_task(_gone(receive))
    try:
        while not gone.done():
            if part:
                async with asyncio.timeout(PATIENCE):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
            part = await anext(more)
    except StopAsyncIteration:
        pass
    finally:
        gone.cancel()


async def _gone(receive: Receive) -> None:
    """Wait until the client goes."""
    while (await receive())["type"] != "http.disconnect":
        pass
