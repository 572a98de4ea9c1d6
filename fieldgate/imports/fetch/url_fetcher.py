"""Fetch files from hosts that the operator lists, with limits on time and concurrency."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.fetch.public_addresses import (
    IPAddress,
    Resolver,
    is_public,
    resolve_host,
    url_error,
)
from fieldgate.overload import Slots

if TYPE_CHECKING:
    from fieldgate.imports.fetch.ssrf_guard import SafeDownloader

FETCH_TIMEOUT_SECONDS = (
    20.0  # for name lookup, redirects and the file; shorter than the server waits when it stops
)
MAX_CONCURRENT_FETCHES = 8  # per process: each may hold a whole file in memory
MAX_FETCHES_PER_USER = 4


class URLFetcher:
    """Fetches files from listed hosts."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        timeout: float = FETCH_TIMEOUT_SECONDS,
        resolve: Resolver = resolve_host,
        may_connect: Callable[[IPAddress], bool] = is_public,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._downloader: SafeDownloader | None = None
        if hosts:
            # Imported here: httpx takes 6 MB, and most operators list no hosts.
            from fieldgate.imports.fetch import ssrf_guard

            self._downloader = ssrf_guard.SafeDownloader(hosts, resolve, may_connect, ssl_context)
        self._timeout = timeout
        self._slots = Slots(MAX_CONCURRENT_FETCHES, MAX_FETCHES_PER_USER, max_waiting_per_caller=0)

    async def fetch(self, text: str, max_bytes: int, user_id: int) -> UploadedFile:
        """Return the file at an address. Raise ValidationError if it cannot be fetched.

        A slow host holds a slot for long, so a user cannot have all of them. Who gets none does not wait.
        """
        if self._downloader is None:
            raise url_error(
                Message("This service does not fetch files from other hosts. Send the file itself.")
            )
        url = self._downloader.validate_url(text)
        try:
            async with self._slots.slot(user_id), asyncio.timeout(self._timeout):
                return await self._downloader.download(url, max_bytes)
        except TimeoutError:
            seconds = int(self._timeout)
            raise url_error(
                PluralMessage(
                    "The file did not arrive within {count} second. Send the file itself.",
                    "The file did not arrive within {count} seconds. Send the file itself.",
                    seconds,
                )
            ) from None
