"""Responses: encoding, compression, validators, common headers, sending, and the cache of complete ones."""

import gzip
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus
from itertools import chain
from typing import Any

import brotli
import msgspec
import zstandard

from fieldgate import __version__
from fieldgate.errors import Header, RequestTimeout
from fieldgate.http.disconnects import Client, run_until_disconnect
from fieldgate.i18n.languages import Language
from fieldgate.overload import run_in_thread_if

COMPRESS_IN_THREAD_THRESHOLD_BYTES = 64 * 1024  # compressing takes milliseconds from here on
MIN_COMPRESS_BYTES = 1024  # smaller bodies are not worth it
CHUNK_BYTES = 256 * 1024  # of files that are sent as a stream

_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=4),
    "zstd": lambda body: zstandard.compress(body, 3),
    "gzip": lambda body: gzip.compress(body, compresslevel=5, mtime=0),
}

Send = Callable[[Any], Awaitable[None]]

METHODS = (
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "HEAD",
    "OPTIONS",
)  # the order of the Allow header

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
    """Status, headers and body. `send_response` adds what differs between requests, such as the id."""

    status: int
    headers: list[Header]
    body: bytes = b""
    etag: bytes = b""
    # Chunks that follow the body, generated while they are sent. After an empty chunk only the connection is checked.
    stream: AsyncGenerator[bytes, None] | None = None

    @property
    def size(self) -> int:
        """Roughly the memory the response takes, in bytes."""
        return len(self.body) + sum(map(len, chain.from_iterable(self.headers))) + 512


def strict_transport_security(max_age_seconds: int | None) -> list[Header]:
    """The header that makes browsers use https for this host (RFC 6797); none if it is switched off."""
    return (
        []
        if max_age_seconds is None
        else [(b"strict-transport-security", b"max-age=%d" % max_age_seconds)]
    )


def vary(*more: str) -> Header:
    return (b"vary", ", ".join((*VARY, *more)).encode())


def allow(methods: Collection[str]) -> Header:
    return (b"allow", ", ".join(method for method in METHODS if method in methods).encode())


def content_language(language: Language) -> Header:
    return (b"content-language", language.value.encode())


def make_etag(*parts: object) -> bytes:
    """A strong ETag from everything a response depends on, including the release."""
    digest = hashlib.blake2b(msgspec.msgpack.encode((__version__, *parts)), digest_size=12)
    return b'"' + digest.hexdigest().encode() + b'"'


def make_data_version(*parts: object) -> bytes:
    """The version of the data of a list, for clients that read it page by page. A release may change records, too."""
    return (
        hashlib.blake2b(msgspec.msgpack.encode((__version__, *parts)), digest_size=8)
        .hexdigest()
        .encode()
    )


def make_body_etag(body: bytes) -> bytes:
    """A strong ETag from the body, if nothing else is known."""
    return b'"' + hashlib.blake2b(body, digest_size=12).hexdigest().encode() + b'"'


async def encode(response: Response, encoding: str) -> Response:
    """Compress the body if that pays off, and add Content-Length and ETag."""
    if response.stream is not None:
        return response
    body, etag, headers = response.body, response.etag, [*response.headers]
    if encoding and len(body) > MIN_COMPRESS_BYTES:
        # Compressing a large body takes long, so it must not block the event loop.
        is_large = len(body) > COMPRESS_IN_THREAD_THRESHOLD_BYTES
        body = await run_in_thread_if(is_large, compress, body, encoding)
        headers.append((b"content-encoding", encoding.encode()))
        # A compressed body is another representation, so it needs another strong ETag.
        etag = etag and etag[:-1] + b"-" + encoding.encode() + b'"'
    if etag:
        headers.append((b"etag", etag))
    if response.status != HTTPStatus.NO_CONTENT:
        headers.append((b"content-length", str(len(body)).encode()))
    return Response(response.status, headers, body, etag)


async def in_chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    """The stream of a file. Streams are not compressed, which suits files that are compressed already."""
    for start in range(0, len(data), CHUNK_BYTES):
        yield data[start : start + CHUNK_BYTES]


async def start_stream(response: Response, method: str) -> Response:
    """Generate the first chunk of a stream: an error up to here still gets an error response."""
    if response.stream is None or method == "HEAD":
        return response
    return msgspec.structs.replace(response, body=await anext(response.stream, b""))


def etag_matches(response: Response, if_none_match: bytes) -> bool:
    """Whether the client already has this response (RFC 9110, 13.1.2)."""
    if if_none_match == response.etag or if_none_match.strip() == b"*":
        return True
    return response.etag.removeprefix(b"W/") in (
        member.strip().removeprefix(b"W/") for member in if_none_match.split(b",")
    )


_BODY_HEADERS = {b"content-type", b"content-length", b"content-encoding"}


async def send_response(
    client: Client,
    send: Send,
    response: Response,
    extra_headers: Sequence[Header],
    request_headers: Mapping[bytes, bytes],
    method: str,
) -> int:
    """Send the response, or 304 if the client has it; return the status that was sent."""
    status, body = response.status, response.body
    complete = [*response.headers, *extra_headers]
    if method == "HEAD":
        body = b""
    condition = request_headers.get(b"if-none-match")
    if (
        condition is not None
        and response.etag
        and method in ("GET", "HEAD")
        and etag_matches(response, condition)
    ):
        status, body = 304, b""
        complete = [header for header in complete if header[0] not in _BODY_HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": complete})
    if response.stream is not None and method != "HEAD":
        async with aclosing(response.stream):
            try:
                await run_until_disconnect(client, _send_stream(send, body, response.stream))
            except RequestTimeout:
                return status  # without the end: what the client has must not look complete
        body = b""
    await send({"type": "http.response.body", "body": body})
    return status


async def _send_stream(send: Send, chunk: bytes, chunks: AsyncGenerator[bytes, None]) -> None:
    if chunk:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    async for chunk in chunks:
        if chunk:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})


def compress(body: bytes, encoding: str) -> bytes:
    return _COMPRESSORS[encoding](body)
