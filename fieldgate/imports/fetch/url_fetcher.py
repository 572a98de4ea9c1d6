"""Files from elsewhere: only from hosts the operator lists, a few at a time, and none that takes forever."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fieldgate.errors import ServiceUnavailable
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.fetch.public_addresses import IPAddress, Resolver, is_public, resolve_host, url_error

if TYPE_CHECKING:
    from fieldgate.imports.fetch.safe_download import SafeDownloader

FETCH_TIMEOUT_SECONDS = 20.0  # seconds for everything: names, redirects and the file; less than a stopping server waits
MAX_CONCURRENT_FETCHES = 8  # in one process: each may hold a whole file in memory


class URLFetcher:
    """Fetches files from the hosts it is told."""

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
            from fieldgate.imports.fetch import (
                safe_download,  # here: its client takes 6 MB, and most operators list no hosts
            )

            self._downloader = safe_download.SafeDownloader(hosts, resolve, may_connect, ssl_context)
        self._timeout = timeout
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_FETCHES)

    async def fetch(self, text: str, max_bytes: int) -> UploadedFile:
        """The file at an address, or what is wrong with the address."""
        if self._downloader is None:
            raise url_error(Message("Files are not fetched from elsewhere here. Send the file itself."))
        url = self._downloader.validate_url(text)
        if self._slots.locked():
            raise ServiceUnavailable
        try:
            async with self._slots, asyncio.timeout(self._timeout):
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
