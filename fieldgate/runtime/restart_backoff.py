"""How long to wait before a process that ended is started again."""

import os

FIRST_DELAY_SECONDS = 1.0
MAX_DELAY_SECONDS = 30.0
STABLE_SECONDS = 60.0  # a process that ran so long is started again at once
STABLE_SECONDS_VARIABLE = "_FIELDGATE_STABLE_SECONDS"  # for trials that kill processes again and again


class RestartBackoff:
    """No delay, then 1, 2, 4 … 30 seconds while the process keeps ending early."""

    def __init__(self) -> None:
        self._next_delay = 0.0
        self._stable_seconds = float(os.environ.get(STABLE_SECONDS_VARIABLE) or STABLE_SECONDS)

    def next_delay(self, lived_seconds: float) -> float:
        """The delay in seconds for a process that ended after a time."""
        delay = 0.0 if lived_seconds >= self._stable_seconds else self._next_delay
        self._next_delay = min(MAX_DELAY_SECONDS, max(FIRST_DELAY_SECONDS, 2 * delay))
        return delay
