"""A process that writes: every round it gives all events the same number, moves them about, and adds or merges one."""

import asyncio
import random
import sys
from datetime import UTC, datetime, timedelta

from fieldgate.events.model import Event, Visibility
from tests.data.events import load_events

START = datetime(2020, 1, 1, tzinfo=UTC)
STABLE_COUNT = 30
TOGGLED_ID = 999  # in lists in even rounds


def events_of_round(round_number: int) -> list[Event]:
    """The events of a round: all have its number, in another order each time."""
    chance = random.Random(round_number)
    ids = [*range(1, STABLE_COUNT + 1), TOGGLED_ID]
    return [
        Event(
            id=id_,
            name={"en": f"Round {round_number % 3}"},
            countries=(84 if round_number % 2 else 123,),
            visibility=Visibility.PUBLIC,
            num_affected=round_number,
            parent_event=1 if id_ == TOGGLED_ID and round_number % 2 else None,
            disaster_start_date=START + timedelta(hours=chance.randrange(10_000)),
            created_at=START,
            updated_at=START,
        )
        for id_ in ids
    ]


async def write_rounds(database_url: str, rounds: int) -> None:
    for number in range(1, rounds + 1):
        await load_events(database_url, events_of_round(number))


if __name__ == "__main__":
    asyncio.run(write_rounds(sys.argv[1], int(sys.argv[2])))
