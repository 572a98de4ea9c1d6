"""Writes events all the time, as other people do while a list is read."""

import asyncio
import random
from types import TracebackType

import msgspec

from fieldgate.db import Database, DataVersions
from fieldgate.events.model import Event
from fieldgate.events.store import EventStore
from tests.events.event_service import make_event

CYCLONE, FLOOD = 4, 12
WRITES_PER_SECOND = 50


class BusyWriter:
    """Creates, updates and deletes events until the end of the block.

    Events are in four groups of ids: those that stay as they are, those that move to other places of every order, those
    that change their type, and those that are deleted and created.
    """

    def __init__(self, database: Database, number: int, seed: int) -> None:
        self.staying = range(1, number // 2 + 1)
        self.moving = range(number // 2 + 1, number * 3 // 4 + 1)
        self.turning = range(number * 3 // 4 + 1, number + 1)
        self.passing = range(number + 1, number + number // 4 + 1)
        self.writes = 0
        self._store = EventStore(database, DataVersions(database))
        self._random = random.Random(seed)
        self._task: asyncio.Task[None]

    @property
    def always(self) -> set[int]:
        """In the list of all events all the time."""
        return {*self.staying, *self.moving, *self.turning}

    @property
    def always_floods(self) -> set[int]:
        return {*self.staying, *self.moving}

    async def prepare(self) -> None:
        await self._store.upsert([self._event(id_) for id_ in [*self.always, *self.passing[::2]]])

    async def __aenter__(self) -> "BusyWriter":
        self._task = asyncio.create_task(self._write_all_the_time())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()

    def _event(self, id_: int, dtype: int = FLOOD) -> Event:
        place = id_ if id_ in self.staying else self._random.randrange(5000)
        event = make_event(place + 1, dtype=dtype, num_affected=place % 97, name={"en": f"Event {place % 89}"})
        return msgspec.structs.replace(event, id=id_)

    async def _write_all_the_time(self) -> None:
        loop = asyncio.get_running_loop()
        following = loop.time()
        while True:
            following = max(following + 1 / WRITES_PER_SECOND, loop.time() - 1)
            await asyncio.sleep(following - loop.time())
            await self._write()
            self.writes += 1

    async def _write(self) -> None:
        chance = self._random
        match chance.choice(("move", "turn", "create", "delete")):
            case "move":
                await self._store.upsert([self._event(chance.choice(self.moving))])
            case "turn":
                await self._store.upsert([self._event(chance.choice(self.turning), chance.choice((CYCLONE, FLOOD)))])
            case "create":
                await self._store.upsert([self._event(chance.choice(self.passing))])
            case "delete":
                await self._store.delete([chance.choice(self.passing)])
