"""`/api/v2/event/summary/`: figures of all matching events, for maps, charts and totals."""

from fieldgate.db import ReadTransaction
from fieldgate.events.reader import EventReader
from fieldgate.events.routes import DEPENDS_ON, PATH, TAG, ListFilters
from fieldgate.events.summary.entry_queries import EntryQueries
from fieldgate.events.summary.schemas import EventSummary
from fieldgate.events.summary.summarize import summarize
from fieldgate.events.summary.totals import EventTotals
from fieldgate.events.visibility import audience_key
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope

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
def event_summary(
    transaction: ReadTransaction,
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    query: ListFilters,
    reader: EventReader,
    totals: EventTotals,
) -> EventSummary:
    viewer = reader.viewer(transaction, caller, language)
    queries = EntryQueries(request.query_params, query, viewer.reference_data)
    return summarize(totals.read(transaction, query, viewer), queries, viewer)
