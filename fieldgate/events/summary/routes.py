"""`/api/v2/event/summary/`: figures of all matching events, for maps, charts and totals."""

from pyroaring import BitMap

from fieldgate.db import Snapshot
from fieldgate.events.routes import DEPENDS_ON, PATH, TAG, ListFilters
from fieldgate.events.search.event_search import EventSearch, EventState
from fieldgate.events.summary.entry_queries import EntryQueries
from fieldgate.events.summary.schemas import EventSummary
from fieldgate.events.summary.summarize import summarize
from fieldgate.events.visibility import ViewerScope, audience_key, viewer_scope
from fieldgate.http.injection import SeenVersions
from fieldgate.http.operations import AssetLimit, RecordResult, Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope
from fieldgate.overload import run_in_thread_if

SUMMARIZE_IN_THREAD_THRESHOLD = 5_000  # more events would block the event loop for too long
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.FREE)


@routes.get(
    PATH + "summary/",
    response=EventSummary,
    title=Message("Emergencies in figures"),
    description=Message(
        "How many events match the filters of the list, how many people they affect and how their appeals are funded: "
        "in total, and by month or year, country, region, type and severity."
    ),
    depends_on=DEPENDS_ON,
    audience_key=audience_key,
    is_costly=True,
)
async def event_summary(
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    query: ListFilters,
    search: EventSearch,
    versions: SeenVersions,
) -> RecordResult:
    scope = viewer_scope(caller, (await search.current(versions)).reference_data)
    state, selection = await search.read(
        lambda state, snapshot: _select(state, query, scope, snapshot), versions
    )
    queries = EntryQueries(request.query_params, query, state.reference_data)
    is_large = len(selection) > SUMMARIZE_IN_THREAD_THRESHOLD
    summary = await run_in_thread_if(
        is_large, summarize, state.context, selection, queries, language
    )
    return RecordResult(summary, state.versions)


async def _select(
    state: EventState, query: ListFilters, scope: ViewerScope, snapshot: Snapshot | None
) -> tuple[EventState, BitMap]:
    return state, await state.selection(query, scope, snapshot)
