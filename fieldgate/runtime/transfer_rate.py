"""A minimum transfer rate that forgives pauses.

credit = TransferCredit(min_rate=1024, max_seconds=30)
credit.spend(seconds=5.0, transferred=1)  # False while the peer is fast enough
"""


class TransferCredit:
    """How many seconds a peer may still be slow. Waiting costs them, each transferred byte earns some back.

    A peer that always reaches the rate never runs out. One that stalls runs out after `max_seconds`.
    """

    __slots__ = ("_max_seconds", "_min_rate", "seconds")

    def __init__(self, min_rate: int, max_seconds: float) -> None:
        """`min_rate` is in bytes per second; 0 turns the limit off."""
        self._min_rate = min_rate
        self._max_seconds = max_seconds
        self.seconds = max_seconds if min_rate else float("inf")

    @property
    def is_limited(self) -> bool:
        return self._min_rate > 0

    def spend(self, seconds: float, transferred: int) -> bool:
        """Count a time of waiting and what was transferred in it; return whether the peer is too slow."""
        if self._min_rate:
            self.seconds = min(self._max_seconds, self.seconds - seconds + transferred / self._min_rate)
        return self.seconds <= 0

    def reset(self) -> None:
        self.seconds = self._max_seconds if self._min_rate else float("inf")
