"""A service with about a hundred events that cover every filter and visibility, on both databases."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from fieldgate.events.model import Appeal, Event, FieldReport, Person, Visibility
from fieldgate.settings import Settings
from tests.conftest import Service, new_database, run_service
from tests.data.events import load_events

PATH = "/api/v2/event/"
START = datetime(2026, 1, 1, tzinfo=UTC)
NEPAL, INDIA, SUDAN = 123, 84, 290


def make_event(id_: int, **fields: Any) -> Event:
    timestamp = START + timedelta(days=id_)
    values: dict[str, Any] = {
        "id": id_,
        "name": {"en": f"Flood {id_}", "fr": f"Inondation {id_}"},
        "countries": (NEPAL,),
        "dtype": 12,
        "visibility": Visibility.PUBLIC,
        "disaster_start_date": timestamp,
        "created_at": timestamp,
        "updated_at": timestamp,
        **fields,
    }
    return Event(**values)


REPORT = FieldReport(
    id=5,
    visibility=Visibility.MOVEMENT,
    created_at=START,
    updated_at=START,
    num_affected=7,
    recent_affected=1,
    countries=(NEPAL,),
)
AMINA = Person(id=1, name="Amina", email="amina@example.org")

EVENTS = [
    *(make_event(id_) for id_ in range(1, 101)),
    make_event(
        101,
        countries=(INDIA, NEPAL),
        name={"en": "=Two countries", "ar": "بلدان"},
        dtype=None,
        is_featured=True,
    ),
    make_event(
        102,
        countries=(SUDAN,),
        slug="south-sudan",
        glide="DR-2026-000102-SSD",
        ifrc_severity_level=2,
    ),
    make_event(103, visibility=Visibility.MOVEMENT),
    make_event(104, visibility=Visibility.SECRETARIAT),
    make_event(105, visibility=Visibility.SOCIETIES, countries=(INDIA,)),
    make_event(106, parent_event=102),
    make_event(
        107,
        appeals=(Appeal(id=3, aid="9", code="MDRNP007", atype=1, status=0, start_date=START),),
        field_reports=(
            REPORT,
            msgspec.structs.replace(REPORT, id=6, visibility=Visibility.PUBLIC, contacts=(AMINA,)),
        ),
        contacts=(AMINA,),
    ),
]
PUBLIC_COUNT = len(EVENTS) - 4


@pytest.fixture(scope="module")
async def event_service(
    database_kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> AsyncIterator[Service]:
    """A service with the events above, on both databases."""
    async with (
        new_database(database_kind, tmp_path_factory.mktemp("events"), request) as address,
        run_service(Settings(database_url=address, access_log=False)) as service,
    ):
        await load_events(service, EVENTS)
        yield service
