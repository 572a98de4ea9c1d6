"""A process that writes: every round it gives all events the same number, moves them about, and adds or deletes one."""

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta

from fieldgate.db import Database, DataVersions
from fieldgate.events.model import Event
from fieldgate.events.store import EventStore

START = datetime(2020, 1, 1, tzinfo=UTC)
ALWAYS = 30
SOMETIMES = 999  # there in even rounds


def state(number: int) -> list[Event]:
    """The events of a round: all tell its number, in another order each time."""
    chance = random.Random(number)
    ids = [*range(1, ALWAYS + 1), *([SOMETIMES] if number % 2 == 0 else [])]
    moments = [START + timedelta(hours=chance.randrange(10_000)) for _ in ids]
    return [
        Event(
            id=each,
            name={"en": f"Round {number % 3}"},
            countries=(84 if number % 2 else 123,),
            visibility=3,
            num_affected=number,
            disaster_start_date=moment,
            created_at=START,
            updated_at=START,
        )
        for each, moment in zip(ids, moments, strict=True)
    ]


async def write(address: str, rounds: int) -> None:
    database = Database(address)
    store = EventStore(database, DataVersions(database))
    for number in range(1, rounds + 1):
        async with store.writer() as writing:
            await writing.upsert(state(number))
            if number % 2:
                await writing.delete([SOMETIMES])
    await database.close()


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], int(sys.argv[2])))
