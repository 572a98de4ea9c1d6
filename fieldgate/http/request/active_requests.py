"""Requests in progress, by the connection that they came from."""

from fieldgate.runtime.connection_guard import Activity

Client = tuple[str, str]  # address and port of the peer, as in the ASGI scope


class ActiveRequest:
    """One request in progress."""

    __slots__ = ("_all", "is_waiting_for_body")

    def __init__(self, active_requests: "ActiveRequests") -> None:
        self._all = active_requests
        self.is_waiting_for_body = False

    def begin_waiting(self) -> None:
        """From now on the client has to send more of the body."""
        if not self.is_waiting_for_body:
            self.is_waiting_for_body = True
            self._all.waiting += 1

    def end_waiting(self) -> None:
        if self.is_waiting_for_body:
            self.is_waiting_for_body = False
            self._all.waiting -= 1


class ActiveRequests:
    """All requests in progress in this process. Other threads may call `activity`."""

    def __init__(self, max_in_flight: int) -> None:
        """`max_in_flight`: requests that wait for their body do not count, because a slow client costs little."""
        self._max_in_flight = max_in_flight
        self._by_client: dict[Client, ActiveRequest] = {}
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether there are more requests than allowed, with the one that asks."""
        return len(self._by_client) - self.waiting > self._max_in_flight

    def start(self, client: Client) -> ActiveRequest:
        self._by_client[client] = request = ActiveRequest(self)
        return request

    def finish(self, client: Client, request: ActiveRequest) -> None:
        if self._by_client.get(client) is request:  # otherwise the next request of the connection has begun
            del self._by_client[client]

    def find(self, client: Client) -> ActiveRequest | None:
        return self._by_client.get(client)

    def activity(self, client: Client) -> Activity:
        request = self._by_client.get(client)
        if request is None:
            return Activity.NONE
        return Activity.READING_BODY if request.is_waiting_for_body else Activity.HANDLING
