"""`/api/v2/event/`: lists, exports, single events and deleted events."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from fieldgate.db import AsyncDatabase, now
from fieldgate.db.log import count_in_log, write_log
from fieldgate.errors import Forbidden, NotFound, ValidationError
from fieldgate.events.document_templates import build_detail_template
from fieldgate.events.documents import RecordShape, to_flat, to_mini
from fieldgate.events.event_log import event_entry
from fieldgate.events.event_writer import SlugTaken
from fieldgate.events.export.exporter import EventExporter
from fieldgate.events.export.file_context import FileFilters, attachment_header, file_context
from fieldgate.events.export.serializers import FORMAT_TYPES, PAGE_FORMATS, SERIALIZERS
from fieldgate.events.ingest.parsing import InvalidEvent
from fieldgate.events.ingest.replace_body import MAX_BODY_BYTES, EventBody, replace_event
from fieldgate.events.model import MAX_ID
from fieldgate.events.schemas import DeletedEvent, EventDetail, EventRecord, FlatEvent, MiniEvent
from fieldgate.events.search.event_search import EventPage, EventSearch
from fieldgate.events.search.filters import EventFilters, check_filters
from fieldgate.events.store import EventStore
from fieldgate.events.tables import TOPIC
from fieldgate.events.visibility import audience_key, viewer_scope
from fieldgate.http.injection import HandlerContext, SeenVersions
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import AssetLimit, Created, RecordResult, Routes
from fieldgate.http.pagination_links import parse_integer
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.overload import caller_key
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.reference.store import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

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
async def event_list(
    page: PageRequest,
    request: ParsedRequest,
    caller: Caller,
    language: Language,
    query: ListFilters,
    search: EventSearch,
    versions: SeenVersions,
) -> ListResult[EventRecord]:
    serializer = SERIALIZERS.get(request.format)
    if serializer is not None and serializer.ordering:
        query = msgspec.structs.replace(query, ordering=serializer.ordering)
    shape = RecordShape.RECORD if serializer is None else serializer.shape
    found = await _find_page(page, caller, language, query, search, versions, shape)
    records = found.records
    if query.tableau and not (serializer is not None and serializer.is_flat):
        records = [to_flat(record) for record in records]
    if serializer is None:
        return ListResult(found.count, records, found.versions)
    reference_data = (await search.current(versions)).reference_data
    context = await file_context(request, query, reference_data)
    return ListResult(found.count, records, found.versions, serializer.page_encoder(context))


@routes.get_list(
    PATH + "mini/",
    response=MiniEvent,
    title=Message("Events in short"),
    description=Message(
        "The same events as in the full list, with the few fields that menus need."
    ),
)
async def event_mini_list(
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: EventFilters,
    search: EventSearch,
    versions: SeenVersions,
) -> ListResult[MiniEvent]:
    found = await _find_page(page, caller, language, query, search, versions)
    return ListResult(found.count, [to_mini(record) for record in found.records], found.versions)


@routes.get_list(
    PATH + "deleted/",
    response=DeletedEvent,
    title=Message("Deleted events"),
    description=Message("Deleted events, oldest deletion first, for clients that keep a copy."),
)
async def event_deleted_list(
    page: PageRequest,
    caller: Caller,
    query: DeletedFilters,
    store: EventStore,
    reference: ReferenceStore,
) -> ListResult[DeletedEvent]:
    scope = viewer_scope(caller, await reference.current())
    count, rows = await store.list_deleted(query.since, scope, page)
    return ListResult(count, [DeletedEvent(id=row.id, deleted_at=row.deleted_at) for row in rows])


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
    handler_context: HandlerContext,
    query: FileFilters,
    reference: ReferenceStore,
    exporter: EventExporter,
    database: AsyncDatabase,
) -> Response:
    reference_data = await reference.current()
    scope = viewer_scope(caller, reference_data)
    serializer = SERIALIZERS[request.format]
    context = await file_context(request, query, reference_data)
    headers = [
        (b"content-type", serializer.format.content_type),
        attachment_header(query, context, serializer.format.query_value, now().date()),
        NO_STORE,
    ]
    filters = msgspec.structs.replace(query, ordering=serializer.ordering or query.ordering)
    stream = exporter.stream(
        filters, scope, serializer, context, caller_key(caller, handler_context.client.address)
    )
    await count_in_log(database, handler_context.logged_caller, event_entry("export"))
    return Response(200, headers, stream=stream)


@routes.get(
    PATH + "{id}/",
    response=EventDetail,
    title=Message("Event"),
    description=Message("One event by its id or slug, with all its fields."),
)
async def event_detail(
    id: str,
    caller: Caller,
    language: Language,
    store: EventStore,
    search: EventSearch,
    versions: SeenVersions,
) -> RecordResult:
    state = await search.current(versions)
    scope = viewer_scope(caller, state.reference_data)
    id_ = parse_integer(id)
    found = await store.find(id if id_ is None else id_)
    if id == RESPONSE_ACTIVITY:
        raise NotFound(NO_RESPONSE_ACTIVITY)
    if found is None or not scope.can_see(found.event.visibility, found.event.countries):
        raise NotFound(Message("There is no event {id}.", id=id[:50]))
    if found.version > state.index_version.version:  # written since, maybe with new reference data
        state = await search.refresh()
    record = state.render(build_detail_template(found.event), language, scope)
    return RecordResult(msgspec.Raw(record), state.versions)


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
async def event_replacement(
    id: str,
    user: User,
    language: Language,
    body: JSONObject,
    store: EventStore,
    search: EventSearch,
) -> msgspec.Raw | Created:
    id_ = _writable_id(id, user)
    if body.get("id") is not None and str(body["id"]) != str(id_):
        raise ValidationError(
            {"id": [Message("The id in the body must be the id in the URL: {id}.", id=id_)]}
        )
    state = await search.state_for_writes()
    try:
        async with store.writer() as writer:
            before = (await writer.load([id_])).get(id_)
            event = replace_event(
                {**body, "id": id_}, state.reference_data, language, before, now()
            )
            if event.parent_event == id_:
                raise ValidationError(
                    {"parent_event": [Message("An event cannot be part of itself.")]}
                )
            if not (await writer.upsert([event])).unchanged:
                entry = event_entry("create" if before is None else "update", id_)
                await write_log(writer.connection, user, entry)
    except InvalidEvent as error:
        raise ValidationError(error.by_field()) from None
    except SlugTaken as error:
        message = Message("Another event already has the slug {slug}.", slug=str(error))
        raise ValidationError({"slug": [message]}) from None
    record = msgspec.Raw(
        state.render(
            build_detail_template(event), language, viewer_scope(user, state.reference_data)
        )
    )
    return record if before else Created(record, Link(f"{PATH}{id_}/"))


@routes.delete(
    PATH + "{id}/",
    title=Message("Delete an event"),
    description=Message(
        "Deletes the event with this id. It is then listed among the deleted events."
    ),
    scope=Scope.EVENTS_WRITE,
)
async def event_deletion(id: str, user: User, store: EventStore) -> None:
    id_ = _writable_id(id, user)
    async with store.writer() as writer:
        if not await writer.delete([id_]):
            raise NotFound(Message("There is no event {id}.", id=id[:50]))
        await write_log(writer.connection, user, event_entry("delete", id_))


def _writable_id(id: str, user: User) -> int:
    """The id in the path, if the user may write events."""
    if not user.is_superuser:
        raise Forbidden(Message("Only superusers can write events."))
    id_ = parse_integer(id)
    if id_ is None or not 0 <= id_ <= MAX_ID:
        raise NotFound(Message("There is no event {id}.", id=id[:50]))
    return id_


async def _find_page(
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: EventFilters,
    search: EventSearch,
    versions: SeenVersions,
    shape: RecordShape = RecordShape.RECORD,
) -> EventPage:
    scope = viewer_scope(caller, (await search.current(versions)).reference_data)
    return await search.find(query, scope, language, page, shape, versions)
