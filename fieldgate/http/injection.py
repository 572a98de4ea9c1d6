"""How a handler is called: each of its parameters gets its value by type or by name."""

from collections.abc import Callable, Mapping
from typing import Any, NewType

import msgspec

from fieldgate.http.operations import Operation
from fieldgate.http.request.body_parsing import WholeList, WholeObject
from fieldgate.http.request.hosts import Origin
from fieldgate.http.request.request_parsing import Asked
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller, User
from fieldgate.pagination import Page


class Client(msgspec.Struct, frozen=True):
    """The caller's machine, and the one that handed the request to us: the same, unless a proxy stands between."""

    address: str
    peer: str


# The versions of the topics that an operation changes with, as they were when the request came; () where nobody asked.
Versions = NewType("Versions", tuple[int, ...])


class Exchange(msgspec.Struct):
    """One request, read and with its caller known: what handlers draw from."""

    method: str
    asked: Asked
    caller: Caller
    client: Client
    headers: Mapping[bytes, bytes]
    body: msgspec.Struct | WholeObject | WholeList | None = None
    versions: Versions = Versions(())


Take = Callable[[Exchange], Any]

_BY_TYPE: dict[Any, Take] = {
    Page: lambda exchange: exchange.asked.page,
    Language: lambda exchange: exchange.asked.language,
    Origin: lambda exchange: exchange.asked.origin,
    Asked: lambda exchange: exchange.asked,
    Caller: lambda exchange: exchange.caller,
    User: lambda exchange: exchange.caller,
    Client: lambda exchange: exchange.client,
    Versions: lambda exchange: exchange.versions,
    Exchange: lambda exchange: exchange,
}


def takes(operation: Operation, services: Mapping[type, object]) -> dict[str, Take]:
    """Where each parameter of the handler comes from. What nobody provides is an error at start-up."""
    if operation.changes_with is not None:
        _refuse_to_keep_what_is_not_for_all(operation)
    return {name: _take(operation, name, kind, services) for name, kind in operation.parameters.items()}


def _take(operation: Operation, name: str, kind: Any, services: Mapping[type, object]) -> Take:
    if name == "filters":
        return lambda exchange: exchange.asked.filters
    if name == "body":
        return lambda exchange: exchange.body
    if f"{{{name}}}" in operation.path:
        return lambda exchange: exchange.asked.path_values[name]
    if kind in _BY_TYPE:
        return _BY_TYPE[kind]
    if kind in services:
        return lambda _: services[kind]
    raise LookupError(f"{operation.name}: nobody provides {name}: {kind}")


def _refuse_to_keep_what_is_not_for_all(operation: Operation) -> None:
    """A kept answer goes to everybody who asks the same: it must not be made from who asks, or be a write."""
    personal = {Exchange, Client} & set(operation.parameters.values())
    if operation.method != "GET" or personal:
        raise LookupError(f"{operation.name}: an answer that is kept cannot depend on {personal or operation.method}")
