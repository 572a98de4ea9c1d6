"""`/api/v2/event/summary/`: figures of all matching events, for maps, charts and totals."""

from typing import Any

from pyroaring import BitMap

from fieldgate.db import Snapshot
from fieldgate.events.routes import DEPENDS_ON, PATH, TAG, ListFilters
from fieldgate.events.search.event_search import EventSearch, EventState
from fieldgate.events.summary.entry_queries import EntryQueries
from fieldgate.events.summary.schemas import EventSummary
from fieldgate.events.summary.summarize import summarize
from fieldgate.events.visibility import ViewerScope, audience_key, viewer_scope
from fieldgate.http.injection import SeenVersions
from fieldgate.http.operations import VersionedRecord, get
from fieldgate.http.request.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.overload import run_in_thread_if

SUMMARIZE_IN_THREAD_THRESHOLD = 5_000  # more events would block the event loop for too long

_FIGURES_EXAMPLE: dict[str, Any] = {
    "count": 1,
    "num_affected": 12000,
    "events_with_num_affected": 1,
    "appeals": 1,
    "amount_requested": 500000.0,
    "amount_funded": 205000.0,
}
_EXAMPLE = {
    **_FIGURES_EXAMPLE,
    "query": "search=floods",
    "interval": "month",
    "periods": [
        {
            **_FIGURES_EXAMPLE,
            "start": "2026-07-01",
            "end": "2026-07-31",
            "name": "July 2026",
            "query": "disaster_start_date__gte=2026-07-01&disaster_start_date__lt=2026-08-01&search=floods",
        }
    ],
    "countries": [
        {
            **_FIGURES_EXAMPLE,
            "id": 123,
            "iso": "NP",
            "iso3": "NPL",
            "region": 2,
            "name": "Nepal",
            "query": "countries__in=123&search=floods",
        }
    ],
    "regions": [{**_FIGURES_EXAMPLE, "id": 2, "name": "Asia Pacific", "query": "regions__in=2&search=floods"}],
    "types": [{**_FIGURES_EXAMPLE, "id": 12, "name": "Flood", "query": "dtype__in=12&search=floods"}],
    "severities": [{**_FIGURES_EXAMPLE, "id": 1, "name": "Orange", "query": "ifrc_severity_level__in=1&search=floods"}],
}


@get(
    PATH + "summary/",
    response=EventSummary,
    title=Message("Emergencies in figures"),
    description=Message(
        "How many events match the filters of the list, how many people they affect and how their appeals are funded: "
        "in total, and by month or year, country, region, type and severity."
    ),
    tag=TAG,
    depends_on=DEPENDS_ON,
    audience_key=audience_key,
    example=_EXAMPLE,
)
async def event_summary(
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    query: ListFilters,
    search: EventSearch,
    versions: SeenVersions,
) -> VersionedRecord:
    scope = viewer_scope(caller, (await search.current(versions)).reference_data)
    state, selection = await search.read(lambda state, snapshot: _select(state, query, scope, snapshot), versions)
    queries = EntryQueries(request.query_params, query, state.reference_data)
    is_large = len(selection) > SUMMARIZE_IN_THREAD_THRESHOLD
    summary = await run_in_thread_if(is_large, summarize, state.context, selection, queries, language)
    return VersionedRecord(summary, state.versions)


async def _select(
    state: EventState, query: ListFilters, scope: ViewerScope, snapshot: Snapshot | None
) -> tuple[EventState, BitMap]:
    return state, await state.selection(query, scope, snapshot)


OPERATIONS = (event_summary,)
