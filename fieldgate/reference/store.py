"""The reference data of a process, which is loaded again when it has changed."""

from threading import Lock

from fieldgate.db import AsyncDatabase, DataVersions, ReadTransaction
from fieldgate.reference.queries import TOPIC, load_reference
from fieldgate.reference.reference_data import ReferenceData


class ReferenceStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._lock = Lock()
        self._loaded: tuple[int, ReferenceData] | None = None

    def read(self, transaction: ReadTransaction) -> ReferenceData:
        """Return the reference data as the transaction sees it."""
        (version,) = transaction.versions(TOPIC)
        with self._lock:  # several threads do not load the same
            loaded = self._loaded
            if loaded is None or loaded[0] != version:
                loaded = (version, load_reference(transaction))
                self._loaded = loaded
        return loaded[1]

    async def current(self) -> ReferenceData:
        """Return the current reference data."""
        loaded = self._loaded
        if loaded is not None and loaded[0] == await self._data_versions.version(TOPIC):
            return loaded[1]
        return await self._database.in_read(self.read)
