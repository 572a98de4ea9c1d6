"""Clients that hold many connections, silent or dripping. Others are still served."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from fieldgate.runtime.process_limits import raise_file_limit
from tests.processes import TIMEOUT_SECONDS, ServerProcess

CONNECTIONS = 1_100  # of each kind
PATHS = ("/api/v2/permissions/", "/healthz", "/readyz")
HEADERS = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "
BODY = b"POST /get_auth_token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n"


def open_connections(
    stack: ExitStack, served: ServerProcess, count: int, start: bytes = b""
) -> list[socket.socket]:
    opened = []
    for _ in range(count):
        connection = socket.create_connection(
            ("127.0.0.1", served.port), TIMEOUT_SECONDS, ("127.0.0.2", 0)
        )
        stack.enter_context(connection).sendall(start)
        opened.append(connection)
    return opened


@contextmanager
def dripping(connections: list[socket.socket]) -> Iterator[None]:
    """Send a byte on each connection, again and again."""
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.5):
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.nightly
def test_silent_and_dripping_connections_keep_nobody_out(tmp_path: Path) -> None:
    raise_file_limit()
    statuses: dict[str, int] = {}
    environment = {"FIELDGATE_RATE_LIMIT_EXEMPT": "127.0.0.0/8"}
    with (
        ServerProcess(tmp_path, "--no-worker", environment=environment) as served,
        ExitStack() as stack,
    ):
        open_connections(stack, served, CONNECTIONS)
        slow = open_connections(stack, served, CONNECTIONS // 2, HEADERS)
        slow += open_connections(stack, served, CONNECTIONS // 2, BODY)
        with dripping(slow):
            for _ in range(20):
                for path in PATHS:
                    with served.client() as client:
                        status = str(client.get(path).status_code)
                    statuses[status] = statuses.get(status, 0) + 1
    assert statuses == {"200": 60}
