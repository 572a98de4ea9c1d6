"""Clients that hold connections: silent, idle, dripping, reading slowly, or very many. Others are still served."""

import re
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from fieldgate.runtime.file_limits import raise_file_limit
from tests.faults.trial_report import TrialReport, TrialResult
from tests.processes import TIMEOUT_SECONDS, ServerProcess, children

LIST = "/api/v2/permissions/"
LARGE = "/api/v2/event/?limit=1000"
EXPORT = "/api/v2/event/export/?format=ndjson"
HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
ATTACKER = "127.0.0.2"
PROXY = "127.0.0.9"
SHARE = 64
TCP_CLOSE = 7  # the state of a connection that was reset
HEADER_SECONDS, IDLE_SECONDS = 1, 3
SHORT = {
    "FIELDGATE_HEADER_TIMEOUT": f"{HEADER_SECONDS}s",
    "FIELDGATE_IDLE_TIMEOUT": f"{IDLE_SECONDS}s",
    "FIELDGATE_MAX_CONNECTIONS_PER_ADDRESS": str(SHARE),
    "FIELDGATE_ACCESS_LOG": "false",
}
PATIENT = {"FIELDGATE_TRUSTED_PROXIES": PROXY, "FIELDGATE_ACCESS_LOG": "false"}
DEFAULT_SHARE = 256


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with short times."""
    raise_file_limit()
    with ServerProcess(tmp_path_factory.mktemp("served"), "--demo", "--no-worker", environment=SHORT) as served:
        yield served


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with the times and shares of an installation."""
    raise_file_limit()
    with ServerProcess(tmp_path_factory.mktemp("patient"), "--no-worker", environment=PATIENT) as served:
        yield served


def connect(served: ServerProcess, source: str = ATTACKER) -> socket.socket:
    """A connection from an address of this machine."""
    return socket.create_connection(("127.0.0.1", served.port), TIMEOUT_SECONDS, (source, 0))


@contextmanager
def many_connections(
    served: ServerProcess, count: int, sources: list[str], request: bytes = b""
) -> Iterator[list[socket.socket]]:
    """Connections from several addresses; each sends a request at once, or is silent."""
    with ExitStack() as stack:
        connections = []
        for number in range(count):
            connection = stack.enter_context(connect(served, sources[number % len(sources)]))
            connection.sendall(request)
            connections.append(connection)
        yield connections


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed it. Discards what was received."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def count_open(connections: list[socket.socket]) -> int:
    return sum(not is_closed(connection) for connection in connections)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_served(served: ServerProcess) -> dict[str, int]:
    """New connections of others get responses, health checks too."""
    statuses: dict[str, int] = {}
    for path in (LIST, "/healthz", "/readyz"):
        with served.client() as client:
            status = client.get(path).status_code
        statuses[str(status)] = statuses.get(str(status), 0) + 1
    assert statuses == {"200": 3}
    return statuses


def read_response(connection: socket.socket) -> bytes:
    """What the server sends, until the head and the body of `Content-Length` are complete, or the connection ends."""
    connection.settimeout(TIMEOUT_SECONDS)
    data = b""
    while True:
        head, end, body = data.partition(b"\r\n\r\n")
        if end:
            sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if sizes and len(body) >= int(sizes[0].partition(b":")[2]):
                return data
        part = connection.recv(65536)
        if not part:
            return data
        data += part


def read_rest(connection: socket.socket) -> bytes:
    received = b""
    try:
        while part := connection.recv(65536):
            received += part
    except ConnectionError:
        pass
    return received


def drip(connection: socket.socket, text: bytes, pause: float = 0.2) -> bytes:
    """Send byte by byte until the server closes the connection; return its response."""
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        for position in range(len(text)):
            try:
                connection.sendall(text[position : position + 1])
                if selector.select(pause):
                    part = connection.recv(65536)
                    if not part:
                        return received
                    received += part
            except ConnectionError:  # closed while this side was sending; the response is still there
                return received + read_rest(connection)
    pytest.fail("The connection was not closed.")


def count_closed(served: ServerProcess, reason: str) -> float:
    """How many connections the server closed for a reason, by its metrics."""
    with served.client() as client:
        metrics = client.get("/metrics").text
    found = re.search(rf'^fieldgate_connections_closed_total{{reason="{reason}"}} (\S+)$', metrics, re.MULTILINE)
    assert found, metrics
    return float(found[1])


