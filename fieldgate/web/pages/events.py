"""The list of events: filters, map, timeline and table; and the summary of all matching events as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.links import encode_query
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.formatting import MISSING, Formatter, comma
from fieldgate.web.page_views import Page, Pages, Redirect
from fieldgate.web.pages.event_charts import (
    EVENT_PATH,
    MEASURES,
    SUMMARY_PATH,
    build_charts,
    choose_measure,
    funding_text,
    share_of,
)
from fieldgate.web.pages.event_filters import (
    BOXES,
    COUNTRY_PATH,
    FROM,
    PERIODS,
    SEVERITIES,
    UNTIL,
    FilterNames,
    active_filters,
    chosen_day,
    country_codes,
    is_kept,
    load_names,
    make_chips,
    query_with,
    resolve_typed,
    split_values,
    ticked_boxes,
    typed_days,
    view_parameters,
)

pages = Pages()

EXPORT_PATH = "/api/v2/event/export/"
# Label, path, and what the URL has beside the filters.
MAX_REPEATED_QUERY_CHARS = 1000
EXPORTS: Sequence[tuple[Message | str, str, Mapping[str, str]]] = (
    ("CSV", EXPORT_PATH, {"format": "csv", "bom": "true"}),
    ("Excel", EXPORT_PATH, {"format": "xlsx"}),
    ("GeoJSON", EXPORT_PATH, {"format": "geojson"}),
    ("NDJSON", EXPORT_PATH, {"format": "ndjson"}),
)
PROGRAM_LINKS: Sequence[tuple[Message | str, str, Mapping[str, str]]] = (
    ("JSON", EVENT_PATH, {"format": "json"}),
    (Message("Feed"), EVENT_PATH, {"format": "atom"}),
)
COLUMNS: Sequence[tuple[str, Message, str]] = (  # name in `ordering`, title, class
    ("ifrc_severity_level", Message("Severity"), ""),
    ("name", Message("Name"), ""),
    ("", Message("Countries"), ""),
    ("dtype", Message("Type"), ""),
    ("disaster_start_date", Message("Start"), ""),
    ("num_affected", Message("Affected"), "number"),
    ("", Message("Funding"), ""),
    ("updated_at", Message("Updated"), "updated"),
)
DESCENDING_FIRST = frozenset(
    {"ifrc_severity_level", "disaster_start_date", "num_affected", "updated_at"}
)
DEFAULT_ORDERING = "-disaster_start_date"
MAX_COUNTRIES_SHOWN = 3


@pages.show("event_list", "events/list.html")
async def load_event_list(page: Page, api: InternalAPI) -> Mapping[str, Any] | Redirect:
    """Everything on the page comes from the API: names, the summary of all matches, and the records of this page."""
    params, language = page.request.query_params, page.language
    typed = await resolve_typed(params, api, language)
    if typed is not None and not typed.errors:
        encoded = encode_query(typed.params.items())
        return Redirect(page.request.path + ("?" + encoded if encoded else ""))
    if params.get("tableau"):  # flat records are for programs
        return Redirect(page.request.path + query_with(params, {"tableau": None}))
    filters = active_filters(params)
    names = await load_names(params, api)
    summary = await api.find(SUMMARY_PATH, filters)
    measure = choose_measure(params.get("measure", ""))
    charts = None
    if summary and summary["count"]:
        focus = await _find_focus(params, names, api)
        charts = await build_charts(summary, measure, page.request, focus, view_parameters(params))
    return {
        "summary": summary,
        "charts": charts,
        "chips": make_chips(params, names, language),
        "clear_url": query_with(params, dict.fromkeys(filters)),
        "measures": [
            (each.key, translate(each.title, language), query_with(params, {"measure": each.key}))
            for each in MEASURES
        ],
        "exports": _links(EXPORTS, filters, language),
        "csv_url": page.request.base_url.url
        + EXPORT_PATH
        + "?"
        + encode_query({**filters, "format": "csv"}.items()),
        "program_links": _links(PROGRAM_LINKS, filters, language),
        "columns": _columns(params, language),
        # Made while the page is rendered, which is in a thread if there are many.
        "rows": (_to_row(record, params, language) for record in page.record["results"]),
        "boxes": _boxes(params, names, language),
        "periods": [(value, translate(period[0], language)) for value, period in PERIODS.items()],
        "typed": _typed_values(params, typed is not None),
        "typed_errors": typed.errors if typed else {},
        "kept": [
            (name, value) for name, value in params.items() if _is_hidden_field(name) and value
        ],
        "country_source": f"{COUNTRY_PATH}?format=json&limit=1000&mini=true&record_type=1",
    }


async def _find_focus(params: Mapping[str, str], names: FilterNames, api: InternalAPI) -> list[str]:
    """The codes of the countries that the map shows: those of the filter, or of its regions; none for the world."""
    wanted = split_values(params.get("countries__in", "")) + split_values(
        params.get("countries__all", "")
    )
    codes = [names.country_codes[each] for each in wanted if names.country_codes.get(each)]
    codes += [code.upper() for code in country_codes(params)]
    if codes or not params.get("regions__in", "").strip():
        return codes
    query = {
        "region__in": params["regions__in"],
        "mini": "true",
        "is_independent": "true",
        "limit": "1000",
    }
    found = await api.find(COUNTRY_PATH, query)
    return [country["iso3"] for country in (found or {"results": []})["results"] if country["iso3"]]


def _links(
    links: Sequence[tuple[Message | str, str, Mapping[str, str]]],
    filters: Mapping[str, str],
    language: Language,
) -> list[tuple[str, str]]:
    return [
        (
            label if isinstance(label, str) else translate(label, language),
            path + "?" + encode_query({**filters, **extra}.items()),
        )
        for label, path, extra in links
    ]


def _columns(params: Mapping[str, str], language: Language) -> list[dict[str, str]]:
    """The head of the table. `url` sorts by the column; it is empty if that is not possible."""
    current = params.get("ordering") or DEFAULT_ORDERING
    columns = []
    for name, title, class_name in COLUMNS:
        url = sort = ""
        if name:
            is_current = current.lstrip("-") == name
            is_descending = current.startswith("-") if is_current else name not in DESCENDING_FIRST
            sort = ("descending" if is_descending else "ascending") if is_current else ""
            url = query_with(params, {"ordering": name if is_descending else f"-{name}"})
        columns.append(
            {
                "title": translate(title, language),
                "url": url,
                "sort": sort,
                "class_name": class_name,
            }
        )
    return columns


def _to_row(
    record: Mapping[str, Any], params: Mapping[str, str], language: Language
) -> dict[str, Any]:
    """An event of the table, as the template needs it."""
    formatter = Formatter(language)
    requested = sum(float(appeal["amount_requested"] or 0) for appeal in record["appeals"])
    funded = sum(float(appeal["amount_funded"] or 0) for appeal in record["appeals"])
    countries = record["countries"]
    shown = (
        countries if len(countries) <= MAX_COUNTRIES_SHOWN else countries[: MAX_COUNTRIES_SHOWN - 1]
    )
    others = [country["name"] for country in countries[len(shown) :]]
    has_funding = requested > 0 or funded > 0
    # With a very long query, links of every row would make a huge page.
    kept = params if sum(map(len, params.values())) <= MAX_REPEATED_QUERY_CHARS else {}
    return {
        "id": record["id"],
        "name": record["name"] or translate(Message("Emergency without a name"), language),
        "level": record["ifrc_severity_level"],
        "severity": record["ifrc_severity_level_display"],
        "countries": [
            (country["name"], query_with(kept, {"countries__in": country["id"]}))
            for country in shown
        ],
        "other_countries": others,
        "type": record["dtype"]["name"] if record["dtype"] else "",
        "start": formatter.date(record["disaster_start_date"]),
        "affected": formatter.number(record["num_affected"]),
        "funded_share": share_of(funded, requested) if has_funding else None,
        "funding": funding_text(funded, requested, language) if has_funding else "",
        "updated": formatter.date(record["updated_at"]),
    }


def _boxes(
    params: Mapping[str, str], names: FilterNames, language: Language
) -> list[dict[str, Any]]:
    """The groups of boxes of the filter form: label, text if none is ticked, and id, text and state of each box."""
    severities = {level: translate(name, language) for level, name in SEVERITIES.items()}
    groups = (
        ("region-", Message("Region"), Message("All regions"), names.regions),
        ("type-", Message("Type"), Message("All types"), names.types),
        ("severity-", Message("Severity"), Message("All levels"), severities),
    )
    found = []
    for prefix, label, nothing, known in groups:
        ticked = ticked_boxes(params, prefix)
        options = {**known, **{each: each for each in ticked if each not in known}}
        found.append(
            {
                "prefix": prefix,
                "label": translate(label, language),
                "text": comma(language).join(options[each] for each in ticked)
                or translate(nothing, language),
                "options": [(id_, text, id_ in ticked) for id_, text in options.items()],
            }
        )
    return found


def _typed_values(params: Mapping[str, str], is_sent: bool) -> dict[str, str]:
    """What the fields of the form show: what was typed, or the active filter."""
    if is_sent:
        return {"country": params.get("country", ""), **typed_days(params)}
    return {"country": "", "from": chosen_day(params, FROM), "until": chosen_day(params, UNTIL, 1)}


def _is_hidden_field(name: str) -> bool:
    """Whether the filter form sends a parameter that it has no field for."""
    has_field = any(name in targets for targets in BOXES.values()) or name in (
        "search",
        FROM,
        UNTIL,
    )
    return not has_field and is_kept(name)


# The list of the summary, the title of its table, and what its first column has.
SUMMARY_TABLES: Sequence[tuple[str, Message, Message]] = (
    ("countries", Message("By country"), Message("Country")),
    ("regions", Message("By region"), Message("Region")),
    ("types", Message("By type"), Message("Type")),
    ("severities", Message("By severity"), Message("Severity")),
    ("periods", Message("By start date"), Message("Time")),
)


@pages.show("event_summary", "events/summary.html")
async def load_event_summary(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The tables, and the active filters by name."""
    params, language = page.request.query_params, page.language
    filters = active_filters(params)

    def funding(entry: Mapping[str, Any]) -> str:
        if entry["amount_requested"] > 0 or entry["amount_funded"] > 0:
            return funding_text(entry["amount_funded"], entry["amount_requested"], language)
        return MISSING

    return {
        "first": ((await api.find(EVENT_PATH, {**filters, "limit": "1"})) or {"results": []})[
            "results"
        ],
        "tables": [
            (name, translate(title, language), translate(head, language))
            for name, title, head in SUMMARY_TABLES
        ],
        "funding": funding,
        "chips": make_chips(params, await load_names(params, api), language),
        "clear_url": query_with(params, dict.fromkeys(filters)),
        "list_path": EVENT_PATH + ("?" + encode_query(filters.items()) if filters else ""),
    }
