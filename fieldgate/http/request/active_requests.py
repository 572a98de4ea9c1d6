"""Requests in progress, by the connection that they came from."""

from typing import Any

Client = tuple[str, str]  # address and port of the peer, as in the ASGI scope


class ActiveRequests:
    """All requests in progress in this process."""

    def __init__(self, max_in_flight: int) -> None:
        self._max_in_flight = max_in_flight
        # The scope of each request. `Application` adds and removes it here, because a call would cost more.
        self.by_client: dict[Client, Any] = {}
        self.waiting_for_client: set[Client] = set()

    @property
    def is_full(self) -> bool:
        """Whether there are more requests than allowed, with the one that asks.

        Requests that wait for their client do not count, because a slow client costs little.
        """
        return len(self.by_client) - len(self.waiting_for_client) > self._max_in_flight
