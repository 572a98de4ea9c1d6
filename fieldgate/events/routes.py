"""`/api/v2/event/`: lists, exports, single events and deleted events."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from fieldgate.db import AsyncDatabase, ReadTransaction, WriteTransaction, now
from fieldgate.db.log import count_in_log
from fieldgate.errors import Forbidden, NotFound, ValidationError
from fieldgate.events.event_log import event_entry
from fieldgate.events.export.exporter import EventExporter
from fieldgate.events.export.file_context import FileFilters, attachment_header, file_context
from fieldgate.events.export.serializers import FORMAT_TYPES, PAGE_FORMATS, SERIALIZERS
from fieldgate.events.filters import EventFilters, check_filters
from fieldgate.events.ingest.parsing import InvalidEvent
from fieldgate.events.ingest.replace_body import MAX_BODY_BYTES, EventBody, replace_event
from fieldgate.events.model import MAX_ID
from fieldgate.events.queries import find_event, list_deleted
from fieldgate.events.reader import FLAT, LIST, MINI, EventReader
from fieldgate.events.records import detail_record
from fieldgate.events.schemas import DeletedEvent, EventDetail, EventRecord, FlatEvent, MiniEvent
from fieldgate.events.tables import TOPIC
from fieldgate.events.visibility import audience_key
from fieldgate.events.writes import SlugTaken, delete_events, load_stored, lock_events, save_events
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import AssetLimit, Created, Routes
from fieldgate.http.pagination_links import parse_integer
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.overload import caller_key
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.reference.queries import TOPIC as REFERENCE

TAG = "Events"
PATH = "/api/v2/event/"
DEPENDS_ON = (TOPIC, REFERENCE)
RESPONSE_ACTIVITY = "response-activity"
NO_RESPONSE_ACTIVITY = Message(
    "This service does not have “{name}” of IFRC GO. Events are at /api/v2/event/. "
    "All endpoints are listed at /api/v2/.",
    name=f"event/{RESPONSE_ACTIVITY}/",
)
FORMATS = (Format.JSON, Format.HTML, *PAGE_FORMATS)
routes = Routes(
    tag=TAG,
    scope=Scope.READ,
    asset_limit=AssetLimit.FREE,
    depends_on=DEPENDS_ON,
    audience_key=audience_key,
)


class DeletedFilters(msgspec.Struct):
    since: Annotated[datetime, Meta(description="Deleted at or after this time.")] | None = None


class ListFilters(FileFilters, frozen=True, kw_only=True):
    not_filters: ClassVar[frozenset[str]] = FileFilters.not_filters | {"tableau"}

    tableau: Annotated[
        bool,
        Meta(
            description="Return flat records: countries, appeals and field reports joined by commas."
        ),
    ] = False


check_filters(ListFilters)


@routes.get_list(
    PATH,
    response=EventRecord,
    alternate_response=FlatEvent,
    title=Message("Events"),
    description=Message(
        "Emergencies, newest first. Events merged into another one are not listed, but available by id."
    ),
    formats=FORMATS,
    format_types=FORMAT_TYPES,
)
def event_list(
    transaction: ReadTransaction,
    page: PageRequest,
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    query: ListFilters,
    reader: EventReader,
) -> ListResult[EventRecord]:
    viewer = reader.viewer(transaction, caller, language)
    serializer = SERIALIZERS.get(request.format)
    if serializer is None:
        shape = FLAT if query.tableau else LIST
        events = reader.page(transaction, query, viewer, page, shape)
        return ListResult(events.count, events.records)
    if serializer.ordering:
        query = msgspec.structs.replace(query, ordering=serializer.ordering)
    is_flat = query.tableau and not serializer.is_flat
    events = reader.page(transaction, query, viewer, page, FLAT if is_flat else serializer.shape)
    context = file_context(request, query, viewer.reference_data)
    return ListResult(events.count, events.records, encode_page=serializer.page_encoder(context))


@routes.get_list(
    PATH + "mini/",
    response=MiniEvent,
    title=Message("Events in short"),
    description=Message(
        "The same events as in the full list, with the few fields that menus need."
    ),
)
def event_mini_list(
    transaction: ReadTransaction,
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: EventFilters,
    reader: EventReader,
) -> ListResult[MiniEvent]:
    viewer = reader.viewer(transaction, caller, language)
    events = reader.page(transaction, query, viewer, page, MINI)
    return ListResult(events.count, events.records)


@routes.get_list(
    PATH + "deleted/",
    response=DeletedEvent,
    title=Message("Deleted events"),
    description=Message("Deleted events, oldest deletion first, for clients that keep a copy."),
)
def event_deleted_list(
    transaction: ReadTransaction,
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: DeletedFilters,
    reader: EventReader,
) -> ListResult[DeletedEvent]:
    scope = reader.viewer(transaction, caller, language).scope
    count, rows = list_deleted(transaction, query.since, scope, page)
    records = [DeletedEvent(id=id_, deleted_at=deleted_at) for id_, deleted_at in rows]
    return ListResult(count, records)


@routes.raw(
    PATH + "export/",
    title=Message("Events as a file"),
    description=Message("All matching events as one CSV, NDJSON, XLSX, GeoJSON or Atom file."),
    formats=tuple(SERIALIZERS),
    format_types=FORMAT_TYPES,
    no_store=True,
    rate_cost=20,
)
async def event_export(
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    handler_context: HandlerContext,
    query: FileFilters,
    reader: EventReader,
    exporter: EventExporter,
    database: AsyncDatabase,
) -> Response:
    viewer = await database.in_read(
        lambda transaction: reader.viewer(transaction, caller, language)
    )
    serializer = SERIALIZERS[request.format]
    context = file_context(request, query, viewer.reference_data)
    headers = [
        (b"content-type", serializer.format.content_type),
        attachment_header(query, context, serializer.format.query_value, now().date()),
        NO_STORE,
    ]
    filters = msgspec.structs.replace(query, ordering=serializer.ordering or query.ordering)
    key = caller_key(caller, handler_context.client.address)
    stream = exporter.stream(filters, viewer, serializer, context, key)
    await count_in_log(database, handler_context.logged_caller, event_entry("export"))
    return Response(200, headers, stream=stream)


@routes.get(
    PATH + "{id}/",
    response=EventDetail,
    title=Message("Event"),
    description=Message("One event by its id or slug, with all its fields."),
)
def event_detail(
    transaction: ReadTransaction, id: str, caller: Caller, language: Language, reader: EventReader
) -> EventDetail:
    if id == RESPONSE_ACTIVITY:
        raise NotFound(NO_RESPONSE_ACTIVITY)
    viewer = reader.viewer(transaction, caller, language)
    id_ = parse_integer(id)
    event = find_event(transaction, id if id_ is None else id_)
    if event is None or not viewer.scope.can_see(event.visibility, event.countries):
        raise NotFound(Message("There is no event {id}.", id=id[:50]))
    return detail_record(event, viewer)


@routes.put(
    PATH + "{id}/",
    response=EventDetail,
    title=Message("Write an event"),
    description=Message(
        "Creates the event with this id, or replaces all of it. "
        "A text is a string in the language of the request, or an object keyed by language."
    ),
    body_schema=EventBody,
    max_body=MAX_BODY_BYTES,
    scope=Scope.EVENTS_WRITE,
)
def event_replacement(
    transaction: WriteTransaction,
    id: str,
    user: User,
    language: Language,
    body: JSONObject,
    reader: EventReader,
) -> EventDetail | Created:
    id_ = _writable_id(id, user)
    if body.get("id") is not None and str(body["id"]) != str(id_):
        raise ValidationError(
            {"id": [Message("The id in the body must be the id in the URL: {id}.", id=id_)]}
        )
    lock_events(transaction)
    viewer = reader.viewer(transaction, user, language)
    stored = load_stored(transaction, [id_])
    before = stored[id_].event if id_ in stored else None
    try:
        event = replace_event(
            {**body, "id": id_}, viewer.reference_data, language, before, transaction.now
        )
    except InvalidEvent as error:
        raise ValidationError(error.by_field()) from None
    if event.parent_event == id_:
        raise ValidationError({"parent_event": [Message("An event cannot be part of itself.")]})
    try:
        is_changed = not save_events(transaction, [event], stored=stored).unchanged
    except SlugTaken as error:
        message = Message("Another event already has the slug {slug}.", slug=str(error))
        raise ValidationError({"slug": [message]}) from None
    if is_changed:
        transaction.log(user, event_entry("create" if before is None else "update", id_))
    record = detail_record(event, viewer)
    return record if before else Created(record, Link(f"{PATH}{id_}/"))


@routes.delete(
    PATH + "{id}/",
    title=Message("Delete an event"),
    description=Message(
        "Deletes the event with this id. It is then listed among the deleted events."
    ),
    scope=Scope.EVENTS_WRITE,
)
def event_deletion(transaction: WriteTransaction, id: str, user: User) -> None:
    id_ = _writable_id(id, user)
    lock_events(transaction)
    if not delete_events(transaction, [id_]):
        raise NotFound(Message("There is no event {id}.", id=id[:50]))
    transaction.log(user, event_entry("delete", id_))


def _writable_id(id: str, user: User) -> int:
    """The id in the path, if the user may write events."""
    if not user.is_superuser:
        raise Forbidden(Message("Only superusers can write events."))
    id_ = parse_integer(id)
    if id_ is None or not 0 <= id_ <= MAX_ID:
        raise NotFound(Message("There is no event {id}.", id=id[:50]))
    return id_
