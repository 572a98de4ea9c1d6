"""A minimal HTTP client: one connection, one request at a time, with little overhead."""

import socket
import time

import click

TIMEOUT_SECONDS = 10 * 60
BUFFER_BYTES = 1024 * 1024
MAX_IDLE_SECONDS = 5  # after which the connection is opened again


class PageClient:
    """Requests pages and measures the time of each."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._authorization = f"Authorization: Token {token}\r\n" if token else ""
        self.last_seconds = 0.0  # duration of the last request
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=TIMEOUT_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._last_used = time.monotonic()

    def get(self, path: str) -> bytes:
        """The body of the response, whose status must be 200."""
        return self.send("GET", path)

    def send(self, method: str, path: str, content: bytes = b"") -> bytes:
        """The body of the response, whose status must be 200 or 201. The content is JSON."""
        if time.monotonic() - self._last_used > MAX_IDLE_SECONDS:  # the server may have closed it
            self.close()
            self._connect()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n{self._authorization}"
        if content:
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        request = f"{head}\r\n".encode() + content
        started_at = time.perf_counter()
        self._socket.sendall(request)
        answer, length, parts = self._read_head()
        missing = length - sum(map(len, parts))
        while missing > 0:
            part = self._receive()
            parts.append(part)
            missing -= len(part)
        self.last_seconds = time.perf_counter() - started_at
        self._last_used = time.monotonic()
        body = b"".join(parts)
        if not answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 201 ")):
            raise click.ClickException(f"{path} returned {answer[:100].decode()}: {body[:300].decode()}")
        return body

    def close(self) -> None:
        self._socket.close()

    def _read_head(self) -> tuple[bytes, int, list[bytes]]:
        """The head, the content length, and the part of the body already received."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, rest = received.partition(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                return head, int(line.partition(b":")[2]), [rest]
        raise click.ClickException(f"A response has no content length:\n{head.decode()}")

    def _receive(self) -> bytes:
        part = self._socket.recv(BUFFER_BYTES)
        if not part:
            raise click.ClickException("The server closed the connection.")
        return part
