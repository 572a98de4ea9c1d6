"""Client of Fieldgate, KoboToolbox and IFRC GO servers: complete lists, imports of forms, sharing.

from fieldgate_client import Client

client = Client("https://field.example", token="…")
for event in client.events(countries=["KEN", "Chad"], type="Flood"):
    print(event.id, event.name)

The HTTP library is loaded with the first request, and those of data frames and files when they are used.
"""

from fieldgate_client.async_client import AsyncClient
from fieldgate_client.client import Client
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import (
    AmbiguousName,
    ConnectionFailed,
    ExportLimit,
    FieldgateError,
    IncompleteList,
    InvalidRequest,
    InvalidToken,
    MissingExtra,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RequestFailed,
    ServerFailed,
    TooManyRequests,
    UnexpectedResponse,
    UnknownName,
    UnsupportedByServer,
)
from fieldgate_client.forms import ImportFailed, ImportTimeout
from fieldgate_client.list_query import ChangesUnknown
from fieldgate_client.records import Asset, Country, Event, Import, Permission
from fieldgate_client.retries import RetryPolicy
from fieldgate_client.server_url import InvalidURL
from fieldgate_client.version import __version__

__all__ = [
    "AmbiguousName",
    "Asset",
    "AsyncClient",
    "ChangesUnknown",
    "Client",
    "ConnectionFailed",
    "ConnectionOptions",
    "Country",
    "Event",
    "ExportLimit",
    "FieldgateError",
    "Import",
    "ImportFailed",
    "ImportTimeout",
    "IncompleteList",
    "InvalidRequest",
    "InvalidToken",
    "InvalidURL",
    "MissingExtra",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "Permission",
    "RequestFailed",
    "RetryPolicy",
    "ServerFailed",
    "TooManyRequests",
    "UnexpectedResponse",
    "UnknownName",
    "UnsupportedByServer",
    "__version__",
]
