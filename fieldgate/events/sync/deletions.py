"""Events that were pulled from a remote server and that it no longer lists.

Each of them is requested by id. The server's answer decides:

- 404: the event was deleted, and is deleted here.
- A record with a parent: the event was merged into another one. Its parent is set here, and it leaves the lists.
- Any other record: the event changed while the list was read. It is updated.

Only events of this server are requested. A run without a token cannot tell a deleted event from a hidden one, so it
leaves alone what a token showed.
"""

from typing import NamedTuple

import msgspec

from fieldgate.db import AsyncDatabase
from fieldgate.events.event_writer import BulkWriteResult
from fieldgate.events.store import EventStore
from fieldgate.events.sync import event_sources, page_reader
from fieldgate.events.sync.event_puller import EventPuller
from fieldgate.events.sync.event_sources import MissingCandidates
from fieldgate.events.sync.page_reader import valid_id
from fieldgate.events.sync.remote import RemoteNotFound, RemoteServer, gather_or_cancel
from fieldgate.events.sync.sync_state import SyncState
from fieldgate.i18n.languages import Language

DELETED_PATH = "event/deleted/"
MAX_MISSING_PERCENT = 10  # with more, something is wrong with the server, and nothing is deleted
BATCH_SIZE = 25  # events requested before their deletions and updates are saved


class TooManyMissing(Exception):
    """So many events are missing that none is deleted. The text is shown to the user."""


class MissingResult(NamedTuple):
    requested: int
    written: BulkWriteResult


class MissingEvents:
    def __init__(
        self, remote: RemoteServer, database: AsyncDatabase, store: EventStore, puller: EventPuller
    ) -> None:
        self._remote = remote
        self._database = database
        self._store = store
        self._puller = puller

    async def resolve(
        self, state: SyncState, *, is_complete: bool, max_percent: int
    ) -> MissingResult:
        """Request what is missing, and delete or update it. `is_complete` if the run read the complete list.

        Otherwise only events that the server lists as deleted are requested; IFRC GO has no such list.
        """
        found = await self._find(state, is_complete=is_complete)
        if len(found.missing) * 100 > found.total * max_percent:
            raise TooManyMissing(
                f"{self._remote.source} no longer lists {len(found.missing)} of {found.total} events. "
                f"That is more than {max_percent} %, so none was deleted. Check the server. To delete them, run the "
                "command again with --max-missing 100. To keep them, use --keep-missing."
            )
        result = BulkWriteResult()
        ids = found.missing + found.merged
        for start in range(0, len(ids), BATCH_SIZE):
            await self._resolve_batch(state, ids[start : start + BATCH_SIZE], result)
        return MissingResult(len(ids), result)

    async def _find(self, state: SyncState, *, is_complete: bool) -> MissingCandidates:
        if is_complete:
            async with self._database.read_transaction() as connection:
                return await event_sources.find_unlisted(connection, state)
        deleted = await self._fetch_deleted_ids(state)
        async with self._database.read_transaction() as connection:
            return await event_sources.find_deleted(connection, state, deleted)

    async def _resolve_batch(
        self, state: SyncState, ids: list[int], result: BulkWriteResult
    ) -> None:
        answers = await gather_or_cancel(self._puller.fetch_by_id(id_) for id_ in ids)
        records = {
            id_: record for id_, record in zip(ids, answers, strict=True) if record is not None
        }
        await self._puller.save_details(state, records, result)
        gone = [id_ for id_ in ids if id_ not in records]
        if gone:
            async with self._store.writer() as writer:
                eligible = await event_sources.still_eligible(writer.connection, state, gone)
                result.deleted += await writer.delete(eligible)

    async def _fetch_deleted_ids(self, state: SyncState) -> set[int]:
        """The events the server lists as deleted since the last run. Empty if it has no such list."""
        parameters = (
            {}
            if state.since is None
            else {"since": msgspec.json.decode(msgspec.json.encode(state.since))}
        )
        ids: set[int] = set()
        offset = 0
        try:
            while True:
                page = await self._remote.get_page(
                    DELETED_PATH,
                    Language.ENGLISH,
                    limit=page_reader.PAGE_SIZE,
                    offset=offset,
                    **parameters,
                )
                ids.update(id_ for record in page.results if (id_ := valid_id(record)) is not None)
                offset += len(page.results)
                if not page.results or offset >= page.count:
                    return ids
        except RemoteNotFound:
            return set()
