"""A real server on this machine whose responses are set by tests."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

from fieldgate.imports.fetch.public_addresses import IPAddress
from fieldgate.imports.fetch.url_fetcher import URLFetcher

FakeResponse = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]

DEFAULT_NAMES = {"forms.example.org": ("127.0.0.1",)}


def ok_response(data: bytes, *headers: str) -> bytes:
    """Return a complete response with a file."""
    return (
        "\r\n".join(("HTTP/1.1 200 OK", f"Content-Length: {len(data)}", *headers, "", "")).encode()
        + data
    )


def status_response(code: int, *headers: str) -> bytes:
    return "\r\n".join(
        (f"HTTP/1.1 {code} Whatever", "Content-Length: 0", *headers, "", "")
    ).encode()


def redirect_response(location: str, code: int = 302) -> bytes:
    return status_response(code, f"Location: {location}")


def is_loopback(address: IPAddress) -> bool:
    return address.is_loopback


class FakeHost:
    """The responses of the server, by path, and the requests it got."""

    def __init__(self) -> None:
        self.responses: dict[str, FakeResponse] = {}
        self.requested_paths: list[str] = []
        self.headers: dict[str, str] = {}
        self.resolved_names: list[str] = []
        self.port = 0

    def url(
        self, path: str = "/household.xlsx", host: str = "forms.example.org", scheme: str = "http"
    ) -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def fetcher(self, names: Mapping[str, Sequence[str]] | None = None, **more: Any) -> URLFetcher:
        """Return a fetcher that resolves names from a table and by default may connect to this machine."""

        async def look_up(name: str, port: int) -> Sequence[IPAddress]:
            self.resolved_names.append(name)
            try:
                return [
                    ip_address(text) for text in (DEFAULT_NAMES if names is None else names)[name]
                ]
            except KeyError:
                raise socket.gaierror(socket.EAI_NONAME, "unknown") from None

        options = {
            "hosts": (f".example.org:{self.port}",),
            "resolve": look_up,
            "may_connect": is_loopback,
            **more,
        }
        return URLFetcher(options.pop("hosts"), **options)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        path = head[0].split()[1]
        self.requested_paths.append(path)
        self.headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        response = self.responses[path]
        try:
            if isinstance(response, bytes):
                writer.write(response)
                await writer.drain()
            else:
                await response(writer)
        except ConnectionError:  # the client has closed the connection
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serve_fake_host(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeHost]:
    host = FakeHost()
    server = await asyncio.start_server(host._serve, "127.0.0.1", 0, ssl=tls)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
