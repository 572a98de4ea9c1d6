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
from fieldgate.http.request.body_parsing import JSON, READABLE, SMALL, Values, WholeList, WholeObject
from fieldgate.http.request.page_parsing import PAGING
from fieldgate.http.request.validation import names
from fieldgate.http.response.links import Link
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.settings import Settings

Handler = Callable[..., Awaitable[Any]]
Writer = Callable[[Sequence[bytes]], bytes]
Declare = Callable[[Handler], "Operation"]

EITHER = (Format.JSON, Format.PAGE)


class Shape(Enum):
    """What an operation answers with."""

    LIST = "list"
    RECORD = "record"
    NOTHING = "nothing"
    READY = "ready"


class Created(msgspec.Struct, frozen=True):
    """A record that was made, and where it can be found: answered with 201."""

    record: Any
    location: Link | None = None


class Instead(msgspec.Struct, frozen=True):
    """A record in place of what was asked for, such as what a write would do: answered with 200."""

    record: Any


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method on one path: all that routing, the exchange, pages and the OpenAPI description need to know."""

    method: str
    path: str
    handler: Handler
    shape: Shape
    title: Message
    about: Message
    tag: str
    of: Any = None
    # What its records can be instead, where a parameter asks for it; of an operation that mostly answers with another
    # status than 200, what an `Instead` holds.
    also: Any = None
    also_example: Any = None
    status: int = 200
    formats: tuple[Format, ...] = EITHER
    # Topics of db.changes the answer depends on; () for what a release fixes; None where nobody can tell.
    changes_with: tuple[str, ...] | None = None
    # Where the answer depends on the caller, and may be kept all the same: the same word for callers who see the same.
    seen_as: Callable[[Caller], str] | None = None
    # True: it is looked for right after it was written, maybe through another process; no answer is kept beyond that.
    seen_at_once: bool = False
    # Of a list: how its records, as JSON, are written in formats other than JSON and the page.
    writers: Mapping[Format, Writer] = {}
    # Statuses beyond those every operation can give.
    refusals: tuple[int, ...] = ()
    example: Any = None
    # Of an operation that writes its own answer: the type it gives, where that is no `Format`, and its schema.
    media_type: str = ""
    schema: Mapping[str, Any] = {}
    # Of an operation that takes a `WholeObject`, a `WholeList` or `Values`: what it looks like, and how long it may be.
    takes: Any = None
    most_bytes: int = SMALL
    # How large a file may be, where one is taken: asked of the settings.
    file_limit: Callable[[Settings], int] | None = None
    # False: for operators and browsers, no part of the described interface.
    described: bool = True
    # False: answered whatever the Host header says (health checks).
    checks_host: bool = True
    # A form of our own pages checks its CSRF token itself, as a field of the body.
    checks_forgery: bool = True
    # Never to be stored: secrets, and states of the moment.
    volatile: bool = False
    # What follows is read from the handler's signature.
    parameters: Mapping[str, Any] = {}
    known: frozenset[str] = frozenset()  # names a query can have
    asks_who: bool = False  # the answer depends on the caller
    needs_user: bool = False  # and the caller must be logged in

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def is_negotiated(self) -> bool:
        """Whether the caller chooses the representation."""
        return self.shape is not Shape.READY or len(self.formats) > 1

    @property
    def is_kept(self) -> bool:
        """Whether a ready answer may be given again."""
        return self.changes_with is not None and (not self.asks_who or self.seen_as is not None)

    @property
    def filters(self) -> type[msgspec.Struct] | None:
        return self.parameters.get("filters")

    @property
    def body(self) -> Any:
        """What a body looks like: a struct, or a list of them. None where none is taken."""
        is_told = self.takes_whole_object or self.takes_whole_list or self.takes_values
        return self.takes if is_told else self.parameters.get("body")

    @property
    def readable(self) -> tuple[str, ...]:
        """The media types a body can have."""
        if self.body is None:
            return ()
        return (JSON,) if self.takes_whole_object or self.takes_whole_list else READABLE

    @property
    def takes_whole_object(self) -> bool:
        return bool(self.parameters.get("body") == WholeObject)

    @property
    def takes_whole_list(self) -> bool:
        return bool(self.parameters.get("body") == WholeList)

    @property
    def takes_values(self) -> bool:
        return self.parameters.get("body") is Values


def operation(method: str, path: str, shape: Shape, **details: Any) -> Declare:
    """Declare any operation; the four below are what resources mostly need."""

    def declare(handler: Handler) -> Operation:
        hints = get_type_hints(handler)
        takes = {name: hints[name] for name in inspect.signature(handler).parameters}
        filters = names(takes["filters"]) if "filters" in takes else frozenset[str]()
        return Operation(
            method=method,
            path=path,
            handler=handler,
            shape=shape,
            parameters=takes,
            known=filters | {"format"} | (PAGING if shape is Shape.LIST else frozenset()),
            asks_who=Caller in takes.values() or User in takes.values(),
            needs_user=User in takes.values(),
            **details,
        )

    return declare


def listing(path: str, **details: Any) -> Declare:
    """GET of a list: the handler returns the `Slice` for a `Page`."""
    return operation("GET", path, Shape.LIST, **details)


def detail(path: str, **details: Any) -> Declare:
    """GET of one record: the handler returns it, or raises `NotFound`."""
    return operation("GET", path, Shape.RECORD, **details)


def creation(path: str, **details: Any) -> Declare:
    """POST that makes a record: the handler returns `Created`."""
    return operation("POST", path, Shape.RECORD, **{"status": 201, **details})


def change(path: str, **details: Any) -> Declare:
    """PATCH: the handler takes what shall change as its `body`, and returns the record as it is then."""
    return operation("PATCH", path, Shape.RECORD, **details)


def replacement(path: str, **details: Any) -> Declare:
    """PUT: the handler returns the record as it is then, in `Created` where there was none."""
    return operation("PUT", path, Shape.RECORD, **details)


def deletion(path: str, **details: Any) -> Declare:
    """DELETE: the handler returns None. What shall go can be told in a `body`."""
    return operation("DELETE", path, Shape.NOTHING, **{"status": 204, **details})


def ready(path: str, method: str = "GET", **details: Any) -> Declare:
    """What writes its own `Answer`: pages with a design of their own, files, health checks."""
    return operation(method, path, Shape.READY, **details)
