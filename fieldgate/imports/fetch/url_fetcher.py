"""Files from elsewhere: only from hosts the operator lists, a few at a time, and none that takes forever."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fieldgate.errors import ServiceUnavailable
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.i18n.messages import Message
from fieldgate.imports.fetch.public_addresses import Address, Resolve, is_public, refused, resolved

if TYPE_CHECKING:
    from fieldgate.imports.fetch.safe_download import Following

PATIENCE = 20.0  # seconds for everything: names, redirects and the file; less than a stopping server waits
MOST_AT_ONCE = 8  # in one process: each may hold a whole file in memory


class Fetcher:
    """Fetches files from the hosts it is told."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        patience: float = PATIENCE,
        resolve: Resolve = resolved,
        may_connect: Callable[[Address], bool] = is_public,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._following: Following | None = None
        if hosts:
            from fieldgate.imports.fetch import (
                safe_download,  # here: its client takes 6 MB, and most operators list no hosts
            )

            self._following = safe_download.Following(hosts, resolve, may_connect, trust)
        self._patience = patience
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def fetch(self, text: str, limit: int) -> UploadedFile:
        """The file at an address, or what is wrong with the address."""
        if self._following is None:
            raise refused(Message("Files are not fetched from elsewhere here. Send the file itself."))
        url = self._following.checked(text)
        if self._places.locked():
            raise ServiceUnavailable
        try:
            async with self._places, asyncio.timeout(self._patience):
                return await self._following.follow(url, limit)
        except TimeoutError:
            seconds = int(self._patience)
            raise refused(
                Message("The file did not arrive within {seconds} seconds. Send the file itself.", seconds=seconds)
            ) from None
