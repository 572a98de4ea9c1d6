"""Events in a store, as tests look at them and remove them."""

from collections.abc import Sequence

from fieldgate.events.model import Event
from fieldgate.events.store import EventStore


async def stored_event(store: EventStore, id_: int) -> Event | None:
    found = await store.find(id_)
    return None if found is None else found.event


async def delete_events(store: EventStore, ids: Sequence[int]) -> int:
    async with store.writer() as writer:
        return await writer.delete(ids)
