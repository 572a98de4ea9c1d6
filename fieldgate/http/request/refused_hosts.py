"""Log refused hosts, so that an operator sees which setting is missing.

Anybody can send any host, so each one is logged once in ten minutes at most, and only a few different ones.
"""

import logging
from collections.abc import Callable
from time import monotonic

from fieldgate.settings import PREFIX

MAX_LOGGED_HOSTS = 20  # per process and window
WINDOW_SECONDS = 10 * 60
MAX_LOGGED_CHARS = 253  # of a DNS name

ALLOWED_HOSTS_VARIABLE = f"{PREFIX}ALLOWED_HOSTS"

log = logging.getLogger("fieldgate.hosts")


class RefusedHostLog:
    """Writes a warning for each refused header of a host or proxy, within limits."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._window_end = 0.0
        self._logged: set[tuple[str, str]] = set()

    def unknown_host(self, header: str, host: str) -> None:
        self._warn(
            header,
            host,
            "Refused a request because %s is %s, which is not an allowed host. "
            f"If this service should answer for it, add it to {ALLOWED_HOSTS_VARIABLE}.",
        )

    def invalid_value(self, header: str, value: str) -> None:
        self._warn(header, value, "Refused a request because %s is %s, which is not valid.")

    def _warn(self, header: str, value: str, text: str) -> None:
        now = self._now()
        if now >= self._window_end:
            self._window_end = now + WINDOW_SECONDS
            self._logged.clear()
        if (header, value) in self._logged or len(self._logged) > MAX_LOGGED_HOSTS:
            return
        self._logged.add((header, value))
        if len(self._logged) > MAX_LOGGED_HOSTS:
            log.warning("More hosts are refused. They are not logged for %d minutes.", (self._window_end - now) // 60)
        else:
            log.warning(text, header, ascii(value[:MAX_LOGGED_CHARS]))  # without control characters
