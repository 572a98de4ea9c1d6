"""How a handler is called: each of its parameters gets its value by type or by name."""

from collections.abc import Callable, Mapping
from typing import Any, NewType

import msgspec

from fieldgate.http.operations import Operation
from fieldgate.http.request.body_parsing import JSONArray, JSONObject
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request.request_parsing import ParsedRequest
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest


class ClientAddress(msgspec.Struct, frozen=True):
    """The caller's machine, and the one that handed the request to us: the same, unless a proxy stands between."""

    address: str
    peer: str


# The versions of the topics that an operation changes with, as they were when the request came; () where nobody asked.
SeenVersions = NewType("SeenVersions", tuple[int, ...])


class HandlerContext(msgspec.Struct):
    """One request, read and with its caller known: what handlers draw from."""

    method: str
    request: ParsedRequest
    caller: Caller
    client: ClientAddress
    headers: Mapping[bytes, bytes]
    body: msgspec.Struct | JSONObject | JSONArray | None = None
    versions: SeenVersions = SeenVersions(())


ParameterResolver = Callable[[HandlerContext], Any]

_RESOLVERS_BY_TYPE: dict[Any, ParameterResolver] = {
    PageRequest: lambda exchange: exchange.request.page,
    Language: lambda exchange: exchange.request.language,
    BaseURL: lambda exchange: exchange.request.base_url,
    ParsedRequest: lambda exchange: exchange.request,
    Caller: lambda exchange: exchange.caller,
    User: lambda exchange: exchange.caller,
    ClientAddress: lambda exchange: exchange.client,
    SeenVersions: lambda exchange: exchange.versions,
    HandlerContext: lambda exchange: exchange,
}


def resolve_parameters(operation: Operation, services: Mapping[type, object]) -> dict[str, ParameterResolver]:
    """Where each parameter of the handler comes from. What nobody provides is an error at start-up."""
    if operation.caching.depends_on is not None:
        _check_cacheable(operation)
    return {name: _resolve_parameter(operation, name, kind, services) for name, kind in operation.parameters.items()}


def _resolve_parameter(
    operation: Operation, name: str, kind: Any, services: Mapping[type, object]
) -> ParameterResolver:
    if name == "query":
        return lambda exchange: exchange.request.query
    if name == "body":
        return lambda exchange: exchange.body
    if f"{{{name}}}" in operation.route.path:
        return lambda exchange: exchange.request.path_values[name]
    if kind in _RESOLVERS_BY_TYPE:
        return _RESOLVERS_BY_TYPE[kind]
    if kind in services:
        return lambda _: services[kind]
    raise LookupError(f"{operation.name}: nobody provides {name}: {kind}")


def _check_cacheable(operation: Operation) -> None:
    """A kept answer goes to everybody who asks the same: it must not be made from who asks, or be a write."""
    personal = {HandlerContext, ClientAddress} & set(operation.parameters.values())
    if operation.route.method != "GET" or personal:
        raise LookupError(
            f"{operation.name}: an answer that is kept cannot depend on {personal or operation.route.method}"
        )
