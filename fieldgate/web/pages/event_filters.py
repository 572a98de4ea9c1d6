"""Filters of the list of events as people know them: names, dates and words, and the chips of active filters."""

import difflib
import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from fieldgate.db import now
from fieldgate.events.filters import LABELS, BooleanFilter, EventFilters
from fieldgate.events.records import APPEAL_TYPE_NAMES, SEVERITY_NAMES
from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.links import encode_query
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.web.formatting import Formatter

COUNTRY_PATH, REGION_PATH, TYPE_PATH = (
    "/api/v2/country/",
    "/api/v2/region/",
    "/api/v2/disaster_type/",
)
# Fields of the filter form that the API does not know. They are resolved, and the browser is redirected.
TYPED_FIELDS = ("country", "from", "until", "period")
# Boxes of the form: the name of each is this and an id. Ticked ones become a list, the first of these filters.
# A filter with one value has a ticked box, too.
BOXES: Mapping[str, tuple[str, ...]] = {
    "region-": ("regions__in",),
    "type-": ("dtype__in", "dtype"),
    "severity-": ("ifrc_severity_level__in", "ifrc_severity_level"),
}
# Parameters that do not narrow the list.
NOT_FILTERS = frozenset(
    {"limit", "offset", "page", "start", "format", "ordering", "measure", "tableau", "form"}
)
# Parameters that a narrowed list does not take over: it starts at its first page.
NOT_KEPT = frozenset({"offset", "page", "start", "form"})
MAX_KEPT_CHARS = (
    300  # of parameters that do not narrow the list, which each link of the charts repeats
)
MAX_TYPED_COUNTRIES = 10
MAX_TYPED_CHARS = 200  # of the field for countries
MAX_SUGGESTIONS = 3
MAX_CHIPS_OF_FILTER = 30  # more values have one chip together, as each chip repeats the query
FROM, UNTIL = "disaster_start_date__gte", "disaster_start_date__lt"

FLAGS = frozenset(
    field.name for field in msgspec.structs.fields(EventFilters) if field.type == BooleanFilter
)

# By the beginning of the parameter; its end says how it compares.
DATE_LABELS: Mapping[str, Mapping[str, Message]] = {
    "disaster_start_date": {
        "gte": Message("Started from"),
        "gt": Message("Started after"),
        "lte": Message("Started until"),
        "lt": Message("Started before"),
        "": Message("Started"),
    },
    "created_at": {
        "gte": Message("Added from"),
        "gt": Message("Added after"),
        "lte": Message("Added until"),
        "lt": Message("Added before"),
        "": Message("Added"),
    },
    "updated_at": {
        "gte": Message("Updated from"),
        "gt": Message("Updated after"),
        "lte": Message("Updated until"),
        "lt": Message("Updated before"),
        "": Message("Updated"),
    },
}
# Buttons of the filter form that choose the start date: value, text, and how many months or days ago it begins.
PERIODS: Mapping[str, tuple[Message, int, int]] = {
    "90-days": (Message("Last 90 days"), 0, 90),
    "1-year": (Message("Last 12 months"), 12, 0),
    "5-years": (Message("Last five years"), 60, 0),
}
SEVERITIES = {str(level): name for level, name in enumerate(SEVERITY_NAMES)}
APPEAL_TYPES = {str(number): name for number, name in enumerate(APPEAL_TYPE_NAMES)}

FilterChip = tuple[str, str, str]  # label, value, and the URL of the list without this filter


class TypedFilters(msgspec.Struct, frozen=True):
    """What was typed: the parameters of the API it means, or errors by field."""

    params: Mapping[str, str]
    errors: Mapping[str, str]


class FilterNames(msgspec.Struct, frozen=True):
    """Names of the ids in a filter, and the types that can be chosen. Keys are ids as text, and codes of countries."""

    regions: Mapping[str, str]
    countries: Mapping[str, str]
    country_codes: Mapping[str, str]  # ISO 3166-1 alpha-3 by id
    types: Mapping[str, str]


def is_form_field(name: str) -> bool:
    """Whether a parameter is of the filter form, and unknown to the API."""
    return name in TYPED_FIELDS or name.startswith(tuple(BOXES))


def ticked_boxes(params: Mapping[str, str], prefix: str) -> list[str]:
    """The ids of the boxes that were sent, or else of the filters that they stand for."""
    sent = [name.removeprefix(prefix) for name in params if name.startswith(prefix)]
    return sent or [each for name in BOXES[prefix] for each in split_values(params.get(name, ""))]


