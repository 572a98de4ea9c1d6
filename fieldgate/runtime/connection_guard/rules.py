"""Which connections have to be closed: pure rules without a clock or a socket."""

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

import msgspec

from fieldgate.runtime.transfer_rate import TransferCredit

MAX_LOOK_INTERVAL_SECONDS = 5.0


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one process. Times are in seconds, the rate in bytes per second (0: none)."""

    max_connections: int
    max_per_address: int
    header_timeout: float
    idle_timeout: float
    min_rate: int
    rate_window: float

    @property
    def look_interval(self) -> float:
        """How often a connection without a request is looked at: asking the kernel is the larger part of a scan."""
        return min(MAX_LOOK_INTERVAL_SECONDS, self.header_timeout / 2)


class Activity(Enum):
    """What the application does for a connection."""

    NONE = "none"  # no request, or one whose headers are not complete
    WAITING = "waiting for the client"  # to send a body, or to read a response
    HANDLING = "handling"


class Stage(Enum):
    """Where a connection is."""

    IDLE = "idle"  # between two requests; closed first if there are too many
    SILENT = "silent"  # nothing was received yet
    HEADERS = "headers"  # a request has begun
    WAITING = "waiting"  # a body is sent, or a response is read
    HANDLING = "handling"  # never closed for being one too many


class CloseReason(Enum):
    SILENT = "nothing received"
    HEADERS = "headers not complete"
    IDLE = "idle"
    SLOW_READER = "response read too slowly"
    ADDRESS_SHARE = "too many from one address"
    TOTAL = "too many in all"

    @property
    def label(self) -> str:
        """The reason in metrics."""
        return self.name.lower()


class Observation(NamedTuple):
    """What is known about a connection at one moment. Bytes count from its start."""

    received: int
    sent: int
    acknowledged: int
    has_pending: bool  # the peer has not taken all of a response yet
    activity: Activity


class TrackedConnection:
    """A connection over time. `update` is called with each observation."""

    __slots__ = ("_credit", "_last", "_seen_at", "is_closing", "is_exempt", "look_at", "network", "since", "stage")

    def __init__(
        self, network: str, first: Observation, now: float, limits: ConnectionLimits, *, is_exempt: bool = False
    ) -> None:
        """`network` is what counts as one address. An exempt one has no share: a trusted proxy."""
        self.network = network
        self.is_exempt = is_exempt
        self.is_closing = False
        self.since = self._seen_at = now  # `since`: when the stage began; of an idle one, its last activity
        self._last = first
        self._credit = TransferCredit(limits.min_rate, limits.rate_window)
        self.stage = _active_stage(first.activity)
        if self.stage is None:
            self.stage = Stage.IDLE if first.sent else Stage.HEADERS if first.received else Stage.SILENT
        self.look_at = self._next_look(limits)

    def update(self, seen: Observation, now: float, limits: ConnectionLimits) -> CloseReason | None:
        """Take an observation into account; return why the connection has to be closed, if it has to.

        Until `look_at` an observation is only needed if the application is active for the connection.
        """
        reason = self._decide(seen, now, limits)
        self.look_at = self._next_look(limits)
        return reason

    def _decide(self, seen: Observation, now: float, limits: ConnectionLimits) -> CloseReason | None:
        last, elapsed = self._last, now - self._seen_at
        self._last, self._seen_at = seen, now
        if seen.has_pending:
            if self._credit.spend(elapsed, seen.acknowledged - last.acknowledged):
                return CloseReason.SLOW_READER
        else:
            self._credit.reset()
        stage = _active_stage(seen.activity) or (Stage.WAITING if seen.has_pending else None)
        if stage is not None:
            # A response that is being read counts as new: others of its address are closed first.
            is_read = seen.has_pending and seen.acknowledged > last.acknowledged
            self.since = self.since if self.stage is stage and not is_read else now
            self.stage = stage
            return None
        if seen.sent > last.sent or self.stage in (Stage.WAITING, Stage.HANDLING):
            self.stage, self.since = Stage.IDLE, now  # a response was sent since the last observation
        elif seen.received > last.received and self.stage in (Stage.IDLE, Stage.SILENT):
            # Further bytes of the same headers do not extend the time.
            self.since = now if self.stage is Stage.IDLE else self.since
            self.stage = Stage.HEADERS
        return self._expired(now, limits)

    def _next_look(self, limits: ConnectionLimits) -> float:
        is_waiting = self.stage in (Stage.IDLE, Stage.SILENT) and not self._last.has_pending
        return self._seen_at + limits.look_interval if is_waiting else self._seen_at

    def _expired(self, now: float, limits: ConnectionLimits) -> CloseReason | None:
        age = now - self.since
        if self.stage is Stage.IDLE:
            return CloseReason.IDLE if age > limits.idle_timeout else None
        if age <= limits.header_timeout:
            return None
        return CloseReason.SILENT if self.stage is Stage.SILENT else CloseReason.HEADERS


def _active_stage(activity: Activity) -> Stage | None:
    if activity is Activity.NONE:
        return None
    return Stage.WAITING if activity is Activity.WAITING else Stage.HANDLING


def choose_surplus(
    connections: Iterable[TrackedConnection], limits: ConnectionLimits
) -> list[tuple[TrackedConnection, CloseReason]]:
    """The connections to close because there are too many from one address, or in all.

    Idle ones go first, the longest idle at the front; then those whose request is not complete. So a new connection has
    time to send its request, whatever else comes from the same address.
    """
    by_network: dict[tuple[bool, str], list[TrackedConnection]] = defaultdict(list)
    total = 0
    for connection in connections:
        if not connection.is_closing:
            by_network[connection.is_exempt, connection.network].append(connection)
            total += 1
    chosen: list[tuple[TrackedConnection, CloseReason]] = []
    for (is_exempt, _), group in by_network.items():
        surplus = len(group) - limits.max_per_address
        if surplus > 0 and not is_exempt:
            order = _closing_order(group)
            chosen += [(connection, CloseReason.ADDRESS_SHARE) for connection in order[:surplus]]
            del order[:surplus]
            group[:] = order + [each for each in group if each.stage is Stage.HANDLING]
    total -= len(chosen)
    if total > limits.max_connections:
        surplus = total - limits.max_connections
        chosen += [(each, CloseReason.TOTAL) for each in _choose_from_largest(by_network, surplus)]
    return chosen


def _closing_order(group: Iterable[TrackedConnection]) -> list[TrackedConnection]:
    closable = [connection for connection in group if connection.stage is not Stage.HANDLING]
    closable.sort(key=lambda connection: (connection.stage is not Stage.IDLE, connection.since))
    return closable


def _choose_from_largest(
    by_network: dict[tuple[bool, str], list[TrackedConnection]], surplus: int
) -> list[TrackedConnection]:
    """Choose one after the other from the address that has the most left; from trusted proxies last."""
    heap = []
    for number, ((is_exempt, _), group) in enumerate(by_network.items()):
        order = _closing_order(group)
        if order:
            order.reverse()  # so that the first one to close can be popped
            heap.append((is_exempt, -len(group), number, order))
    heapify(heap)
    chosen: list[TrackedConnection] = []
    while heap and len(chosen) < surplus:
        is_exempt, size, number, order = heap[0]
        if not order:
            heappop(heap)  # all that are left are being handled
            continue
        chosen.append(order.pop())
        heapreplace(heap, (is_exempt, size + 1, number, order))
    return chosen
