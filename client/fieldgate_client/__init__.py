"""Client of Fieldgate, KoboToolbox and IFRC GO servers: complete lists, imports of forms, sharing.

from fieldgate_client import Client

client = Client("https://field.example", token="…")
for event in client.events(countries=["KEN", "Chad"], type="Flood"):
    print(event.id, event.name)

Nothing but msgspec is loaded before the first request.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fieldgate_client.async_client import AsyncClient as AsyncClient
    from fieldgate_client.client import Client as Client
    from fieldgate_client.connection import ConnectionOptions as ConnectionOptions
    from fieldgate_client.copy_state import DifferentList as DifferentList
    from fieldgate_client.errors import AmbiguousName as AmbiguousName
    from fieldgate_client.errors import ConnectionFailed as ConnectionFailed
    from fieldgate_client.errors import ExportLimit as ExportLimit
    from fieldgate_client.errors import FieldgateError as FieldgateError
    from fieldgate_client.errors import IncompleteList as IncompleteList
    from fieldgate_client.errors import InvalidRequest as InvalidRequest
    from fieldgate_client.errors import InvalidToken as InvalidToken
    from fieldgate_client.errors import MissingExtra as MissingExtra
    from fieldgate_client.errors import NotAllowed as NotAllowed
    from fieldgate_client.errors import NotAuthenticated as NotAuthenticated
    from fieldgate_client.errors import NotFound as NotFound
    from fieldgate_client.errors import RequestFailed as RequestFailed
    from fieldgate_client.errors import ServerFailed as ServerFailed
    from fieldgate_client.errors import TooManyRequests as TooManyRequests
    from fieldgate_client.errors import UnexpectedResponse as UnexpectedResponse
    from fieldgate_client.errors import UnknownName as UnknownName
    from fieldgate_client.errors import UnsupportedByServer as UnsupportedByServer
    from fieldgate_client.form_import import ImportFailed as ImportFailed
    from fieldgate_client.form_import import ImportTimeout as ImportTimeout
    from fieldgate_client.incremental import UpdateResult as UpdateResult
    from fieldgate_client.ndjson_file import FileInUse as FileInUse
    from fieldgate_client.records import Asset as Asset
    from fieldgate_client.records import Country as Country
    from fieldgate_client.records import Event as Event
    from fieldgate_client.records import Import as Import
    from fieldgate_client.records import Permission as Permission
    from fieldgate_client.retries import RetryPolicy as RetryPolicy
    from fieldgate_client.server_url import InvalidURL as InvalidURL
    from fieldgate_client.sharing_records import SharingIncomplete as SharingIncomplete
    from fieldgate_client.since import ChangesUnknown as ChangesUnknown

_MODULES = {
    "AsyncClient": "async_client",
    "ChangesUnknown": "since",
    "Client": "client",
    "ConnectionOptions": "connection",
    "DifferentList": "copy_state",
    "FileInUse": "ndjson_file",
    "ImportFailed": "form_import",
    "ImportTimeout": "form_import",
    "InvalidURL": "server_url",
    "RetryPolicy": "retries",
    "SharingIncomplete": "sharing_records",
    "UpdateResult": "incremental",
    **dict.fromkeys(("Asset", "Country", "Event", "Import", "Permission"), "records"),
    **dict.fromkeys(
        (
            "AmbiguousName",
            "ConnectionFailed",
            "ExportLimit",
            "FieldgateError",
            "IncompleteList",
            "InvalidRequest",
            "InvalidToken",
            "MissingExtra",
            "NotAllowed",
            "NotAuthenticated",
            "NotFound",
            "RequestFailed",
            "ServerFailed",
            "TooManyRequests",
            "UnexpectedResponse",
            "UnknownName",
            "UnsupportedByServer",
        ),
        "errors",
    ),
}
__all__ = [*sorted(_MODULES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
