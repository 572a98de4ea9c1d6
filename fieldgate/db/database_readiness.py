"""Whether the database can be used. Outages are logged once, not for each request that fails."""

import asyncio
import logging
import secrets
from contextlib import suppress
from time import monotonic

from sqlalchemy.engine import Connection

from fieldgate.db.async_database import AsyncDatabase
from fieldgate.db.outages import Outage, outage_of
from fieldgate.db.schema import UnsupportedSchema, read_state
from fieldgate.db.tables import leases, now
from fieldgate.db.upsert import upsert
from fieldgate.errors import ServiceUnavailable

PROBE_SECONDS = 1.0  # between two attempts to use the database, while it cannot be used
PROBE_NAME = "write probe"  # a row of `leases` that nobody holds

log = logging.getLogger(__name__)


class DatabaseReadiness:
    """Ready when the database can be read and written, and has the schema of this release.

    It remembers an outage until a probe finds that it is over. There is one for each process.
    """

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._since = 0.0
        self._probing: asyncio.Task[None] | None = None
        self._current: Outage | None = None

    def problem_of(self, error: BaseException) -> ServiceUnavailable | None:
        """The response for an error of the database, None for other errors."""
        outage = outage_of(error)
        if outage is None:
            return None
        self._report(outage, error)
        return outage.problem()

    async def unready_reason(self) -> Outage | None:
        """Why the database cannot be used now, None if it can. Whether it can be written to is known after a probe."""
        outage = await self._find_outage(writes=False)
        if outage is None and self._current is Outage.READ_ONLY:
            return self._current
        return outage

    async def probe(self) -> None:
        """Use the database, and note if it can be used again."""
        await self._find_outage(writes=self._current is Outage.READ_ONLY)

    async def stop(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            with suppress(asyncio.CancelledError):
                await self._probing

    def _report(self, outage: Outage, error: BaseException) -> None:
        """Note that the database cannot be used, and look until it can."""
        if outage is self._current or outage is Outage.BUSY:  # busy: one request waited too long
            return
        if self._current is None:
            self._since = monotonic()
        self._current = outage
        log.error(
            "database outage: %s (%s)",
            outage.log_text,
            _summary(error),
            extra={"reason": outage.code},
        )
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe_until_over())

    async def _probe_until_over(self) -> None:
        while self._current is not None:
            await asyncio.sleep(PROBE_SECONDS)
            await self.probe()

    async def _find_outage(self, *, writes: bool) -> Outage | None:
        try:
            await self._database.check_files()
            state = await read_state(self._database)
            if not state.is_usable:
                raise UnsupportedSchema(state)
            if writes:
                await self._database.write(self._write_row)
        except Exception as error:
            outage = outage_of(error)
            if outage is None:
                raise
            self._report(outage, error)
            return outage
        if self._current is not None and (writes or self._current is not Outage.READ_ONLY):
            self._current = None
            log.warning("database outage is over after %.1f seconds", monotonic() - self._since)
        return None

    def _write_row(self, connection: Connection) -> None:
        row = {"name": PROBE_NAME, "holder": secrets.token_hex(16), "expires": now()}
        connection.execute(upsert(connection.dialect, leases), row)


def _summary(error: BaseException) -> str:
    """One line of the driver's own error."""
    original = getattr(error, "orig", None) or error
    return f"{type(original).__name__}: {original}".splitlines()[0][:300]
