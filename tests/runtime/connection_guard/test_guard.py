"""The guard reads and closes real connections of this process. The clock is that of the test."""

import os
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fieldgate.runtime.connection_guard import Activity, ConnectionGuard, ConnectionLimits
from fieldgate.runtime.connection_guard.guard import SEND_BUFFER_BYTES
from fieldgate.runtime.connection_guard.sockets import SocketReader, count_descriptors

LIMITS = ConnectionLimits(
    max_connections=50, max_per_address=3, header_timeout=10, idle_timeout=75, min_rate=1000, rate_window=30
)


class Pairs:
    """Connections to a listening socket of this process: both ends."""

    def __init__(self, host: str) -> None:
        is_ipv6 = ":" in host
        family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, dualstack_ipv6=is_ipv6)
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = [self._listener]

    def add(self, source: str = "127.0.0.2") -> tuple[socket.socket, socket.socket]:
        host = "::1" if ":" in source and "." not in source else "127.0.0.1"
        client = socket.create_connection((host, self.port), source_address=(source, 0))
        server, _ = self._listener.accept()
        self._open += [client, server]
        return client, server

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def pairs() -> Iterator[Pairs]:
    pairs = Pairs("127.0.0.1")
    yield pairs
    pairs.close()


class Watched:
    """A guard whose clock and activities are set by the test."""

    def __init__(self, port: int) -> None:
        self.now = 100.0
        self.closed: Counter[str] = Counter()
        self.active: dict[tuple[str, str], Activity] = {}
        self.guard = ConnectionGuard(
            port, LIMITS, lambda client: self.active.get(client, Activity.NONE), {"127.0.0.9"}.__contains__,
            lambda reason: self.closed.update([reason]), lambda: self.now,
        )  # fmt: skip

    def scan_after(self, seconds: float) -> int:
        self.now += seconds
        return self.guard.scan()


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return bool(client.recv(1))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_only_connections_of_the_port_are_counted(pairs: Pairs) -> None:
    other = Pairs("127.0.0.1")
    other.add()
    watched = Watched(pairs.port)
    assert watched.scan_after(0) == 0
    _, server = pairs.add()
    assert watched.scan_after(1) == 1
    server.close()
    assert watched.scan_after(1) == 0
    other.close()


def test_silent_and_active_connections(pairs: Pairs) -> None:
    silent, _ = pairs.add()
    handled, _ = pairs.add()
    watched = Watched(pairs.port)
    address, port = handled.getsockname()
    watched.active[address, str(port)] = Activity.HANDLING
    watched.scan_after(0)
    for _ in range(100):
        watched.scan_after(1)
    assert not is_open(silent)
    assert is_open(handled)
    assert watched.closed == {"silent": 1}


def test_response_that_is_not_read(pairs: Pairs) -> None:
    client, server = pairs.add()
    client.sendall(b"GET")
    watched = Watched(pairs.port)
    watched.scan_after(0)
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            server.send(b"x" * 65536)
    scans = 0
    while not is_broken_off(server):
        watched.scan_after(1)
        scans += 1
        assert scans < 200
    assert scans >= 30


def is_broken_off(server: socket.socket) -> bool:
    try:
        server.send(b"x")
    except BlockingIOError:
        return False
    except BrokenPipeError:
        return True
    return False


def test_share_of_an_address(pairs: Pairs) -> None:
    clients = [pairs.add()[0] for _ in range(5)]
    proxied = [pairs.add("127.0.0.9")[0] for _ in range(5)]
    watched = Watched(pairs.port)
    watched.scan_after(0)
    assert sorted(map(is_open, clients)) == [False, False, True, True, True]
    assert all(map(is_open, proxied))


def test_peers_are_named_as_in_the_scope_of_requests() -> None:
    pairs = Pairs("::")
    reader = SocketReader()
    for source in ("127.0.0.2", "::1"):
        client, server = pairs.add(source)
        expected = "::ffff:127.0.0.2" if "." in source else "::1"
        assert reader.peer(server.fileno()) == (expected, client.getsockname()[1])
        assert reader.local_port(server.fileno()) == pairs.port
    pairs.close()


def test_a_descriptor_of_another_connection_is_not_closed(pairs: Pairs) -> None:
    """The number of a descriptor may belong to another connection by the time it is closed."""
    client, server = pairs.add()
    reader = SocketReader()
    cookie = reader.cookie(server.fileno())
    assert not reader.close(server.fileno(), cookie + 1)
    assert is_open(client)
    assert reader.close(server.fileno(), cookie)
    assert not is_open(client)
    descriptor = server.fileno()
    server.close()
    assert not reader.close(descriptor, cookie)


def test_descriptors() -> None:
    reader = SocketReader()
    before = set(reader.descriptors())
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(3000)]
    try:
        assert set(opened) <= set(reader.descriptors())
        assert reader.cookie(opened[0]) == 0
        assert reader.transfer(opened[0]) is None
        assert reader.peer(opened[0]) is None
        assert count_descriptors() in (0, len(set(reader.descriptors())) - 1)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert set(reader.descriptors()) <= before | set(range(max(before) + 2))


def test_little_is_kept_for_clients_that_do_not_read(pairs: Pairs) -> None:
    allowed = int(Path("/proc/sys/net/core/wmem_max").read_text())
    _, before = pairs.add()
    Watched(pairs.port).scan_after(0)
    _, after = pairs.add()
    assert after.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * min(SEND_BUFFER_BYTES, allowed)
    assert before.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) != 2 * min(SEND_BUFFER_BYTES, allowed)
