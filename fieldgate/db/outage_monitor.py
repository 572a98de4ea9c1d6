"""The state of the database: usable, or why it is not. Changes are logged once, not for each request that fails."""

import asyncio
import errno
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from sqlalchemy.engine import Connection

from fieldgate.db.database import Database
from fieldgate.db.outages import DatabaseGone, Outage, outage_of
from fieldgate.db.tables import leases, now
from fieldgate.db.upsert import upsert
from fieldgate.errors import ServiceUnavailable

PROBE_SECONDS = 1.0  # between two attempts to use the database, while it cannot be used
MIN_FREE_BYTES = 1024 * 1024  # a disk with less is still full
PROBE_NAME = "write probe"  # a row of `leases` that nobody holds

log = logging.getLogger(__name__)

ReadProbe = Callable[[], Awaitable[Outage | None]]


class OutageMonitor:
    """Remembers an outage until a probe finds that it is over. There is one for each process."""

    def __init__(self, database: Database, read_probe: ReadProbe, *, probe_seconds: float = PROBE_SECONDS) -> None:
        """`read_probe` tells whether the database can be read; it may raise what the database raises."""
        self._database = database
        self._read_probe = read_probe
        self._probe_seconds = probe_seconds
        self._since = 0.0
        self._probing: asyncio.Task[None] | None = None
        self.current: Outage | None = None

    def problem_of(self, error: BaseException) -> ServiceUnavailable | None:
        """The response for an error of the database, None for other errors."""
        outage = outage_of(error)
        if outage is None:
            return None
        if outage is not Outage.BUSY:  # one request waited too long
            self.report(outage, error)
        return outage.problem()

    def report(self, outage: Outage, error: BaseException | None = None) -> None:
        """Note that the database cannot be used, and look until it can."""
        if outage is self.current:
            return
        if self.current is None:
            self._since = monotonic()
        self.current = outage
        details = "" if error is None or isinstance(error, DatabaseGone) else f" ({_summary(error)})"
        log.error("database outage: %s%s", outage.log_text, details, extra={"reason": outage.code})
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe_until_over())

    async def check(self) -> Outage | None:
        """Why the database cannot be used now, None if it can. An outage of writes is over after the next probe."""
        outage = await self._probe_reading()
        if outage is None and self.current is not None and self.current.affects_writes_only:
            return self.current
        if outage is None:
            self._note_end()
        return outage

    async def stop(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            with suppress(asyncio.CancelledError):
                await self._probing

    async def _probe_until_over(self) -> None:
        while self.current is not None:
            await asyncio.sleep(self._probe_seconds)
            if await self._probe_reading() is None and await self._probe_writing() is None:
                self._note_end()

    async def _probe_reading(self) -> Outage | None:
        try:
            await self._database.check_files()
            outage, error = await self._read_probe(), None
        except Exception as raised:
            outage, error = outage_of(raised), raised
            if outage is None:
                raise
        if outage is not None and outage is not Outage.BUSY:
            self.report(outage, error)
        return outage

    async def _probe_writing(self) -> Outage | None:
        """Write a row, if it was a write that failed."""
        if self.current is None or not self.current.affects_writes_only:
            return None
        statement = upsert(self._database.dialect, leases)
        row = {"name": PROBE_NAME, "holder": secrets.token_hex(16), "expires": now()}

        def write(connection: Connection) -> None:
            connection.execute(statement, row)

        try:
            if self.current is Outage.DISK_FULL and self._database.is_sqlite:
                await asyncio.to_thread(_check_free_space, Path(str(self._database.url.database)))
            await self._database.write(write)
        except Exception as error:
            outage = outage_of(error)
            if outage is None:
                raise
            if outage is not Outage.BUSY:
                self.report(outage, error)
            return outage
        return None

    def _note_end(self) -> None:
        if self.current is not None:
            self.current = None
            log.warning("database outage is over after %.1f seconds", monotonic() - self._since)


def _check_free_space(file: Path) -> None:
    disk = os.statvfs(file.parent)
    if disk.f_bavail * disk.f_frsize < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, "No space left on device")


def _summary(error: BaseException) -> str:
    """One line of the driver's own error."""
    original = getattr(error, "orig", None) or error
    return f"{type(original).__name__}: {original}".splitlines()[0][:300]
