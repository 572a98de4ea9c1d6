"""The thread that watches the connections of a process."""

import logging
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

from fieldgate.runtime.client_networks import network_of
from fieldgate.runtime.connection_guard.rules import (
    Activity,
    CloseReason,
    ConnectionLimits,
    Observation,
    TrackedConnection,
    choose_surplus,
)
from fieldgate.runtime.connection_guard.sockets import SocketReader, count_descriptors

SCAN_INTERVAL_SECONDS = 1.0
# Between two scans only the number of descriptors is looked at. If many connections were opened, the scan is at once.
CHECK_INTERVAL_SECONDS = 0.1
MAX_SHARE_OF_PROCESSOR = 0.025  # with so many connections that a scan takes longer, there are fewer scans
CONNECTIONS_PER_TURN = 200  # then the event loop gets its turn
LOG_INTERVAL_SECONDS = 10.0
# The system would keep up to 4 MB for a client that does not read: a whole export, made for nobody. The system doubles
# this size. Clients that are far away (200 ms) still get 5 MB a second.
SEND_BUFFER_BYTES = 512 * 1024
LOGGED_REASONS = tuple(reason for reason in CloseReason if reason is not CloseReason.IDLE)

log = logging.getLogger(__name__)


class ConnectionGuard:
    """Closes connections of a port by `rules`."""

    def __init__(
        self,
        port: int,
        limits: ConnectionLimits,
        activity: Callable[[tuple[str, str]], Activity],
        is_exempt: Callable[[str], bool],
        count_closed: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`activity` is what the application does for a peer (address, port); `is_exempt` names trusted proxies.

        `count_closed` is called with the label of the reason for each connection that was closed.
        """
        self._port = port
        self._limits = limits
        self._activity = activity
        self._is_exempt = is_exempt
        self._count_closed = count_closed
        self._clock = clock
        self._reader = SocketReader()
        self._connections: dict[tuple[int, int], TrackedConnection] = {}
        self._clients: dict[tuple[int, int], tuple[str, str]] = {}
        self._others: frozenset[tuple[int, int]] = frozenset()  # sockets that are not connections of the port
        self._closed: Counter[CloseReason] = Counter()
        self._logged_at = self._clock()

    def start(self) -> None:
        """Watch in a thread until the process ends. Does nothing on other systems than Linux."""
        if sys.platform == "linux":
            threading.Thread(target=self._run, name="connection-guard", daemon=True).start()

    def _run(self) -> None:
        while True:
            started = time.thread_time()
            try:
                self.scan()
            except Exception:
                log.exception("A scan of the connections failed")
            self._wait(max(SCAN_INTERVAL_SECONDS, (time.thread_time() - started) / MAX_SHARE_OF_PROCESSOR))

    def _wait(self, interval: float) -> None:
        """Until the next scan: an interval, or until many connections were opened."""
        many = min(self._limits.max_per_address, self._limits.max_connections) // 2
        before = count_descriptors()
        until = self._clock() + interval
        while self._clock() < until:
            time.sleep(CHECK_INTERVAL_SECONDS)
            if count_descriptors() > before + many:
                return

    def scan(self) -> int:
        """Look at all connections once and close those that have to be; return how many there are."""
        now = self._clock()
        found: dict[tuple[int, int], TrackedConnection] = {}
        clients: dict[tuple[int, int], tuple[str, str]] = {}
        others: set[tuple[int, int]] = set()
        reader = self._reader
        for number, descriptor in enumerate(reader.descriptors()):
            if number % CONNECTIONS_PER_TURN == 0:
                time.sleep(0)
            cookie = reader.cookie(descriptor)
            key = (descriptor, cookie)
            if not cookie or key in self._others:
                others.add(key)
                continue
            client = self._clients.get(key) or self._client_of(descriptor)
            connection = self._observe(key, client, now) if client else None
            if client is None or connection is None:
                others.add(key)
                if reader.local_port(descriptor) == self._port:
                    reader.limit_send_buffer(descriptor, SEND_BUFFER_BYTES)
                continue
            clients[key] = client
            found[key] = connection
        self._connections, self._clients, self._others = found, clients, frozenset(others)
        keys = {id(connection): key for key, connection in found.items()}
        for connection, reason in choose_surplus(found.values(), self._limits):
            self._close(keys[id(connection)], connection, reason)
        self._log_closed(now)
        return len(found)

    def _client_of(self, descriptor: int) -> tuple[str, str] | None:
        """Address and port of the peer of a connection of this port, as in the scope of its requests."""
        if self._reader.local_port(descriptor) != self._port:
            return None
        peer = self._reader.peer(descriptor)
        return (peer[0], str(peer[1])) if peer else None

    def _observe(self, key: tuple[int, int], client: tuple[str, str], now: float) -> TrackedConnection | None:
        """Look at a connection if it is time; close it if it has to be. Return None if it is not connected."""
        connection = self._connections.get(key)
        activity = self._activity(client)
        if connection and (connection.is_closing or (activity is Activity.NONE and now < connection.look_at)):
            return connection
        counts = self._reader.transfer(key[0])
        if counts is None:
            return None
        observation = Observation(*counts, activity)
        if connection is None:
            is_exempt = self._is_exempt(client[0])
            return TrackedConnection(network_of(client[0]), observation, now, self._limits, is_exempt=is_exempt)
        reason = connection.update(observation, now, self._limits)
        if reason is not None:
            self._close(key, connection, reason)
        return connection

    def _close(self, key: tuple[int, int], connection: TrackedConnection, reason: CloseReason) -> None:
        connection.is_closing = True
        if self._reader.close(*key):
            self._closed[reason] += 1
            self._count_closed(reason.label)

    def _log_closed(self, now: float) -> None:
        if now - self._logged_at >= LOG_INTERVAL_SECONDS:
            counts = [(reason, self._closed[reason]) for reason in LOGGED_REASONS if self._closed[reason]]
            if counts:
                text = ", ".join(f"{count} ({reason.value})" for reason, count in counts)
                log.warning("Connections closed in the last seconds: %s", text)
            self._closed.clear()
            self._logged_at = now
