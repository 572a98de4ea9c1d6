"""The small declaration every resource uses.

    @listing("/api/v2/permissions/", of=PermissionRecord, title=Message("Permissions"), about=Message("…"))
    async def permissions(page: Page, language: Language, catalogue: Catalogue) -> Slice[PermissionRecord]: ...

A handler takes what its parameters say: `Page`, `Language`, `Origin`, `Asked`, a `Caller` (anybody) or a `User`
(logged in, else 401), `filters` and `body` (structs), the names in braces of its path, and any service that
`app.py` provides, by type. It returns a `Slice`, a record, a `Created`, an `Instead`, None, or an `Answer` of its own.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import Any, get_type_hints

import msgspec

from fieldgate.http.negotiation.formats import Format
from fieldgate.http.request.body_parsing import (
    BODY_MEDIA_TYPES,
    DEFAULT_MAX_BODY_BYTES,
    JSON_MEDIA_TYPE,
    JSONArray,
    JSONObject,
    RawFields,
)
from fieldgate.http.request.page_parsing import PAGING_PARAMETERS
from fieldgate.http.request.validation import field_names
from fieldgate.http.response.links import Link
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.settings import Settings

Handler = Callable[..., Awaitable[Any]]
Serializer = Callable[[Sequence[bytes]], bytes]
OperationDecorator = Callable[[Handler], "Operation"]

JSON_OR_HTML = (Format.JSON, Format.HTML)


class ResponseKind(Enum):
    """What an operation answers with."""

    LIST = "list"
    RECORD = "record"
    EMPTY = "nothing"
    RAW = "ready"


class Created(msgspec.Struct, frozen=True):
    """A record that was made, and where it can be found: answered with 201."""

    record: Any
    location: Link | None = None


class PreviewResult(msgspec.Struct, frozen=True):
    """A record in place of what was asked for, such as what a write would do: answered with 200."""

    record: Any


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path: all that routing, the exchange, pages and the OpenAPI description need to know."""

    method: str
    path: str
    handler: Handler
    response_kind: ResponseKind
    title: Message
    description: Message
    tag: str
    response: Any = None
    # What its records can be instead, where a parameter asks for it; of an operation that mostly answers with another
    # status than 200, what an `Instead` holds.
    alternate_response: Any = None
    alternate_example: Any = None
    status: int = 200
    formats: tuple[Format, ...] = JSON_OR_HTML
    # Topics of db.changes the answer depends on; () for what a release fixes; None where nobody can tell.
    depends_on: tuple[str, ...] | None = None
    # Where the answer depends on the caller, and may be kept all the same: the same word for callers who see the same.
    audience_key: Callable[[Caller], str] | None = None
    # True: it is looked for right after it was written, maybe through another process; no answer is kept beyond that.
    strict_freshness: bool = False
    # Of a list: how its records, as JSON, are written in formats other than JSON and the page.
    serializers: Mapping[Format, Serializer] = {}
    # Statuses beyond those every operation can give.
    error_statuses: tuple[int, ...] = ()
    example: Any = None
    # Of an operation that writes its own answer: the type it gives, where that is no `Format`, and its schema.
    media_type: str = ""
    schema: Mapping[str, Any] = {}
    # Of an operation that takes a `WholeObject`, a `WholeList` or `Values`: what it looks like, and how long it may be.
    body_schema: Any = None
    max_body: int = DEFAULT_MAX_BODY_BYTES
    # How large a file may be, where one is taken: asked of the settings.
    file_limit: Callable[[Settings], int] | None = None
    # False: for operators and browsers, no part of the described interface.
    in_schema: bool = True
    # False: answered whatever the Host header says (health checks).
    checks_host: bool = True
    # A form of our own pages checks its CSRF token itself, as a field of the body.
    csrf_protected: bool = True
    # Never to be stored: secrets, and states of the moment.
    no_store: bool = False
    # What follows is read from the handler's signature.
    parameters: Mapping[str, Any] = {}
    query_names: frozenset[str] = frozenset()  # names a query can have
    depends_on_caller: bool = False  # the answer depends on the caller
    requires_login: bool = False  # and the caller must be logged in

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def is_negotiated(self) -> bool:
        """Whether the caller chooses the representation."""
        return self.response_kind is not ResponseKind.RAW or len(self.formats) > 1

    @property
    def is_cacheable(self) -> bool:
        """Whether a ready answer may be given again."""
        return self.depends_on is not None and (not self.depends_on_caller or self.audience_key is not None)

    @property
    def query_type(self) -> type[msgspec.Struct] | None:
        return self.parameters.get("query")

    @property
    def body_type(self) -> Any:
        """What a body looks like: a struct, or a list of them. None where none is taken."""
        is_told = self.takes_json_object or self.takes_json_array or self.takes_raw_fields
        return self.body_schema if is_told else self.parameters.get("body")

    @property
    def body_media_types(self) -> tuple[str, ...]:
        """The media types a body can have."""
        if self.body_type is None:
            return ()
        return (JSON_MEDIA_TYPE,) if self.takes_json_object or self.takes_json_array else BODY_MEDIA_TYPES

    @property
    def takes_json_object(self) -> bool:
        return bool(self.parameters.get("body") == JSONObject)

    @property
    def takes_json_array(self) -> bool:
        return bool(self.parameters.get("body") == JSONArray)

    @property
    def takes_raw_fields(self) -> bool:
        return self.parameters.get("body") is RawFields


def operation(method: str, path: str, response_kind: ResponseKind, **details: Any) -> OperationDecorator:
    """Declare any operation; the four below are what resources mostly need."""

    def declare(handler: Handler) -> Operation:
        hints = get_type_hints(handler)
        takes = {name: hints[name] for name in inspect.signature(handler).parameters}
        query = field_names(takes["query"]) if "query" in takes else frozenset[str]()
        return Operation(
            method=method,
            path=path,
            handler=handler,
            response_kind=response_kind,
            parameters=takes,
            query_names=query | {"format"} | (PAGING_PARAMETERS if response_kind is ResponseKind.LIST else frozenset()),
            depends_on_caller=Caller in takes.values() or User in takes.values(),
            requires_login=User in takes.values(),
            **details,
        )

    return declare


def get_list(path: str, **details: Any) -> OperationDecorator:
    """GET of a list: the handler returns the `Slice` for a `Page`."""
    return operation("GET", path, ResponseKind.LIST, **details)


def get(path: str, **details: Any) -> OperationDecorator:
    """GET of one record: the handler returns it, or raises `NotFound`."""
    return operation("GET", path, ResponseKind.RECORD, **details)


def post(path: str, **details: Any) -> OperationDecorator:
    """POST that makes a record: the handler returns `Created`."""
    return operation("POST", path, ResponseKind.RECORD, **{"status": 201, **details})


def patch(path: str, **details: Any) -> OperationDecorator:
    """PATCH: the handler takes what shall change as its `body`, and returns the record as it is then."""
    return operation("PATCH", path, ResponseKind.RECORD, **details)


def put(path: str, **details: Any) -> OperationDecorator:
    """PUT: the handler returns the record as it is then, in `Created` where there was none."""
    return operation("PUT", path, ResponseKind.RECORD, **details)


def delete(path: str, **details: Any) -> OperationDecorator:
    """DELETE: the handler returns None. What shall go can be told in a `body`."""
    return operation("DELETE", path, ResponseKind.EMPTY, **{"status": 204, **details})


def raw(path: str, method: str = "GET", **details: Any) -> OperationDecorator:
    """What writes its own `Answer`: pages with a design of their own, files, health checks."""
    return operation(method, path, ResponseKind.RAW, **details)
