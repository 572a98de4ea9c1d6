"""What the HTTP server does with requests before the application sees them. docs/operations.md describes it.

Requests that proxies and servers could read differently are rejected, or read in a way that nothing can be smuggled.
"""

import socket
from collections.abc import Iterator

import pytest

from tests.processes import TIMEOUT_SECONDS, ServerProcess

GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
POST = b"POST /get_auth_token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
CLOSE = b"Connection: close\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("served"), "--no-worker") as served:
        yield served


def exchange(served: ServerProcess, request: bytes) -> bytes:
    """Everything that the server sends until it closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", served.port), TIMEOUT_SECONDS) as connection:
        connection.sendall(request)
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionResetError:  # it did not read all of the request
            pass
    return received


def statuses(response: bytes) -> list[int]:
    return [int(part[:3]) for part in response.split(b"HTTP/1.1 ")[1:]]


REJECTED = {
    "a control character": GET + b"X: a\0b\r\n\r\n",
    "CR in a value": GET + b"X: a\rb\r\n\r\n",
    "lines that end in CR": b"GET /healthz HTTP/1.1\rHost: 127.0.0.1\r\r",
    "a folded header": GET + b"X: a\r\n b\r\n\r\n",
    "a space before the colon": CHUNKED.replace(b"Encoding:", b"Encoding :")
    + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "two different lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "an unknown encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked not as the last encoding": POST
    + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunked in HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"\r\n0\r\n\r\n",
    "LF after the size of a chunk": CHUNKED + b"\r\n2\n{}\r\n0\r\n\r\n",
    "LF after an extension of a chunk": CHUNKED + b"\r\n2;x\n{}\r\n0\r\n\r\n",
    "LF after a chunk": CHUNKED + b"\r\n2\r\n{}\n0\r\n\r\n",
    "LF after the last chunk": CHUNKED + b"\r\n2\r\n{}\r\n0\n\n",
    "CR after the size of a chunk": CHUNKED + b"\r\n2\r{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", REJECTED.values(), ids=REJECTED)
def test_rejected(served: ServerProcess, request_bytes: bytes) -> None:
    """The connection is closed, so what follows is never taken for a request."""
    assert statuses(exchange(served, request_bytes + SMUGGLED)) == [400]


def test_encoding_given_twice(served: ServerProcess) -> None:
    """The server takes "chunked" twice for once; the application does not."""
    twice = CHUNKED + b"Transfer-Encoding: chunked\r\n" + CLOSE + b"2\r\n{}\r\n0\r\n\r\n"
    assert statuses(exchange(served, twice)) == [400]


def test_length_and_encoding(served: ServerProcess) -> None:
    """The encoding counts, and the connection is closed: nothing is left over for a second reader."""
    both = CHUNKED + b"Content-Length: 4\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + SMUGGLED
    response = exchange(served, both)
    assert statuses(response) == [400], "the body is {}, without a username"
    assert b"username" in response
    assert b"connection: close" in response.lower()


def test_same_length_twice(served: ServerProcess) -> None:
    twice = POST + b"Content-Length: 2\r\nContent-Length: 2\r\n" + CLOSE + b"{}" + SMUGGLED
    assert statuses(exchange(served, twice)) == [400]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_that_end_in_lf_are_accepted(served: ServerProcess, end: bytes) -> None:
    """The server has no option to refuse them. Each line is one header, whatever ends it."""
    request = (GET + b"X: y\r\n" + CLOSE).replace(b"\r\n", end)
    assert statuses(exchange(served, request)) == [200]


def test_limits(served: ServerProcess) -> None:
    assert statuses(exchange(served, GET + b"X: " + b"a" * 64_000 + b"\r\n" + CLOSE)) == [200]
    assert statuses(exchange(served, GET + b"X: " + b"a" * 131_072 + b"\r\n" + CLOSE)) == [431]
    headers = b"".join(b"X%d: y\r\n" % number for number in range(97))
    assert statuses(exchange(served, GET + headers + b"Y: y\r\n" + CLOSE)) == [200], "100 headers"
    assert statuses(exchange(served, GET + headers + b"Y: y\r\nZ: z\r\n" + CLOSE)) == [431]
    path = b"/healthz?" + b"a" * (65_534 - 9)
    assert statuses(exchange(served, GET.replace(b"/healthz", path) + CLOSE)) == [200]
    assert statuses(exchange(served, GET.replace(b"/healthz", path + b"aa") + CLOSE)) == [414]


def test_http_2_is_off(served: ServerProcess) -> None:
    assert exchange(served, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0") == b""
    upgrade = (
        GET
        + b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: close, Upgrade\r\n\r\n"
    )
    assert statuses(exchange(served, upgrade)) == [200]


@pytest.mark.parametrize(
    "path", ["/healthz", "/api/v2/permissions/", "/nothing/", "/login/", "/static/app.css"]
)
def test_the_http_server_is_not_named(served: ServerProcess, path: str) -> None:
    response = exchange(served, GET.replace(b"/healthz", path.encode()) + CLOSE).lower()
    assert b"\r\nserver: \r\n" in response
    assert b"granian" not in response
