"""Handler arguments: each parameter gets its value by type or by name."""

from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import Any, NewType, Protocol

import msgspec

from fieldgate.http.disconnects import Client
from fieldgate.http.operations import Operation
from fieldgate.http.request.body_parsing import JSONArray, JSONObject
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller, Origin, User
from fieldgate.pagination import PageRequest


class ClientAddress(msgspec.Struct, frozen=True):
    """The client's IP address, and the peer of the connection: another one if there is a trusted proxy."""

    address: str
    peer: str


# The versions of the topics an operation depends on, when the request arrived; () if it is not cacheable.
SeenVersions = NewType("SeenVersions", tuple[int, ...])


class ShownForm(Protocol):
    """The state of an HTML form on a page that is the response to it."""

    @property
    def status(self) -> int: ...


NO_DATA_VERSION = b"none"


class HandlerContext(msgspec.Struct):
    """A parsed request with its caller: the source of handler arguments."""

    method: str
    request: ParsedRequest
    caller: Caller
    client: ClientAddress
    headers: Mapping[bytes, bytes]
    receive: Client  # tells when the client disconnects, once the body was read
    body: msgspec.Struct | JSONObject | JSONArray | None = None
    form: "ShownForm | None" = None  # of a page that is shown again after its form was sent
    versions: SeenVersions = SeenVersions(())
    data_version: bytes = (
        NO_DATA_VERSION  # of a list: equal on two pages if nothing changed in between
    )
    request_id: bytes = b""
    transaction: Any = None  # of a handler that runs in one
    topics: tuple[str, ...] = ()  # that a response depends on which is kept
    read_versions: tuple[int, ...] | None = None  # of these topics, as the transaction sees them

    @property
    def origin(self) -> Origin:
        """Where the request came from, for the log. Anonymous callers do not carry it: most requests are not logged."""
        return Origin(self.client.address, self.headers, self.request_id, self.method)

    @property
    def logged_caller(self) -> Caller:
        """The caller with an origin, anonymous or not."""
        return Caller(origin=self.origin) if self.caller.is_anonymous else self.caller


ParameterResolver = Callable[[HandlerContext], Any]


class Transaction(Protocol):
    """What a handler reads from and writes to."""

    def versions(self, *topics: str) -> tuple[int, ...]: ...


# Runs a function in a transaction, in a thread. By the type of the parameter that gets the transaction.
TransactionRunner = Callable[[Callable[[Any], Any]], Awaitable[Any]]
TransactionRunners = Mapping[type, TransactionRunner]

_RESOLVERS_BY_TYPE: dict[Any, ParameterResolver] = {
    PageRequest: attrgetter("request.page"),
    Language: attrgetter("request.language"),
    BaseURL: attrgetter("request.base_url"),
    ParsedRequest: attrgetter("request"),
    Caller: attrgetter("caller"),
    User: attrgetter("caller"),
    ClientAddress: attrgetter("client"),
    SeenVersions: attrgetter("versions"),
    HandlerContext: lambda context: context,
}


def resolve_parameters(
    operation: Operation, services: Mapping[type, object], runners: TransactionRunners
) -> dict[str, ParameterResolver]:
    """Map each parameter of a handler to its source. A parameter without one is an error at start-up."""
    if operation.caching.depends_on is not None:
        _check_cacheable(operation)
    return {
        name: (
            attrgetter("transaction")
            if kind in runners
            else _resolve_parameter(operation, name, kind, services)
        )
        for name, kind in operation.parameters.items()
    }


def _resolve_parameter(
    operation: Operation, name: str, kind: Any, services: Mapping[type, object]
) -> ParameterResolver:
    if name == "query":
        return attrgetter("request.query")
    if name == "body":
        return attrgetter("body")
    if f"{{{name}}}" in operation.route.path:
        return lambda context: context.request.path_values[name]
    if kind in _RESOLVERS_BY_TYPE:
        return _RESOLVERS_BY_TYPE[kind]
    if kind in services:
        return lambda _: services[kind]
    raise LookupError(f"{operation.name}: no service provides {name}: {kind}")


def _check_cacheable(operation: Operation) -> None:
    """A cached response is shared between callers: it must not depend on the client."""
    personal = {HandlerContext, ClientAddress} & set(operation.parameters.values())
    if personal:
        raise LookupError(f"{operation.name}: a cached response cannot depend on {personal}")