def test_silent_connections_of_one_address(served: ServerProcess, trial_report: TrialReport) -> None:
    started = time.monotonic()
    with many_connections(served, 1_100, [ATTACKER]) as silent:
        statuses = assert_served(served)
        seconds = time.monotonic() - started
        wait_until(lambda: count_open(silent) == 0)
    assert count_closed(served, "address_share") > 0
    result = TrialResult(
        trial="1,100 silent connections", database="-", statuses=statuses, recovery_seconds=round(seconds, 1)
    )
    trial_report.add(result)


def test_the_newest_connections_of_an_address_are_served(served: ServerProcess) -> None:
    """An attacker cannot lock out others of the same address, for example behind a common router."""
    with many_connections(served, 3 * SHARE, [ATTACKER]) as silent:
        wait_until(lambda: count_open(silent) <= SHARE)
        with connect(served) as late:
            late.sendall(HEAD)
            assert read_response(late).startswith(b"HTTP/1.1 200")


def test_share_of_an_address_and_of_trusted_proxies(patient: ServerProcess) -> None:
    count = DEFAULT_SHARE + 44
    with (
        many_connections(patient, count, [PROXY], HEAD) as proxied,
        many_connections(patient, 100, ["127.0.0.3"], HEAD) as others,
        many_connections(patient, count, [ATTACKER], HEAD) as mine,
    ):
        wait_until(lambda: count_open(mine) == DEFAULT_SHARE)
        assert count_open(proxied) == count
        assert count_open(others) == 100
        assert_served(patient)


def hold_idle(served: ServerProcess) -> float:
    """After how many seconds a connection is closed that is idle after a request."""
    with connect(served) as connection:
        connection.sendall(HEAD)
        assert read_response(connection).startswith(b"HTTP/1.1 200")
        started = time.monotonic()
        wait_until(lambda: is_closed(connection))
        return time.monotonic() - started


def drip_headers(served: ServerProcess) -> bytes:
    with connect(served) as connection:
        return drip(connection, HEAD[:-2] + b"X: " + b"x" * 1000)


def drip_headers_of_second_request(served: ServerProcess) -> bytes:
    with connect(served) as connection:
        connection.sendall(HEAD)
        read_response(connection)
        return drip(connection, HEAD[:-2] + b"X: " + b"x" * 1000)


def drip_body(served: ServerProcess) -> bytes:
    head = (
        b"POST /get_auth_token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Accept-Language: fr\r\nContent-Length: 1000\r\n\r\n"
    )
    with connect(served) as connection:
        connection.sendall(head)
        return drip(connection, b" " * 1000)


def drip_discarded_body(served: ServerProcess) -> bytes:
    with connect(served) as connection:
        connection.sendall(b"POST /nothing/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n")
        return drip(connection, b" " * 1000)


def read_nothing(served: ServerProcess) -> None:
    with connect(served) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"GET {EXPORT} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        wait_until(lambda: was_reset(connection))


def was_reset(connection: socket.socket) -> bool:
    """Whether the server broke the connection off; found out without reading from it."""
    state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return bool(state == TCP_CLOSE)


def half_open(served: ServerProcess) -> None:
    """Half of a request, with and without the end of the client's side."""
    with connect(served) as half, connect(served) as ended:
        half.sendall(HEAD[:20])
        ended.sendall(HEAD[:20])
        ended.shutdown(socket.SHUT_WR)
        wait_until(lambda: is_closed(half) and is_closed(ended))


SLOW_CLIENTS = (
    hold_idle, drip_headers, drip_headers_of_second_request, drip_body, drip_discarded_body, read_nothing, half_open,
)  # fmt: skip


SlowClients = dict[Callable[[ServerProcess], Any], Future[Any]]


@pytest.fixture(scope="module")
def slow_clients(served: ServerProcess) -> Iterator[SlowClients]:
    """Clients that hold a connection in different ways, all at the same time; each ends when it is disconnected."""
    with ThreadPoolExecutor(len(SLOW_CLIENTS)) as pool:
        yield {client: pool.submit(client, served) for client in SLOW_CLIENTS}