def active_filters(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters that narrow the list."""
    narrowing = (
        item for item in params.items() if item[0] not in NOT_FILTERS and not is_form_field(item[0])
    )
    return {name: value for name, value in narrowing if value.strip()}


def view_parameters(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters that say how the list is shown: order, page size and measure. None if they are very long."""
    kept = {
        name: value
        for name, value in params.items()
        if name in NOT_FILTERS and name not in NOT_KEPT and value.strip()
    }
    return kept if sum(map(len, kept.values())) <= MAX_KEPT_CHARS else {}


def is_kept(name: str) -> bool:
    """Whether a narrowed list takes a parameter over."""
    return name not in NOT_KEPT and not is_form_field(name)


def split_values(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


async def resolve_typed(
    params: Mapping[str, str], api: InternalAPI, language: Language
) -> TypedFilters | None:
    """Turn typed names and dates into parameters of the API; None if nothing was sent by the filter form."""
    if not any(map(is_form_field, params)):
        return None
    kept = {name: value for name, value in params.items() if is_kept(name) and value.strip()}
    for prefix, (target, *others) in BOXES.items():
        if ticked := ticked_boxes(params, prefix):
            kept = {name: value for name, value in kept.items() if name not in others}
            kept[target] = ",".join(ticked)
    errors: dict[str, str] = {}
    days = typed_days(params)
    for field, target in (("from", FROM), ("until", UNTIL)):
        typed = days[field]
        kept.pop(target, None)
        day = _parse_day(typed)
        if typed and day is None:
            errors[field] = translate(
                Message("Write the date as year-month-day, for example 2026-10-31."), language
            )
        elif day is not None:
            kept[target] = (day + timedelta(days=1) if field == "until" else day).isoformat()
    if not errors and FROM in kept and UNTIL in kept and kept[FROM] >= kept[UNTIL]:
        errors["until"] = translate(Message("This date is before the first one."), language)
    found, error = await _resolve_countries(params.get("country", ""), api, language)
    if error:
        errors["country"] = error
    countries = list(dict.fromkeys([*split_values(kept.get("countries__in", "")), *found]))
    if countries:
        kept["countries__in"] = ",".join(countries)
    return TypedFilters(kept, errors)


def typed_days(params: Mapping[str, str]) -> dict[str, str]:
    """The first and the last day, as typed. A button for a period wins over what is in the fields."""
    period = PERIODS.get(params.get("period", ""))
    if period is not None:
        return {"from": first_day_of(now().date(), *period[1:]).isoformat(), "until": ""}
    return {field: params.get(field, "").strip() for field in ("from", "until")}


def first_day_of(today: date, months: int, days: int) -> date:
    """The day some months and days ago; the last day of the month if it has no such day."""
    year, month = divmod(today.year * 12 + today.month - 1 - months, 12)
    return date(year, month + 1, min(today.day, monthrange(year, month + 1)[1])) - timedelta(
        days=days
    )


def _parse_day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day < date.max else None


async def _resolve_countries(
    typed: str, api: InternalAPI, language: Language
) -> tuple[list[str], str]:
    """The ids of typed countries, and what is wrong with the first that is unknown."""
    text = " ".join(typed.split())[:MAX_TYPED_CHARS]
    if not text:
        return [], ""
    whole = await _find_country(text, api)
    if len(whole) == 1:
        return whole, ""
    ids: list[str] = []
    for name in [part.strip() for part in re.split(r"[,;،؛]", text) if part.strip()][
        :MAX_TYPED_COUNTRIES
    ]:
        found = await _find_country(name, api)
        if len(found) != 1:
            return [], await _unknown_country(name, found, api, language)
        ids += found
    return ids, ""


async def _find_country(name: str, api: InternalAPI) -> list[str]:
    """Ids of countries with this name or code, or else of those whose name contains it."""
    exact: Sequence[dict[str, str]] = (
        ({"name": name}, {"iso3": name}, {"iso": name}) if len(name) <= 3 else ({"name": name},)
    )
    for query in (*exact, {"search": name}):
        answer = await api.find(
            COUNTRY_PATH, {**query, "mini": "true", "record_type": "1", "limit": "10"}
        )
        if answer and answer["results"]:
            return [str(country["id"]) for country in answer["results"]]
    return []


async def _unknown_country(
    name: str, found: Sequence[str], api: InternalAPI, language: Language
) -> str:
    countries = await api.find(COUNTRY_PATH, {"mini": "true", "record_type": "1", "limit": "1000"})
    names = {
        str(country["id"]): country["name"] for country in (countries or {"results": []})["results"]
    }
    if found:
        near = [names[each] for each in found if each in names]
        message = Message(
            "Several countries match “{name}”: {names}. Write one of them.",
            name=name,
            names=", ".join(near),
        )
        return translate(message, language)
    by_folded_name = {fold_text(known): known for known in names.values()}
    wanted = fold_text(name)[:MAX_TYPED_CHARS]
    near = [
        by_folded_name[folded]
        for folded in difflib.get_close_matches(wanted, by_folded_name, MAX_SUGGESTIONS, 0.6)
    ]
    if near:
        message = Message(
            "No country is called “{name}”. Did you mean {names}?", name=name, names=", ".join(near)
        )
    else:
        message = Message(
            "No country is called “{name}”. Write its name in any of the languages, or its code.",
            name=name,
        )
    return translate(message, language)


async def load_names(params: Mapping[str, str], api: InternalAPI) -> FilterNames:
    """The names behind the ids of a filter."""
    regions = await api.get(REGION_PATH)
    types = await api.get(TYPE_PATH, {"limit": "1000"})
    countries: dict[str, str] = {}
    codes: dict[str, str] = {}
    ids = [
        each
        for name in ("countries__in", "countries__all")
        for each in split_values(params.get(name, ""))
    ]
    queries = [{"id__in": ",".join(ids)}] if ids else []
    queries += [{"iso3": code} for code in country_codes(params)[:MAX_TYPED_COUNTRIES]]
    for query in queries:
        found = await api.find(COUNTRY_PATH, {**query, "mini": "true", "limit": "1000"})
        for country in (found or {"results": []})["results"]:
            countries[str(country["id"])] = country["name"]
            countries[(country["iso3"] or "").upper()] = country["name"]
            codes[str(country["id"])] = country["iso3"] or ""
    return FilterNames(
        {str(each["id"]): each["region_name"] for each in regions["results"]},
        countries,
        codes,
        {str(each["id"]): each["name"] for each in types["results"]},
    )


def country_codes(params: Mapping[str, str]) -> list[str]:
    """The three-letter codes that countries are filtered by."""
    one_code = params.get("countries__iso3", "").strip()
    codes = split_values(params.get("countries__iso3__in", ""))
    return [one_code, *codes] if one_code else codes


def make_chips(
    params: Mapping[str, str], names: FilterNames, language: Language
) -> list[FilterChip]:
    """One chip for each value of each active filter."""
    chips: list[FilterChip] = []
    for name, value in active_filters(params).items():
        label = _label(name, language)
        is_list = name.endswith(("__in", "__all")) or name == "appeal_type"
        values = split_values(value) if is_list else [value]
        if len(values) > MAX_CHIPS_OF_FILTER:
            shown = translate(
                PluralMessage("{count} value", "{count} values", len(values)), language
            )
            chips.append((label, shown, query_with(params, {name: None})))
            continue
        for each in values:
            others = [other for other in values if other != each]
            shown = _value_name(name, each, names, language)
            if name == UNTIL and (day := _parse_day(value)) is not None:
                label = translate(DATE_LABELS["disaster_start_date"]["lte"], language)
                shown = Formatter(language).date(_day_before(day))
            chips.append((label, shown, query_with(params, {name: ",".join(others) or None})))
    return chips


def query_with(params: Mapping[str, str], changes: Mapping[str, Any]) -> str:
    """The query of the list with changed filters, from its first page."""
    kept: dict[str, Any] = {name: value for name, value in params.items() if is_kept(name)}
    kept |= changes
    return "?" + encode_query(
        (name, str(value)) for name, value in kept.items() if value not in (None, "")
    )


def chosen_day(params: Mapping[str, str], name: str, days: int = 0) -> str:
    """The date of a filter for its field; "" if it has none or is a time."""
    day = _parse_day(params.get(name, ""))
    return (_day_before(day) if days else day).isoformat() if day is not None else ""


def _day_before(day: date) -> date:
    return day - timedelta(days=1) if day > date.min else day


def _label(name: str, language: Language) -> str:
    if name in LABELS:
        return translate(LABELS[name], language)
    subject, _, comparison = name.partition("__")
    by_end = DATE_LABELS.get(subject, {})
    return translate(by_end[comparison], language) if comparison in by_end else name


def _value_name(name: str, value: str, names: FilterNames, language: Language) -> str:
    if name.startswith("regions__"):
        return names.regions.get(value, value)
    if name.startswith("countries__"):
        return names.countries.get(value) or names.countries.get(value.upper(), value)
    if name.startswith("dtype"):
        return names.types.get(value, value)
    if name.startswith("ifrc_severity_level") and value in SEVERITIES:
        return translate(SEVERITIES[value], language)
    if name == "appeal_type" and value in APPEAL_TYPES:
        return translate(APPEAL_TYPES[value], language)
    if name in FLAGS:
        return translate(
            Message("Yes") if value.casefold() in ("true", "1") else Message("No"), language
        )
    if name.partition("__")[0] in DATE_LABELS:
        return _date_text(value, language)
    return value


def _date_text(value: str, language: Language) -> str:
    formatter = Formatter(language)
    if _parse_day(value) is not None:
        return formatter.date(value)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return value
    return formatter.datetime(value)
