"""Reads that take long to answer: pages and large lists. They use more of a rate limit, and callers take turns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fieldgate.concurrency import FairSlots, NoFreeSlot
from fieldgate.errors import ServiceUnavailable
from fieldgate.http.request.rate_limits import slot_holder
from fieldgate.identity import Caller

MAX_AT_ONCE = 4
MAX_REQUESTS = 200
MAX_REQUESTS_PER_CALLER = 50  # a browser that opens many tabs, or an office without accounts
MAX_WAIT_SECONDS = 10


class CostlyRequests:
    """Lets few costly reads be handled at a time, and one of each caller.

    They all run on the event loop. Without this, a caller who sends a hundred of them at once would delay everybody
    until all are done, and their records would fill the memory.
    """

    def __init__(self) -> None:
        self._slots = FairSlots(
            MAX_AT_ONCE,
            max_requests=MAX_REQUESTS,
            max_per_user=MAX_REQUESTS_PER_CALLER,
            wait_seconds=MAX_WAIT_SECONDS,
        )

    @asynccontextmanager
    async def turn(self, caller: Caller, address: str) -> AsyncIterator[None]:
        """Wait until the caller's request can be handled. Raise `ServiceUnavailable`."""
        try:
            async with self._slots.slot(slot_holder(caller, address)):
                yield
        except NoFreeSlot:
            raise ServiceUnavailable from None
