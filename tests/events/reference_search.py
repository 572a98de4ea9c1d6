"""Reference implementation of event search: checks every event in turn. The service must give the same results.

`event_filters` generates the filters that both are asked for. A new filter gets a row in `FILTER_VALUES`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import parse_qsl

from hypothesis import strategies as st

from fieldgate.events.model import SOURCES, Appeal, Event, Visibility
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language
from fieldgate.reference.reference_data import ReferenceData
from tests.events.samples import COUNTRIES, FIRST_DAY, TYPES

_DATE_FIELDS = ("disaster_start_date", "created_at", "updated_at")
_DATE_VALUES = tuple(FIRST_DAY + timedelta(days=days) for days in (0, 3, 6, 12))

Filters = Mapping[str, Any]  # the values of query parameters by name

ORDERING_FIELDS = (
    "disaster_start_date",
    "created_at",
    "updated_at",
    "dtype",
    "name",
    "summary",
    "num_affected",
    "glide",
    "ifrc_severity_level",
    "id",
)
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
    "search": (
        "flood",
        "CRUE",
        "école",
        "Ecole",
        "ECOLÉ",
        "nep",
        "mdrnp001",
        "fl-2020",
        '"a flood"',
        "fl, oo",
        "%",
        "neverheard",
    ),
}
_LEVELS: tuple[Literal[0, 1, 2], ...] = (0, 1, 2)
_APPEAL_TYPES: tuple[Literal[0, 1, 2, 3], ...] = (0, 1, 2, 3)
_terms = st.builds(
    lambda sign, field: sign + field, st.sampled_from(("", "-")), st.sampled_from(ORDERING_FIELDS)
)
_orderings = st.sampled_from(("", "-disaster_start_date")) | st.lists(_terms, max_size=3).map(
    ",".join
)


def _filters_named(names: list[str]) -> st.SearchStrategy[Filters]:
    values = {name: st.sampled_from(FILTER_VALUES[name]) for name in names}
    return st.fixed_dictionaries({"ordering": _orderings, **values})


# At most two filters at once: many together match no event, and nothing would be compared.
event_filters = st.lists(st.sampled_from(list(FILTER_VALUES)), max_size=2, unique=True).flatmap(
    _filters_named
)


def to_params(filters: Filters) -> dict[str, str]:
    """The filters as query parameters."""
    return {name: _to_text(value) for name, value in filters.items()}


def _to_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)


def from_query(query: str) -> Filters:
    """The filters in a query string."""
    return {name: _from_text(FILTER_VALUES[name][0], text) for name, text in parse_qsl(query)}


def _from_text(like: Any, text: str) -> Any:
    if isinstance(like, tuple):
        return tuple(_from_text(like[0], part) for part in text.split(","))
    if isinstance(like, datetime):
        value = datetime.fromisoformat(text)
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return text == "true" if isinstance(like, bool) else type(like)(text)


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
    filters: Filters,
    scope: ViewerScope,
    language: Language,
    reference_data: ReferenceData,
) -> list[int]:
    """The ids of the events that match, in order."""
    found = [event for event in events if _matches(event, filters, scope, reference_data)]
    found.sort(key=lambda event: event.id)
    found.sort(key=lambda event: event.disaster_start_date, reverse=True)
    terms = _ordering_terms(filters.get("ordering", ""))
    if terms:
        found.sort(key=lambda event: event.id)
    for field, descends in reversed(terms.items()):
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


def _ordering_terms(ordering: str) -> dict[str, bool]:
    """The fields to order by, and whether descending. The first mention of a field counts."""
    terms: dict[str, bool] = {}
    for term in filter(None, ordering.split(",")):
        terms.setdefault(term.removeprefix("-"), term.startswith("-"))
    return terms


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
    event: Event, filters: Filters, scope: ViewerScope, reference_data: ReferenceData
) -> bool:
    countries = set(event.countries)
    regions = {reference_data.countries[id_].region for id_ in countries}
    iso3 = {reference_data.countries[id_].iso3 for id_ in countries}
    codes = {appeal.code for appeal in event.appeals}
    checks: dict[str, Callable[[Any], Any]] = {
        "countries__in": lambda ids: countries & set(ids),
        "regions__in": lambda ids: regions & set(ids),
        "countries__iso3__in": lambda codes: iso3 & {code.upper() for code in codes},
        "countries__iso3": lambda code: code.upper() in iso3,
        "countries__all": lambda ids: countries >= set(ids),
        "regions__all": lambda ids: regions >= set(ids),
        "dtype": lambda id_: event.dtype == id_,
        "dtype__in": lambda ids: event.dtype in ids,
        "id": lambda id_: event.id == id_,
        "id__in": lambda ids: event.id in ids,
        "appeal_type": lambda types: {appeal.atype for appeal in event.appeals} & set(types),
        "appeal_code": lambda code: code.upper() in codes,
        "is_featured": lambda wanted: event.is_featured == wanted,
        "is_featured_region": lambda wanted: event.is_featured_region == wanted,
        "auto_generated_source": lambda source: event.auto_generated_source == source,
        "glide": lambda glide: event.glide.upper() == glide.upper(),
        "ifrc_severity_level": lambda level: event.ifrc_severity_level == level,
        "ifrc_severity_level__in": lambda levels: event.ifrc_severity_level in levels,
        "search": lambda search: all(
            _contains_word(event, word, reference_data) for word in _search_words(search)
        ),
        "ordering": lambda _: True,
        **_date_checks(event),
    }
    return (
        event.parent_event is None
        and scope.can_see(event.visibility, event.countries)
        and all(checks[name](value) for name, value in filters.items())
    )


def _date_checks(event: Event) -> dict[str, Callable[[datetime], bool]]:
    checks: dict[str, Callable[[datetime], bool]] = {}
    for name in _DATE_FIELDS:
        timestamp: datetime = getattr(event, name)
        checks[name] = timestamp.__eq__
        checks[name + "__gt"] = timestamp.__gt__
        checks[name + "__gte"] = timestamp.__ge__
        checks[name + "__lt"] = timestamp.__lt__
        checks[name + "__lte"] = timestamp.__le__
    return checks


def _search_words(search: str) -> list[str]:
    """The words of a search, split at spaces and commas; phrases in quotes are one word."""
    parts = re.findall(r'"[^"]*"|[^\s,"]+', search)
    return [part.strip('"') for part in parts]


def _contains_word(event: Event, word: str, reference_data: ReferenceData) -> bool:
    names = [*event.name.values(), event.glide]
    names += [appeal.code for appeal in event.appeals if appeal.code]
    for id_ in event.countries:
        names += reference_data.countries[id_].names.values()
    if event.dtype is not None:
        names += reference_data.types[event.dtype].names.values()
    return any(fold_text(word) in fold_text(name) for name in names)
