"""The figures of all matching events, as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.response.links import encode_query
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.page_views import FormKey, Page, PageForm, PageView
from fieldgate.web.pages.event_charts import EVENT_PATH, funding_text
from fieldgate.web.pages.event_filters import active_filters, load_names, make_chips, query_with

# The list of the summary, the title of its table, and what its first column has.
TABLES: Sequence[tuple[str, Message, Message]] = (
    ("countries", Message("By country"), Message("Country")),
    ("regions", Message("By region"), Message("Region")),
    ("types", Message("By type"), Message("Type")),
    ("severities", Message("By severity"), Message("Severity")),
    ("periods", Message("By start date"), Message("Time")),
)


class SummaryRow(msgspec.Struct, frozen=True):
    name: str
    path: str  # of the list narrowed to it; "" if there is none
    count: int
    num_affected: int
    appeals: int
    funding: str


class SummaryTable(msgspec.Struct, frozen=True):
    id: str
    title: str
    heading: str
    rows: Sequence[SummaryRow]


async def load_event_summary(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The tables, and the active filters by name."""
    params, language = page.request.query_params, page.language
    names = await load_names(params, api)
    filters = active_filters(params)
    return {
        "tables": [
            SummaryTable(
                name,
                translate(title, language),
                translate(heading, language),
                [_to_row(entry, page) for entry in page.record[name]],
            )
            for name, title, heading in TABLES
        ],
        "chips": [(chip.label, chip.value, chip.url) for chip in make_chips(params, names, language)],
        "clear_url": query_with(params, dict.fromkeys(filters)),
        "list_path": EVENT_PATH + ("?" + encode_query(filters.items()) if filters else ""),
    }


def _to_row(entry: Mapping[str, Any], page: Page) -> SummaryRow:
    funding = ""
    if entry["amount_requested"] > 0 or entry["amount_funded"] > 0:
        funding = funding_text(entry["amount_funded"], entry["amount_requested"], page.language)
    path = "" if entry["query"] is None or not entry["count"] else f"{EVENT_PATH}?{entry['query']}"
    return SummaryRow(entry["name"], path, entry["count"], entry["num_affected"], entry["appeals"], funding)


PAGES: dict[str, PageView] = {"event_summary": PageView("events/summary.html", load_event_summary)}
FORMS: dict[FormKey, PageForm] = {}
