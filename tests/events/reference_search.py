"""Reference implementation of event search: checks every event in turn. The index must give the same results.

`event_filters` generates the filters that both are asked for.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from fieldgate.events.model import SOURCES, Event
from fieldgate.events.search.filters import ORDERING_FIELDS, EventFilters, ordering_terms, search_words
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language
from fieldgate.reference.reference_data import ReferenceData, fold_text
from tests.events.samples import COUNTRIES, TYPES, timestamps

_terms = st.builds(lambda sign, field: sign + field, st.sampled_from(("", "-")), st.sampled_from(ORDERING_FIELDS))
_countries = st.lists(st.sampled_from((*COUNTRIES, 9999, 2**70)), max_size=2).map(tuple)
_flags = st.sampled_from((None, None, None, True, False))


def _mostly_none(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Mostly None: many filters at once match no event."""
    return st.none() | st.none() | st.none() | strategy


event_filters = st.builds(
    EventFilters,
    countries__in=st.just(()) | _countries,
    regions__in=st.just(()) | st.lists(st.sampled_from((0, 1, 2, 3, 99)), max_size=2).map(tuple),
    countries__iso3__in=st.just(())
    | st.just(())
    | st.lists(st.sampled_from(("AFG", "npl", "XXX")), max_size=2).map(tuple),
    countries__all=st.just(()) | st.just(()) | st.lists(st.sampled_from((14, 27, 123, 999)), max_size=2).map(tuple),
    regions__all=st.just(()) | st.just(()) | st.lists(st.sampled_from((0, 1, 2, 99)), max_size=2).map(tuple),
    dtype=_mostly_none(st.sampled_from((*TYPES, 999))),
    dtype__in=st.just(()) | st.just(()) | st.lists(st.sampled_from(TYPES), max_size=2).map(tuple),
    id=_mostly_none(st.sampled_from((0, 1, 2, 3, 2**70))),
    id__in=st.just(()) | st.just(()) | st.lists(st.integers(0, 40), max_size=20).map(tuple),
    appeal_type=st.just(()) | st.just(()) | st.lists(st.integers(0, 3), max_size=2).map(tuple),
    appeal_code=st.sampled_from(("", "", "", "MDRNP001", "%")),
    is_featured=_flags,
    is_featured_region=_flags,
    auto_generated_source=_mostly_none(st.sampled_from(SOURCES)),
    glide=st.sampled_from(("", "", "", "FL-2020-000001-NPL")),
    ifrc_severity_level=_mostly_none(st.integers(0, 2)),
    ifrc_severity_level__in=st.just(()) | st.just(()) | st.just((0, 2)),
    disaster_start_date__gte=_mostly_none(timestamps),
    disaster_start_date__lt=_mostly_none(timestamps),
    disaster_start_date=_mostly_none(_mostly_none(timestamps)),
    created_at__gt=_mostly_none(timestamps),
    created_at__lte=_mostly_none(timestamps),
    updated_at__gte=_mostly_none(timestamps),
    search=st.sampled_from(("", "", "flood", "CRUE", "école", "nep", '"a flood"', "fl, oo", "%", "neverheard")),
    ordering=st.sampled_from(("", "-disaster_start_date")) | st.lists(_terms, max_size=3).map(",".join),
)


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
        known = [event for event in found if _sort_key(event, field, language, reference_data) is not None]
        unknown = [event for event in found if _sort_key(event, field, language, reference_data) is None]
        known.sort(key=lambda event: _sort_key(event, field, language, reference_data), reverse=descends)
        found = known + unknown
    return [event.id for event in found]


def _sort_key(event: Event, field: str, language: Language, reference_data: ReferenceData) -> Any:
    if field == "dtype":
        if event.dtype is None:
            return None
        return reference_data.types_by_name(language).index(event.dtype)
    if field in ("name", "summary"):
        text = in_language(getattr(event, field), language, event.original_language)
        return collation_key(text, language) if text else None
    if field == "glide":
        return event.glide or None
    return getattr(event, field)


def _matches(event: Event, filters: EventFilters, scope: ViewerScope, reference_data: ReferenceData) -> bool:
    countries = set(event.countries)
    regions = {reference_data.countries[id_].region for id_ in countries}
    iso3 = {reference_data.countries[id_].iso3 for id_ in countries}
    codes = {appeal.code for appeal in event.appeals}
    checks = (
        event.parent_event is None,
        scope.can_see(event.visibility, event.countries),
        not filters.countries__in or countries & set(filters.countries__in),
        not filters.regions__in or regions & set(filters.regions__in),
        not filters.countries__iso3__in or iso3 & {each.upper() for each in filters.countries__iso3__in},
        countries >= set(filters.countries__all),
        regions >= set(filters.regions__all),
        filters.dtype is None or event.dtype == filters.dtype,
        not filters.dtype__in or event.dtype in filters.dtype__in,
        filters.id is None or event.id == filters.id,
        not filters.id__in or event.id in filters.id__in,
        not filters.appeal_type or {appeal.atype for appeal in event.appeals} & set(filters.appeal_type),
        not filters.appeal_code or filters.appeal_code in codes,
        filters.is_featured is None or event.is_featured == filters.is_featured,
        filters.is_featured_region is None or event.is_featured_region == filters.is_featured_region,
        filters.auto_generated_source is None or event.auto_generated_source == filters.auto_generated_source,
        not filters.glide or event.glide == filters.glide,
        filters.ifrc_severity_level is None or event.ifrc_severity_level == filters.ifrc_severity_level,
        not filters.ifrc_severity_level__in or event.ifrc_severity_level in filters.ifrc_severity_level__in,
        *(_in_date_range(event, filters, name) for name in ("disaster_start_date", "created_at", "updated_at")),
        *(_contains_word(event, word, reference_data) for word in search_words(filters.search)),
    )
    return all(checks)


def _in_date_range(event: Event, filters: EventFilters, name: str) -> bool:
    timestamp: datetime = getattr(event, name)
    bounds = {suffix: getattr(filters, name + suffix) for suffix in ("", "__gt", "__gte", "__lt", "__lte")}
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
