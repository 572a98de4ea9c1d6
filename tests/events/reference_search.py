"""Reference implementation of event search: checks every event in turn. The index must give the same results.

`event_filters` generates the filters that both are asked for. A new filter gets a row in `FILTER_VALUES`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from hypothesis import strategies as st

from fieldgate.events.model import SOURCES, Appeal, Event, Visibility
from fieldgate.events.search.filters import (
    ORDERING_FIELDS,
    EventFilters,
    ordering_terms,
    search_words,
)
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language
from fieldgate.reference.reference_data import ReferenceData, fold_text
from tests.events.samples import COUNTRIES, FIRST_DAY, TYPES

_DATE_FIELDS = ("disaster_start_date", "created_at", "updated_at")
_DATE_VALUES = tuple(FIRST_DAY + timedelta(days=days) for days in (0, 3, 6, 12))

# Values of every filter. Of `varied_events`, at least one value of each is met by some events and not by all.
FILTER_VALUES: Mapping[str, Sequence[Any]] = {
    "countries__in": ((14,), (27, 84), (123, 9999), (9999, 2**70)),
    "regions__in": ((0,), (1, 2), (99,)),
    "countries__iso3__in": (("AFG",), ("npl", "XXX"), ("XXX",)),
    "countries__iso3": ("AFG", "npl", "XXX"),
    "countries__all": ((14,), (14, 27), (123, 999)),
    "regions__all": ((0,), (1, 2), (99,)),
    "dtype": (*TYPES, 999),
    "dtype__in": ((1,), (2, 12), (999,)),
    "id": (0, 1, 2, 3, 2**70),
    "id__in": ((1,), (0, 2, 5, 40), (2**70,)),
    "appeal_type": ((0,), (1, 2), (3,)),
    "appeal_code": ("MDRNP001", "mdrnp001", "%"),
    "is_featured": (True, False),
    "is_featured_region": (True, False),
    "auto_generated_source": SOURCES,
    "glide": ("FL-2020-000001-NPL", "fl-2020-000001-npl", "FL-2020"),
    "ifrc_severity_level": (0, 1, 2),
    "ifrc_severity_level__in": ((0,), (0, 2)),
    **{
        name + bound: _DATE_VALUES
        for name in _DATE_FIELDS
        for bound in ("", "__gt", "__gte", "__lt", "__lte")
    },
    "search": ("flood", "CRUE", "école", "nep", '"a flood"', "fl, oo", "%", "neverheard"),
}
_LEVELS: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)
_APPEAL_TYPES: tuple[Literal[0, 1, 2, 3], ...] = (0, 1, 2, 3)
_terms = st.builds(
    lambda sign, field: sign + field, st.sampled_from(("", "-")), st.sampled_from(ORDERING_FIELDS)
)
_orderings = st.sampled_from(("", "-disaster_start_date")) | st.lists(_terms, max_size=3).map(
    ",".join
)


def _filters_named(names: list[str]) -> st.SearchStrategy[EventFilters]:
    values = {name: st.sampled_from(FILTER_VALUES[name]) for name in names}
    return st.builds(EventFilters, ordering=_orderings, **values)


# At most two filters at once: many together match no event, and nothing would be compared.
event_filters = st.lists(st.sampled_from(list(FILTER_VALUES)), max_size=2, unique=True).flatmap(
    _filters_named
)


def _appeal(number: int) -> Appeal:
    code = "MDRNP001" if number % 2 else None
    return Appeal(
        id=number,
        aid="x",
        code=code,
        atype=_APPEAL_TYPES[number % 4],
        status=0,
        amount_requested=0.0,
        amount_funded=0.0,
    )


def varied_events() -> list[Event]:
    """Events that differ in everything that filters look at."""
    return [
        Event(
            id=number,
            name={
                "en": f"{('Flood', 'North', 'A flood')[number % 3]} {number}",
                "fr": ("Crue", "École")[number % 2],
            },
            dtype=(*TYPES, None)[number % 6],
            countries=tuple(
                sorted({COUNTRIES[number % 7], COUNTRIES[(number * 3) % 5]} if number % 8 else ())
            ),
            num_affected=number % 4 or None,
            ifrc_severity_level=_LEVELS[number % 3],
            glide="FL-2020-000001-NPL" if number % 5 == 0 else "",
            disaster_start_date=FIRST_DAY + timedelta(days=number % 13),
            created_at=FIRST_DAY + timedelta(days=number % 11),
            updated_at=FIRST_DAY + timedelta(days=number % 7),
            auto_generated_source=None if number % 7 == 6 else SOURCES[number % 7],  # type: ignore[arg-type]
            is_featured=number % 4 == 1,
            is_featured_region=number % 5 == 2,
            visibility=Visibility.PUBLIC,
            appeals=(_appeal(number),) if number % 3 else (),
        )
        for number in range(60)
    ]


def matching_ids(
    events: Sequence[Event],
    filters: EventFilters,
    scope: ViewerScope,
    language: Language,
    reference_data: ReferenceData,
) -> list[int]:
    """The ids of the events that match, in order."""
    found = [event for event in events if _matches(event, filters, scope, reference_data)]
    found.sort(key=lambda event: event.id)
    found.sort(key=lambda event: event.disaster_start_date, reverse=True)
    terms = ordering_terms(filters.ordering)
    if terms:
        found.sort(key=lambda event: event.id)
    for field, descends in reversed(terms):
        known = [
            event
            for event in found
            if _sort_key(event, field, language, reference_data) is not None
        ]
        unknown = [
            event for event in found if _sort_key(event, field, language, reference_data) is None
        ]
        known.sort(
            key=lambda event: _sort_key(event, field, language, reference_data), reverse=descends
        )
        found = known + unknown
    return [event.id for event in found]


def _sort_key(event: Event, field: str, language: Language, reference_data: ReferenceData) -> Any:
    if field == "dtype":
        if event.dtype is None:
            return None
        return reference_data.type_records.by_name(language).index(event.dtype)
    if field in ("name", "summary"):
        text = in_language(getattr(event, field), language, event.original_language)
        return collation_key(text, language) if text else None
    if field == "glide":
        return event.glide or None
    return getattr(event, field)


def _matches(
    event: Event, filters: EventFilters, scope: ViewerScope, reference_data: ReferenceData
) -> bool:
    countries = set(event.countries)
    regions = {reference_data.countries[id_].region for id_ in countries}
    iso3 = {reference_data.countries[id_].iso3 for id_ in countries}
    codes = {appeal.code for appeal in event.appeals}
    checks = (
        event.parent_event is None,
        scope.can_see(event.visibility, event.countries),
        not filters.countries__in or countries & set(filters.countries__in),
        not filters.regions__in or regions & set(filters.regions__in),
        not filters.countries__iso3__in
        or iso3 & {each.upper() for each in filters.countries__iso3__in},
        filters.countries__iso3 is None or filters.countries__iso3.upper() in iso3,
        countries >= set(filters.countries__all),
        regions >= set(filters.regions__all),
        filters.dtype is None or event.dtype == filters.dtype,
        not filters.dtype__in or event.dtype in filters.dtype__in,
        filters.id is None or event.id == filters.id,
        not filters.id__in or event.id in filters.id__in,
        not filters.appeal_type
        or {appeal.atype for appeal in event.appeals} & set(filters.appeal_type),
        not filters.appeal_code or filters.appeal_code.upper() in codes,
        filters.is_featured is None or event.is_featured == filters.is_featured,
        filters.is_featured_region is None
        or event.is_featured_region == filters.is_featured_region,
        filters.auto_generated_source is None
        or event.auto_generated_source == filters.auto_generated_source,
        not filters.glide or event.glide.upper() == filters.glide.upper(),
        filters.ifrc_severity_level is None
        or event.ifrc_severity_level == filters.ifrc_severity_level,
        not filters.ifrc_severity_level__in
        or event.ifrc_severity_level in filters.ifrc_severity_level__in,
        *(_in_date_range(event, filters, name) for name in _DATE_FIELDS),
        *(_contains_word(event, word, reference_data) for word in search_words(filters.search)),
    )
    return all(checks)


def _in_date_range(event: Event, filters: EventFilters, name: str) -> bool:
    timestamp: datetime = getattr(event, name)
    bounds = {
        suffix: getattr(filters, name + suffix) for suffix in ("", "__gt", "__gte", "__lt", "__lte")
    }
    comparisons = {
        "": lambda bound: timestamp == bound,
        "__gt": lambda bound: timestamp > bound,
        "__gte": lambda bound: timestamp >= bound,
        "__lt": lambda bound: timestamp < bound,
        "__lte": lambda bound: timestamp <= bound,
    }
    return all(bound is None or comparisons[suffix](bound) for suffix, bound in bounds.items())


def _contains_word(event: Event, word: str, reference_data: ReferenceData) -> bool:
    names = [*event.name.values()]
    for id_ in event.countries:
        names += reference_data.countries[id_].names.values()
    if event.dtype is not None:
        names += reference_data.types[event.dtype].names.values()
    return any(fold_text(word) in fold_text(name) for name in names)
