"""Demo events: reproducible, valid, and with realistic frequencies."""

import re
from collections import Counter

import msgspec
import pytest

from fieldgate.db import Database
from fieldgate.db.data_versions import DataVersions
from fieldgate.db.schema import upgrade
from fieldgate.events.demo.generator import END, START, demo_events
from fieldgate.events.demo.profiles import DISASTER_PROFILES
from fieldgate.events.demo.texts import LANGUAGE_CODES
from fieldgate.events.document_templates import TemplateRenderer, build_detail_template, build_list_template
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.schemas import EventDetail, EventRecord
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore

COUNT = 4000


@pytest.fixture(scope="module")
async def reference_data(tmp_path_factory: pytest.TempPathFactory) -> ReferenceData:
    """Countries and disaster types of a new database."""
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('demo') / 'fieldgate.db'}")
    await upgrade(database)
    try:
        return await ReferenceStore(database, DataVersions(database)).current()
    finally:
        await database.close()


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
            kind, year = DISASTER_PROFILES[event.dtype or 0].glide_code, event.disaster_start_date.year
            assert re.fullmatch(rf"{kind}-{year}-\d{{6}}-{countries[0].iso3}", event.glide)
        for report in event.field_reports:
            assert report.created_at >= event.created_at
            assert all(person.email.isascii() and person.email.endswith("@example.org") for person in report.contacts)
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


def test_ids_and_codes_are_unique(demo: list[Event]) -> None:
    for values in (
        [appeal.id for event in demo for appeal in event.appeals],
        [appeal.code for event in demo for appeal in event.appeals],
        [report.id for event in demo for report in event.field_reports],
        [event.slug for event in demo if event.slug],
        [event.glide for event in demo if event.glide],
    ):
        assert len(values) == len(set(values)) > 0


def test_frequencies_are_realistic(demo: list[Event]) -> None:
    def share(events: list[bool]) -> float:
        return sum(events) / COUNT

    assert 0.97 < share([event.visibility == 3 for event in demo]) < 0.99
    assert {event.visibility for event in demo} == {1, 2, 3, 4}
    assert 0.36 < share([bool(event.appeals) for event in demo]) < 0.44
    assert 0.36 < share([bool(event.field_reports) for event in demo]) < 0.44
    assert 0.9 < share([len(event.countries) == 1 for event in demo]) < 0.94
    types = Counter(event.dtype for event in demo)
    assert types.most_common(1)[0][0] == 12, "floods"
    assert types[67] < COUNT / 100, "radiological emergencies"
    assert {event.original_language for event in demo} == set(LANGUAGE_CODES)
    for is_rare in (
        [event.is_featured for event in demo],
        [event.parent_event is not None for event in demo],
        [event.slug is not None for event in demo],
        [bool(event.key_figures) for event in demo],
        [bool(event.districts) for event in demo],
        [bool(event.links) for event in demo],
    ):
        assert 0 < share(is_rare) < 0.06
    assert 1500 < sum(len(build_list_template(event)) for event in demo) / COUNT < 2100


def test_names_in_all_languages(demo: list[Event], reference_data: ReferenceData) -> None:
    event = next(event for event in demo if event.countries == (123,) and event.dtype == 12)
    month = f"{event.disaster_start_date:%B %Y}"
    assert event.name["en"] == f"Nepal: Flood, {month}"
    assert re.fullmatch(r"Népal : Inondation, \w+ \d{4}", event.name["fr"])
    assert re.fullmatch(r"Nepal: Inundación, \w+ de \d{4}", event.name["es"])
    assert re.fullmatch(r"نيبال: فيضان، \w+ \d{4}", event.name["ar"])
    for event in demo:
        if len(event.countries) > 2:
            first, second = (reference_data.country_name(Language.ENGLISH, id_) for id_ in event.countries[:2])
            assert event.name["en"].startswith(f"{first}, {second} and others: ")


@pytest.mark.parametrize("language", Language)
def test_records_match_the_schemas(demo: list[Event], reference_data: ReferenceData, language: Language) -> None:
    renderer = TemplateRenderer(reference_data, language)
    for event in demo[:500]:
        for scope in (PUBLIC_SCOPE, FULL_SCOPE):
            listed = msgspec.json.decode(renderer.render(build_list_template(event), scope), type=EventRecord)
            detail = msgspec.json.decode(renderer.render(build_detail_template(event), scope), type=EventDetail)
            assert listed.name == detail.name == event.name[language.value]
