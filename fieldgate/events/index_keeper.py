"""Has the index of events stored when that is due, by a process of its own: it takes seconds, and memory."""

import asyncio
import logging
import os
import subprocess
import sys
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.sql.selectable import Select

from fieldgate.db import Database, Snapshot, Timestamp, now, snapshot
from fieldgate.db.lease import Lease
from fieldgate.db.outages import outage_of
from fieldgate.db.tables import rebuilds, topic_versions
from fieldgate.events.derived import EVENT_FORMAT
from fieldgate.events.event_writer import FORMAT_NAME
from fieldgate.events.search.index_codec import LAYOUT
from fieldgate.events.stored_index import StoredIndex, is_intact
from fieldgate.events.tables import deleted, events, stored_indexes
from fieldgate.events.versioned_reads import REBUILD_TOPIC
from fieldgate.runtime.parent_watch import PARENT_PID_VARIABLE
from fieldgate.runtime.priority import lower_priority

MIN_EVENTS = 50_000  # an index of fewer is built in half a second
MIN_CHANGES = 2_000  # since it was stored; fewer are applied in a tenth of a second
MIN_INTERVAL = timedelta(minutes=15)  # between two times that it is stored because of changes
FIRST_CHECK_SECONDS = 15.0  # after the start of a process
CHECK_SECONDS = 300.0
STORE_COMMAND = (sys.executable, "-m", "fieldgate", "events", "store-index")

log = logging.getLogger(__name__)


class IndexKeeper:
    """Has the index stored by another process when that is due. Every serving process has one."""

    def __init__(self, database: Database, *, min_events: int = MIN_EVENTS, min_changes: int = MIN_CHANGES) -> None:
        self._database = database
        self._min_events = min_events
        self._min_changes = min_changes
        self._is_verified = False
        # Not released: of all processes that see that it is due, one starts a process.
        self._start_lease = Lease(database, "start storing event index", timedelta(seconds=CHECK_SECONDS))
        self._process: subprocess.Popen[bytes] | None = None

    async def watch(self) -> None:
        """Check from time to time. Runs until it is cancelled."""
        await asyncio.sleep(FIRST_CHECK_SECONDS)
        while True:
            try:
                if await self.is_due() and await self._start_lease.acquire():
                    await self.run_storer()
            except Exception as error:  # such as a database that is away: try again
                outage = outage_of(error)
                if outage is None:
                    log.exception("checking the stored event index failed")
                else:
                    log.warning("checking the stored event index failed: %s", outage.log_text)
            await asyncio.sleep(CHECK_SECONDS)

    async def is_due(self) -> bool:
        """Whether there are many events, and the stored index is missing, damaged, or lacks many changes."""
        async with snapshot(self._database) as state:
            if await _count(state, select(events.c.id), self._min_events) < self._min_events:
                return False
            formats = await state.rows(select(rebuilds.c.format).where(rebuilds.c.name == FORMAT_NAME))
            if not formats or formats[0][0] != EVENT_FORMAT:
                return False  # it would be of no use when the rebuild has finished
            columns = [stored_indexes.c[name] for name in StoredIndex._fields]
            rows = await state.rows(select(*columns).order_by(stored_indexes.c.version.desc()).limit(1))
            if not rows:
                return True
            stored = StoredIndex(*rows[0])
            if stored.layout > LAYOUT:
                return False  # a newer release stores it
            if stored.layout < LAYOUT or stored.format != EVENT_FORMAT:
                return True
            if not self._is_verified and not await is_intact(state, stored):
                return True
            self._is_verified = True
            if Timestamp.unpack(stored.stored_at) > now() - MIN_INTERVAL:
                return False
            return await self._lacks_changes(state, stored)

    async def _lacks_changes(self, state: Snapshot, stored: StoredIndex) -> bool:
        topic = topic_versions.c.topic == REBUILD_TOPIC
        rebuilt = await state.rows(select(topic_versions.c.version).where(topic))
        if stored.rebuild_version != (rebuilt[0][0] if rebuilt else 0):
            return True
        changed = await _count(state, select(events.c.id).where(events.c.version > stored.version), self._min_changes)
        gone = await _count(state, select(deleted.c.id).where(deleted.c.version > stored.version), self._min_changes)
        return changed + gone >= self._min_changes

    async def run_storer(self) -> None:
        """Run the command that stores the index, with a low priority."""
        environment = {**os.environ, PARENT_PID_VARIABLE: str(os.getpid())}
        self._process = await asyncio.to_thread(
            subprocess.Popen, STORE_COMMAND, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        lower_priority(self._process.pid)
        if status := await asyncio.to_thread(self._process.wait):
            log.warning("storing the event index failed: exit status %d", status)

    def stop(self) -> None:
        """End the process that stores the index, if there is one."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


async def _count(state: Snapshot, query: "Select[tuple[int]]", limit: int) -> int:
    """How many rows a query has, up to a limit."""
    return int((await state.rows(select(func.count()).select_from(query.limit(limit).subquery())))[0][0])
