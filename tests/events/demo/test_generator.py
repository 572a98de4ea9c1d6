"""Demo events: reproducible, valid, and with realistic frequencies."""

import re

import pytest

from fieldgate.events.demo.generator import END, START, demo_events
from fieldgate.events.demo.profiles import DEMO, LANGUAGE_CODES
from fieldgate.events.model import Event, pack, unpack
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.settings import Settings
from tests.conftest import run_service
from tests.data.reference import reference_data as stored_reference_data

COUNT = 1000


@pytest.fixture(scope="module")
async def reference_data(tmp_path_factory: pytest.TempPathFactory) -> ReferenceData:
    """Countries and disaster types of a new database."""
    settings = Settings(data=tmp_path_factory.mktemp("demo"), access_log=False)
    async with run_service(settings) as service:
        return stored_reference_data(service)


@pytest.fixture(scope="module")
def demo(reference_data: ReferenceData) -> list[Event]:
    return list(demo_events(COUNT, reference_data))


def test_same_seed_gives_same_events(demo: list[Event], reference_data: ReferenceData) -> None:
    assert list(demo_events(COUNT, reference_data)) == demo
    other = list(demo_events(COUNT, reference_data, seed=1))
    assert [event.id for event in other] == [event.id for event in demo]
    assert [event.name for event in other] != [event.name for event in demo]


def test_every_event_is_valid(demo: list[Event], reference_data: ReferenceData) -> None:
    assert tuple(language.value for language in Language) == LANGUAGE_CODES
    for event in demo:
        assert unpack(pack(event)) == event
        assert set(event.name) == set(LANGUAGE_CODES)
        assert event.summary[event.original_language].startswith("<p>")
        assert re.search(r"&(?!amp;)", event.summary[event.original_language]) is None
        assert event.dtype in reference_data.types
        countries = [reference_data.countries[id_] for id_ in event.countries]
        assert 1 <= len(set(event.countries)) == len(event.countries) <= 4
        assert len({country.region for country in countries}) == 1, "neighbours"
        if event.glide:
            kind, year = DEMO.disasters[event.dtype or 0].glide_code, event.disaster_start_date.year
            assert re.fullmatch(rf"{kind}-{year}-\d{{6}}-{countries[0].iso3}", event.glide)
        for report in event.field_reports:
            assert report.created_at >= event.created_at
            assert all(
                person.email.isascii() and person.email.endswith("@example.org")
                for person in report.contacts
            )
        for appeal in event.appeals:
            assert re.fullmatch(rf"MDR{countries[0].iso}\d{{3,}}", appeal.code or "")
        assert event.slug is None or re.fullmatch(r"[a-z][a-z0-9-]{0,49}", event.slug)
        assert event.parent_event is None or event.parent_event < event.id


def test_events_are_in_order_of_distinct_start_dates(demo: list[Event]) -> None:
    assert [event.id for event in demo] == list(range(1, COUNT + 1))
    starts = [event.disaster_start_date for event in demo]
    assert starts == sorted(set(starts))
    assert START <= starts[0] < starts[-1] < END
    for event in demo:
        assert event.disaster_start_date <= event.created_at <= event.updated_at <= END
