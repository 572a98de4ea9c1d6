"""A replica of the PostgreSQL database that answers large reads.

A replica lags behind, so every read names the data version it needs, which the primary knows, and looks for it in the
same snapshot on the replica (`StaleReplica`). If it is not there, or the replica fails, the primary answers. After that
the replica is left alone until the task in the background has seen that it works and has caught up: requests never wait
for a replica that is away.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from fieldgate.db.data_versions import IDENTITY_TOPIC, DataVersions
from fieldgate.db.database import Database

POLL_INTERVAL = 0.5  # seconds between two looks at the replica
POLL_TIMEOUT = 2.0
COMMAND_TIMEOUT = 5.0  # seconds per statement, after which the primary answers

_SELECT_VERSIONS = "SELECT topic, version FROM changes"

log = logging.getLogger(__name__)

Reads = TypeVar("Reads")
Result = TypeVar("Result")


class StaleReplica(Exception):
    """The replica does not have a data version yet."""

    def __init__(self, topic: str, version: int) -> None:
        super().__init__(f"the replica has no version {version} of {topic} yet")
        self.topic = topic
        self.version = version


class ReadReplica:
    """The replica and whether it can be used. It is used from the moment that the task has seen it."""

    def __init__(self, replica_url: str, data_versions: DataVersions) -> None:
        self.database = Database(replica_url, command_timeout=COMMAND_TIMEOUT)
        self.is_usable = False
        self._data_versions = data_versions
        self._missing: dict[str, int] = {}  # versions that readers looked for
        self._reason = ""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        await self.database.close()

    def report_stale(self, error: StaleReplica) -> None:
        """Leave the replica alone until it has the version."""
        self.is_usable = False
        self._missing[error.topic] = max(self._missing.get(error.topic, 0), error.version)

    def report_failure(self, error: BaseException) -> None:
        self.is_usable = False
        self._log_change(f"{type(error).__name__}")

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(POLL_TIMEOUT):
                    await self.check()
            except Exception as error:
                self.report_failure(error)
            await asyncio.sleep(POLL_INTERVAL)

    async def check(self) -> None:
        """Look whether the replica belongs to this database and has the versions that readers looked for."""
        identity = await self._data_versions.version(IDENTITY_TOPIC)
        pool = await self.database.postgres_pool()
        found: dict[str, int] = dict(await pool.fetch(_SELECT_VERSIONS))
        if found.get(IDENTITY_TOPIC) != identity:
            self.is_usable = False
            self._log_change("it is a replica of another database")
            return
        self._missing = {topic: needed for topic, needed in self._missing.items() if found.get(topic, 0) < needed}
        self.is_usable = not self._missing
        if self.is_usable:
            self._log_change("")

    def _log_change(self, reason: str) -> None:
        """Log once when the replica begins to be used or not to be used; being late is normal, and not logged."""
        if reason == self._reason:
            return
        self._reason = reason
        if reason:
            log.warning("the read replica cannot be used, the primary answers: %s", reason)
        else:
            log.info("the read replica is used again")


class ReplicaRouter(Generic[Reads]):
    """Sends reads to the replica if it can answer them, and otherwise to the primary."""

    def __init__(self, primary: Reads, replica: ReadReplica | None, replica_reads: Reads | None) -> None:
        self.primary = primary
        self._replica = replica
        self._replica_reads = replica_reads

    async def read(self, read: Callable[[Reads], Awaitable[Result]]) -> Result:
        """Return the result of the replica, or if it is late or fails that of the primary."""
        reads = self.replica_reads
        if reads is not None:
            try:
                return await read(reads)
            except Exception as error:
                self.report(error)
        return await read(self.primary)

    @property
    def replica_reads(self) -> Reads | None:
        """The reads of the replica, None if it cannot be used at the moment."""
        return self._replica_reads if self._replica is not None and self._replica.is_usable else None

    def report(self, error: Exception) -> None:
        """Leave the replica alone after an error."""
        if self._replica is not None:
            if isinstance(error, StaleReplica):
                self._replica.report_stale(error)
            else:
                self._replica.report_failure(error)
