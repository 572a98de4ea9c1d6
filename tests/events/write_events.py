"""A process that writes: every round it gives all events the same number, moves them about, and adds or deletes one."""

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.model import Event, Visibility
from fieldgate.events.store import EventStore

START = datetime(2020, 1, 1, tzinfo=UTC)
STABLE_COUNT = 30
TOGGLED_ID = 999  # there in even rounds


def events_of_round(round_number: int) -> list[Event]:
    """The events of a round: all tell its number, in another order each time."""
    chance = random.Random(round_number)
    ids = [*range(1, STABLE_COUNT + 1), *([TOGGLED_ID] if round_number % 2 == 0 else [])]
    moments = [START + timedelta(hours=chance.randrange(10_000)) for _ in ids]
    return [
        Event(
            id=each,
            name={"en": f"Round {round_number % 3}"},
            countries=(84 if round_number % 2 else 123,),
            visibility=Visibility.PUBLIC,
            num_affected=round_number,
            disaster_start_date=moment,
            created_at=START,
            updated_at=START,
        )
        for each, moment in zip(ids, moments, strict=True)
    ]


async def write_rounds(address: str, rounds: int) -> None:
    database = AsyncDatabase(address)
    store = EventStore(database, DataVersions(database))
    for number in range(1, rounds + 1):
        async with store.writer() as writing:
            await writing.upsert(events_of_round(number))
            if number % 2:
                await writing.delete([TOGGLED_ID])
    await database.close()


if __name__ == "__main__":
    asyncio.run(write_rounds(sys.argv[1], int(sys.argv[2])))
