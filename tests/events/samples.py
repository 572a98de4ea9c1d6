"""Hypothesis strategies for valid events, with few distinct values so that filters match."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st

from fieldgate.events.model import SOURCES, Appeal, Event, FieldReport, Person, Visibility
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData

Value = TypeVar("Value", Appeal, FieldReport)
COUNTRIES = (14, 27, 84, 85, 123, 180, 290)
TYPES = (1, 2, 4, 12, 20)
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)

timestamps = st.integers(0, 12).map(lambda days: FIRST_DAY + timedelta(days=days))
words = st.sampled_from(("Flood", "Crue", "Inundación", "فيضان", "École", "north", ""))


def localized_texts(required: bool = False) -> st.SearchStrategy[dict[str, str]]:
    least = {"en": words.filter(bool)} if required else {}
    others = {code: words for code in ("en", "fr", "ar", "es") if code not in least}
    return st.fixed_dictionaries(least, optional=others)


amounts = st.sampled_from((0.0, 0.1, 30_000.0, 1_234_567.89, 0.005, -20.5))
appeals = st.builds(
    Appeal,
    id=st.integers(1, 99),
    aid=st.just("x"),
    code=st.sampled_from((None, "MDRNP001", "MDRBD002")),
    atype=st.sampled_from((0, 1, 2, 3)),
    status=st.sampled_from((0, 1, 2, 3)),
    amount_requested=amounts,
    amount_funded=amounts,
    start_date=st.none() | timestamps,
    end_date=st.none() | timestamps,
)
persons = st.builds(
    Person, id=st.integers(1, 9), name=st.just("Amina"), email=st.just("amina@example.org")
)
reports = st.builds(
    FieldReport,
    id=st.integers(1, 99),
    summary=localized_texts(),
    description=localized_texts(),
    visibility=st.sampled_from(Visibility),
    created_at=timestamps,
    updated_at=timestamps,
    countries=st.lists(st.sampled_from(COUNTRIES), max_size=2, unique=True).map(tuple),
    contacts=st.lists(persons, max_size=1).map(tuple),
    num_affected=st.none() | st.integers(0, 9),
    num_dead=st.none() | st.integers(0, 2),
    gov_num_dead=st.none() | st.integers(3, 5),
    other_num_displaced=st.none() | st.integers(0, 9),
    epi_figures_source=st.sampled_from((None, 0, 2)),
    recent_affected=st.integers(0, 6),
)


def _with_own_ids(values: st.SearchStrategy[Value]) -> st.SearchStrategy[tuple[Value, ...]]:
    return st.lists(values, max_size=2, unique_by=lambda value: value.id).map(tuple)


def events(ids: st.SearchStrategy[int]) -> st.SearchStrategy[Event]:
    return st.builds(
        Event,
        id=ids,
        name=localized_texts(required=True),
        summary=localized_texts(),
        original_language=st.sampled_from(("en", "fr", "ar", "es")),
        dtype=st.none() | st.sampled_from(TYPES),
        countries=st.lists(st.sampled_from(COUNTRIES), max_size=3, unique=True).map(tuple),
        num_affected=st.none() | st.integers(0, 3),
        ifrc_severity_level=st.sampled_from((0, 1, 2)),
        glide=st.sampled_from(("", "FL-2020-000001-NPL")),
        disaster_start_date=timestamps,
        created_at=timestamps,
        updated_at=timestamps,
        auto_generated_source=st.none() | st.sampled_from(SOURCES),
        is_featured=st.booleans(),
        demo=st.booleans(),
        is_featured_region=st.booleans(),
        visibility=st.sampled_from((Visibility.PUBLIC, *Visibility)),
        parent_event=st.sampled_from((None, None, None, None, 1)),
        appeals=_with_own_ids(appeals),
        field_reports=_with_own_ids(reports),
        contacts=st.lists(persons, max_size=1).map(tuple),
        countries_for_preview=st.none()
        | st.lists(st.sampled_from(COUNTRIES), max_size=2, unique=True).map(tuple),
    )


def event_lists(max_size: int = 12) -> st.SearchStrategy[list[Event]]:
    return st.lists(events(st.integers(0, 40)), max_size=max_size, unique_by=lambda event: event.id)


# Reference data with the countries and types of these events.
DIRECTORY = ReferenceData(
    [
        Country(id=number, names={"en": f"Country {number}", "fr": f"Pays {100 - number}"})
        for number in COUNTRIES
    ],
    [DisasterType(id=number, names={"en": f"Type {number}"}) for number in TYPES],
)
