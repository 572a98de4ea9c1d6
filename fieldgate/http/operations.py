"""Operations, and `Routes`, which declares those of a module.

    routes = Routes(tag="Permissions", scope=Scope.READ, asset_limit=AssetLimit.FREE, depends_on=())

    @routes.get_list("/api/v2/permissions/", response=PermissionRecord, title=Message("Permissions"), ...)
    async def permissions(page: PageRequest, language: Language) -> ListResult[PermissionRecord]: ...

A handler with a transaction as a parameter is a plain function, which runs in a thread; others are coroutine functions.
It receives its arguments by type or name: `PageRequest`, `Language`, `BaseURL`, `ParsedRequest`, a `Caller`
(anonymous or not) or a `User` (401 if anonymous), the structs `query` and `body`, the path parameters, and any service
that `app.py` provides. It returns a `ListResult`, a record, `RecordResult`, `Created`, `PreviewResult`, None, or a
`Response`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, TypedDict, TypeVar, Unpack, get_type_hints

import msgspec

from fieldgate.errors import Header
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.pagination_links import PAGING_PARAMETERS
from fieldgate.http.request.body_parsing import (
    BODY_MEDIA_TYPES,
    DEFAULT_MAX_BODY_BYTES,
    JSON_MEDIA_TYPE,
    JSONArray,
    JSONObject,
    RawFields,
)
from fieldgate.http.request.validation import field_names
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.settings import Settings

Handler = Callable[..., Any]  # a coroutine function, or a plain one that runs in a transaction
OperationDecorator = Callable[[Handler], "Operation"]

JSON_OR_HTML = (Format.JSON, Format.HTML)
_WELL_KNOWN_MEDIA_TYPES = ("text/", JSON_MEDIA_TYPE, Format.BYTES.media_type)


class ResponseKind(Enum):
    """What a handler returns."""

    LIST = "list"
    RECORD = "record"
    EMPTY = "empty"
    RAW = "raw"  # a `Response` that the handler builds itself


class BodyKind(Enum):
    """How a request body is parsed."""

    NONE = "none"
    STRUCT = "struct"  # JSON or a form, validated as a struct
    RAW_FIELDS = "raw fields"  # JSON or a form, as it was sent
    JSON_OBJECT = "JSON object"
    JSON_ARRAY = "JSON array"


class AssetLimit(Enum):
    """How an operation treats a token that is limited to some assets."""

    REFUSED = "refused"
    FREE = "free"  # it is not about assets; only for reading
    PATH = "path"  # the path has the uid of the asset
    HANDLER = "handler"  # the handler leaves out other assets


class Created(msgspec.Struct, frozen=True):
    """A new record and its URL: status 201."""

    record: Any
    location: Link | None = None


class RecordResult(msgspec.Struct, frozen=True):
    """A record with more than itself.

    `versions` are those of the data it was read at: the handler may have answered from an earlier state.
    """

    record: Any
    versions: tuple[int, ...] | None = None
    headers: Sequence[Header] = ()


class PreviewResult(msgspec.Struct, frozen=True):
    """A record returned in place of the usual response, such as the result of a dry run: status 200."""

    record: Any


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests an operation handles."""

    method: str
    path: str
    checks_host: bool = True
    requires_login: bool
    scope: Scope
    asset_limit: AssetLimit


class RequestBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body an operation accepts."""

    kind: BodyKind
    type: Any  # a struct or a list of structs; None without a body
    max_body: int = DEFAULT_MAX_BODY_BYTES
    file_limit: Callable[[Settings], int] | None = None
    csrf_protected: bool = True

    @property
    def media_types(self) -> tuple[str, ...]:
        if self.kind is BodyKind.NONE:
            return ()
        is_json = self.kind in (BodyKind.JSON_OBJECT, BodyKind.JSON_ARRAY)
        return (JSON_MEDIA_TYPE,) if is_json else BODY_MEDIA_TYPES


class ResponseSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What an operation returns, and in which formats."""

    kind: ResponseKind
    type: Any
    alternate_type: Any
    refusal_type: Any
    error_types: Mapping[int, Any] = {}
    status: int = 200
    formats: tuple[Format, ...]
    format_types: Mapping[Format, Any] = {}
    media_type: str = ""
    alternate_media_type: str = ""
    schema: Mapping[str, Any] = {}
    headers: tuple[str, ...]

    @property
    def is_negotiated(self) -> bool:
        """Whether the caller chooses the format."""
        return self.kind is not ResponseKind.RAW or len(self.formats) > 1

    @property
    def media_types(self) -> list[str]:
        if not self.media_type:
            return [each.media_type for each in self.formats]
        return [
            self.media_type,
            *([self.alternate_media_type] if self.alternate_media_type else []),
        ]

    @property
    def offers_bytes(self) -> bool:
        """Whether the response is a file of a media type that clients may not know, so they can get it as bytes."""
        is_file = self.kind is ResponseKind.RAW and self.type is None
        return is_file and not any(
            each.startswith(_WELL_KNOWN_MEDIA_TYPES) for each in self.media_types
        )


class CachePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a response depends on, and so how long it may be reused."""

    depends_on: tuple[str, ...] | None
    depends_on_caller: bool
    audience_key: Callable[[Caller], str] | None = None
    no_store: bool = False

    @property
    def is_cacheable(self) -> bool:
        """Whether the response cache may hold responses."""
        return self.depends_on is not None and (
            not self.depends_on_caller or self.audience_key is not None
        )


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What people read about an operation: in OpenAPI, in OPTIONS responses and on HTML pages."""

    title: Message
    text: Message
    tag: str
    error_statuses: tuple[int, ...] = ()
    in_schema: bool = True


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path."""

    handler: Handler
    parameters: Mapping[str, Any]  # name and type of the handler's parameters
    query_type: type[msgspec.Struct] | None
    query_names: frozenset[str]  # the known query parameters
    route: Route
    body: RequestBody
    response: ResponseSpec
    caching: CachePolicy
    description: Description
    rate_cost: float = 1.0  # how much of a rate limit a request uses; 0: it is not limited
    is_costly: bool = False
    is_simple_page: bool = False
    writes: bool

    @property
    def name(self) -> str:
        return self.handler.__name__


class Options(TypedDict, total=False):
    """Options of an operation. `Routes` can set them for all operations of a module.

    Every operation needs `title`, `description` and `tag`, and those that return records `response`.
    """

    title: Message
    description: Message
    tag: str
    response: Any  # the type of the response
    formats: tuple[Format, ...]
    # Statuses beyond those that follow from the method, the path and the body.
    error_statuses: tuple[int, ...]
    # False: not part of the documented API (pages and other endpoints for browsers).
    in_schema: bool
    # False: any Host header is accepted (health checks).
    checks_host: bool
    # True: responses to GET are sent with `Cache-Control: no-store`, as those to other methods always are.
    no_store: bool
    # How much of a rate limit a request uses, 1 if not given; 0: it is not limited.
    rate_cost: float
    # True: a GET whose work grows with what is stored. It uses more of a rate limit, and callers take turns.
    is_costly: bool
    # What a token needs. Every write declares its own.
    scope: Scope
    # How a token is treated that is limited to some assets. If not given, it is refused.
    asset_limit: AssetLimit
    # The data topics a response to GET depends on; () if it only changes with a release; None: it is never cached.
    depends_on: tuple[str, ...] | None
    # Cache audience key: callers with the same key see the same data. Needed to cache what depends on the caller.
    audience_key: Callable[[Caller], str] | None
    # The types of responses in other formats that are JSON, such as GeoJSON.
    format_types: Mapping[Format, Any]
    # The types of errors with more fields than `detail`, by status.
    error_types: Mapping[int, Any]
    # A second record type: that of a `PreviewResult`, or one that a query parameter selects.
    alternate_response: Any
    # True: a page without records, such as a form. It costs as much as other requests, and does not wait for a turn.
    is_simple_page: bool
    # True: a GET that writes, as clients of other systems expect it.
    writes: bool
    status: int
    # Headers of the response beyond those of every operation, as OpenAPI names them.
    response_headers: tuple[str, ...]
    # The type of a body with status 400 that is neither a detail nor errors of fields.
    refusal: Any
    # The documented type of a body that is a `JSONObject`, `JSONArray` or `RawFields`.
    body_schema: Any
    max_body: int  # bytes
    # The maximum size of an uploaded file in bytes, from the settings.
    file_limit: Callable[[Settings], int] | None
    # False: the handler checks the CSRF token itself, as a form field.
    csrf_protected: bool
    # Media type and schema of a response that is not one of the formats.
    media_type: str
    alternate_media_type: str
    schema: Mapping[str, Any]


class Routes:
    """The operations of a module in the order of their declaration, and the options that they share.

    Each method is a decorator of a handler.
    """

    def __init__(self, **defaults: Unpack[Options]) -> None:
        self._defaults = defaults
        self._operations: list[Operation] = []

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    def get_list(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """GET of a list: the handler returns a `ListResult` for a `PageRequest`."""
        return self._declare("GET", path, ResponseKind.LIST, **options)

    def get(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """GET of one record: the handler returns it or raises `NotFound`."""
        return self._declare("GET", path, ResponseKind.RECORD, **options)

    def post(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """POST that creates a record: the handler returns `Created`. With `status=200` it returns any record."""
        options.setdefault("status", 201)
        return self._declare("POST", path, ResponseKind.RECORD, **options)

    def patch(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """PATCH: the `body` holds the fields to change; the handler returns the changed record."""
        return self._declare("PATCH", path, ResponseKind.RECORD, **options)

    def put(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """PUT: the handler returns the saved record, in `Created` if it is new."""
        return self._declare("PUT", path, ResponseKind.RECORD, **options)

    def delete(self, path: str, **options: Unpack[Options]) -> OperationDecorator:
        """DELETE: the handler returns None. A `body` can select what is deleted."""
        options.setdefault("status", 204)
        return self._declare("DELETE", path, ResponseKind.EMPTY, **options)

    def raw(self, path: str, method: str = "GET", **options: Unpack[Options]) -> OperationDecorator:
        """The handler builds the `Response` itself: pages with their own layout, files, health checks."""
        return self._declare(method, path, ResponseKind.RAW, **options)

    def _declare(
        self, method: str, path: str, kind: ResponseKind, **given: Unpack[Options]
    ) -> OperationDecorator:
        options: Options = {**self._defaults, **given}

        def declare(handler: Handler) -> Operation:
            operation = _make_operation(method, path, kind, handler, options)
            self._operations.append(operation)
            return operation

        return declare


Part = TypeVar("Part", bound=msgspec.Struct)


def _make_operation(
    method: str, path: str, kind: ResponseKind, handler: Handler, options: Options
) -> Operation:
    def part(of: type[Part], **derived: Any) -> Part:
        """A part of the operation: options have the names of its fields, the other fields follow from options."""
        return of(
            **{name: value for name, value in options.items() if name in of.__struct_fields__}
            | derived
        )

    hints = get_type_hints(handler)
    parameters = {name: hints[name] for name in inspect.signature(handler).parameters}
    query_type, body_type = parameters.get("query"), parameters.get("body")
    names = field_names(query_type) if query_type else frozenset[str]()
    paging = PAGING_PARAMETERS if kind is ResponseKind.LIST else frozenset[str]()
    body_kind = _body_kind(body_type)
    is_declared = body_kind in (BodyKind.NONE, BodyKind.STRUCT)
    is_cached = method == "GET" and not options.get("no_store")
    return part(
        Operation,
        handler=handler,
        parameters=parameters,
        query_type=query_type,
        query_names=names | paging | {"format"},
        route=part(
            Route,
            method=method,
            path=path,
            requires_login=User in parameters.values(),
            scope=_scope(method, path, options),
            asset_limit=_asset_limit(method, path, options),
        ),
        body=part(
            RequestBody, kind=body_kind, type=body_type if is_declared else options["body_schema"]
        ),
        response=part(
            ResponseSpec,
            kind=kind,
            type=options.get("response"),
            alternate_type=options.get("alternate_response"),
            refusal_type=options.get("refusal"),
            formats=options.get(
                "formats", (Format.JSON,) if kind is ResponseKind.RAW else JSON_OR_HTML
            ),
            headers=options.get("response_headers", ()),
        ),
        caching=part(
            CachePolicy,
            depends_on=options.get("depends_on") if is_cached else None,
            depends_on_caller=not {Caller, User}.isdisjoint(parameters.values()),
        ),
        description=part(Description, text=options["description"]),
        writes=options.get("writes", method != "GET"),
    )


def _scope(method: str, path: str, options: Options) -> Scope:
    scope = options.get("scope")
    if scope is None or (scope is Scope.READ and options.get("writes", method != "GET")):
        raise TypeError(f"{method} {path} does not declare which scope a token needs")
    return scope


def _asset_limit(method: str, path: str, options: Options) -> AssetLimit:
    limit = options.get("asset_limit", AssetLimit.REFUSED)
    if limit is AssetLimit.FREE and options.get("writes", method != "GET"):
        return AssetLimit.REFUSED
    return AssetLimit.REFUSED if limit is AssetLimit.PATH and "{uid}" not in path else limit


def _body_kind(annotation: Any) -> BodyKind:
    if annotation is None:
        return BodyKind.NONE
    if annotation is RawFields:
        return BodyKind.RAW_FIELDS
    if annotation == JSONObject:
        return BodyKind.JSON_OBJECT
    return BodyKind.JSON_ARRAY if annotation == JSONArray else BodyKind.STRUCT