def test_others_are_served_beside_slow_clients(
    served: ServerProcess, slow_clients: SlowClients, trial_report: TrialReport
) -> None:
    statuses = assert_served(served)
    trial_report.add(
        TrialResult(
            trial="dripped headers and bodies, unread responses, idle and half-open connections",
            database="SQLite",
            statuses=statuses,
        )
    )


def test_idle_connections_are_closed(slow_clients: SlowClients) -> None:
    assert slow_clients[hold_idle].result() > HEADER_SECONDS + 0.5, "not with the shorter time of headers"


def test_dripped_headers(slow_clients: SlowClients) -> None:
    assert slow_clients[drip_headers].result() == b""
    assert slow_clients[drip_headers_of_second_request].result() == b""


def test_dripped_bodies(slow_clients: SlowClients) -> None:
    response = slow_clients[drip_body].result()
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in response.lower()
    assert b"trop lentement" in response


def test_dripped_bodies_that_are_discarded(slow_clients: SlowClients) -> None:
    assert slow_clients[drip_discarded_body].result().startswith(b"HTTP/1.1 404 ")


def test_responses_that_are_not_read(slow_clients: SlowClients) -> None:
    slow_clients[read_nothing].result()


def test_half_open_connections(slow_clients: SlowClients) -> None:
    slow_clients[half_open].result()


def test_memory_of_responses_that_are_not_read(served: ServerProcess) -> None:
    """The HTTP server does not hold a copy of a large response for each client that reads slowly."""
    with served.client() as client:
        size = len(client.get(LARGE).content)
    process = next(pid for pid in children(served.process.pid) if memory_of(pid) > 50_000_000)
    before = memory_of(process)
    answered = 0
    request = f"GET {LARGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with ExitStack() as stack:
        unread = []
        for _ in range(SHARE):
            connection = stack.enter_context(connect(served))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request)  # at once, as the time for headers is short
            unread.append(connection)
        for connection in unread:
            with suppress(ConnectionError):  # broken off already, as it is read slowly
                answered += len(connection.recv(1))
        assert answered > SHARE // 2
        assert memory_of(process) < before + answered * size // 2
        assert_served(served)


def memory_of(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_flood_of_new_connections(served: ServerProcess, trial_report: TrialReport) -> None:
    """Connections that are opened faster than they can be looked at."""
    flooders = [f"127.0.1.{number}" for number in range(1, 5)]
    with ExitStack() as stack:
        for _ in range(4):
            for number in range(400):
                stack.enter_context(connect(served, flooders[number % len(flooders)]))
            statuses = assert_served(served)
    trial_report.add(
        TrialResult(
            trial="1,600 new connections as fast as possible, from four addresses", database="-", statuses=statuses
        )
    )


def test_idle_connections_of_many_addresses(patient: ServerProcess, trial_report: TrialReport) -> None:
    hold_idle_connections(patient, 1_000, trial_report)


@pytest.mark.nightly
def test_5000_idle_connections_of_many_addresses(patient: ServerProcess, trial_report: TrialReport) -> None:
    hold_idle_connections(patient, 5_000, trial_report)


def hold_idle_connections(served: ServerProcess, count: int, trial_report: TrialReport) -> None:
    sources = [f"127.0.2.{number}" for number in range(1, 21)]
    started = time.monotonic()
    with many_connections(served, count, sources, HEAD) as idle:
        statuses = assert_served(served)
        seconds = time.monotonic() - started
        for connection in idle:
            assert read_response(connection).startswith(b"HTTP/1.1 200")
        for connection in idle:
            connection.sendall(HEAD)
        for connection in idle:
            assert read_response(connection).startswith(b"HTTP/1.1 200"), "all are still open"
        assert_served(served)
    trial_report.add(
        TrialResult(
            trial=f"{count:,} idle connections from 20 addresses",
            database="-",
            statuses={**statuses, "200": statuses["200"] + 2 * count},
            recovery_seconds=round(seconds, 1),
        )
    )


@pytest.mark.nightly
def test_5000_silent_connections_of_one_address(patient: ServerProcess, trial_report: TrialReport) -> None:
    started = time.monotonic()
    with many_connections(patient, 5_000, [ATTACKER]) as silent:
        statuses = assert_served(patient)
        seconds = time.monotonic() - started
        wait_until(lambda: count_open(silent) == 0)
    result = TrialResult(
        trial="5,000 silent connections", database="-", statuses=statuses, recovery_seconds=round(seconds, 1)
    )
    trial_report.add(result)
