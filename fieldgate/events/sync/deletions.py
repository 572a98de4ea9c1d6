"""Events that were pulled from a remote server and that it no longer lists.

Each of them is requested by id. The server's answer decides:

- 404: the event was deleted, and is deleted here.
- A record with a parent: the event was merged into another one. Its parent is set here, and it leaves the lists.
- Any other record: the event changed while the list was read. It is updated.

Only events of this server are requested. A run without a token cannot tell a deleted event from a hidden one, so it
leaves alone what a token showed.
"""

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

import msgspec
from fieldgate_client.errors import NotFound
from fieldgate_client.list_query import format_timestamp
from fieldgate_client.pages import Key

from fieldgate.db import Database, ReadTransaction, WriteTransaction
from fieldgate.events.sync.event_puller import BATCH_SIZE, EventPuller
from fieldgate.events.sync.remote import RemoteServer
from fieldgate.events.sync.sync_state import SyncState, deletable_events, is_due
from fieldgate.events.writes import delete_events, lock_events

DELETED_PATH = "event/deleted/"
MAX_MISSING_PERCENT = 10  # with more, something is wrong with the server, and nothing is deleted


class MissingEvents(msgspec.Struct, frozen=True):
    total: int  # events that should be in the list
    missing: list[int]  # those of them that are not
    merged: list[int]  # merged here already, and due to be requested

    def problem(self, source: str, max_percent: int) -> str:
        """Why none of them is deleted. Shown to the user."""
        if len(self.missing) * 100 <= self.total * max_percent:
            return ""
        return (
            f"{source} no longer lists {len(self.missing)} of {self.total} events. "
            f"That is more than {max_percent} %, so none was deleted. Check the server. To delete them, run the "
            "command again with --max-missing 100. To keep them, use --keep-missing."
        )


def find_missing(
    transaction: ReadTransaction,
    state: SyncState,
    listed: Collection[Key] | None = None,
    deleted: Collection[Key] = (),
) -> MissingEvents:
    """The events that are not in the complete list, `listed`, or else those that the server lists as deleted."""
    listable, merged = [], []
    for row in deletable_events(transaction, state):
        if row.parent_event is None:
            listable.append(row.id)
        elif listed is not None and is_due(row.detail_at, transaction.now):
            merged.append(row.id)
    if listed is None:
        missing = [id_ for id_ in listable if id_ in deleted]
    else:
        missing = [id_ for id_ in listable if id_ not in listed]
    return MissingEvents(len(listable), missing, merged)


async def list_deleted(remote: RemoteServer, state: SyncState) -> set[Key]:
    """The events that the server lists as deleted since the run before. Empty if it has no such list."""
    parameters = () if state.since is None else (("since", format_timestamp(state.since)),)
    walk = remote.list_of(DELETED_PATH, parameters=parameters).walk()
    try:
        async for _ in walk.pages():
            pass
    except NotFound:
        return set()
    return walk.keys


async def resolve_missing(
    database: Database, puller: EventPuller, state: SyncState, ids: Sequence[int]
) -> None:
    """Request events by id, and delete or update them."""
    for start in range(0, len(ids), BATCH_SIZE):
        gone = await puller.pull_by_id(ids[start : start + BATCH_SIZE])
        delete = partial(_delete, state=state, gone=set(gone))
        puller.result.deleted += await asyncio.to_thread(database.write, delete)


def _delete(transaction: WriteTransaction, state: SyncState, gone: Collection[int]) -> int:
    lock_events(transaction)
    still_deletable = [row.id for row in deletable_events(transaction, state) if row.id in gone]
    return delete_events(transaction, still_deletable)
