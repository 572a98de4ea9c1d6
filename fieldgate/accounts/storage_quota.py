"""How much a user stores, and how much of it is allowed."""

from collections.abc import Awaitable, Callable

from fieldgate.errors import PayloadTooLarge
from fieldgate.i18n.messages import Message

MEBIBYTE = 1024 * 1024

ByteCounter = Callable[[int], Awaitable[int]]  # of a user, by id


class StorageQuota:
    """Adds up what the packages that store things count. A limit of 0 is none; then nothing is counted."""

    def __init__(self, limit: int, *counters: ByteCounter) -> None:
        self._limit = limit
        self._counters = counters

    async def used_by(self, user_id: int) -> int:
        return sum([await count(user_id) for count in self._counters])

    async def check(self, user_id: int, added: int = 0) -> None:
        """Raise an error if this user stores too much already, or would with as many bytes more.

        Requests at the same time do not see each other, so the limit can be exceeded by a few files.
        """
        if not self._limit:
            return
        used = await self.used_by(user_id)
        if used + added > self._limit:
            raise PayloadTooLarge(
                Message(
                    "There is no room left: {used} of {most} MiB are used. Delete forms that are no longer needed, or "
                    "ask the operator of this service.",
                    used=round(used / MEBIBYTE, 1),
                    most=round(self._limit / MEBIBYTE, 1),
                )
            )
