"""Call operations of the API from the same process, as the caller of the current request.

HTML pages are clients of the API. What a page shows or changes goes through the same parsing, authorization and
validation as a request of a program; only the network and the authentication are left out.

    summary = await api.get("/api/v2/event/summary/", {"regions__in": "0"})
    asset = await api.call("PATCH", "/api/v2/assets/aBc/", json={"name": "New name"})
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from fieldgate.errors import Problem
from fieldgate.http.csrf import CSRF_HEADER
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import quote_path
from fieldgate.http.negotiation import Format
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message

_BAD_REQUEST = 400


class InternalCall(msgspec.Struct, frozen=True):
    """A request that a page makes on behalf of its caller."""

    context: HandlerContext
    method: str
    path: str  # percent-encoded
    query_string: bytes
    headers: Mapping[bytes, bytes]
    body: bytes
    fields: Mapping[str, str | UploadedFile] | None = None  # instead of a body


class APIResponse(msgspec.Struct, frozen=True):
    """Status, decoded JSON (None without a body) and headers of a response."""

    status: int
    body: Any
    headers: Mapping[bytes, bytes]

    @property
    def is_error(self) -> bool:
        return self.status >= _BAD_REQUEST


class APIError(Problem):
    """The API refused a call. If a form made it, the form is shown again; otherwise it is an error page."""

    def __init__(self, response: APIResponse) -> None:
        detail = response.body.get("detail") if isinstance(response.body, dict) else None
        super().__init__(Message(detail) if isinstance(detail, str) else None)
        self.status = response.status
        self.response = response


# Finds the endpoint of a path and calls it; the application implements it.
Dispatcher = Callable[[InternalCall], Awaitable[Response]]


class InternalAPI:
    """The API for one caller."""

    def __init__(self, dispatch: Dispatcher, context: HandlerContext) -> None:
        self._dispatch = dispatch
        self._context = context

    async def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """Return the JSON of a resource; raise `APIError` if the response is an error."""
        return await self.call("GET", path, query=query)

    async def call(
        self, method: str, path: str, *, query: Mapping[str, object] | None = None, json: Any = None
    ) -> Any:
        """Call an operation and return the JSON of the response; raise `APIError` if it is an error."""
        response = await self.send(method, path, query=query, json=json)
        if response.is_error:
            raise APIError(response)
        return response.body

    async def find(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """Return the JSON of a resource, or None if the caller cannot read it."""
        response = await self.send("GET", path, query=query)
        return None if response.is_error else response.body

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        json: Any = None,
        fields: Mapping[str, str | UploadedFile] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> APIResponse:
        """Call an operation. The body is `json`, or `fields` like those of a multipart form, which are not copied."""
        body, content_type = b"", b""
        if json is not None:
            body, content_type = msgspec.json.encode(json), Format.JSON.content_type
        sent = {
            b"accept": Format.JSON.content_type,
            b"accept-language": self._context.request.language.value.encode(),
        }
        if method != "GET":
            sent[CSRF_HEADER] = self._context.caller.new_csrf_token().encode()
        if content_type:
            sent |= {b"content-type": content_type, b"content-length": str(len(body)).encode()}
        sent |= {name.lower().encode(): value.encode() for name, value in (headers or {}).items()}
        query_string = urlencode(
            {name: str(value) for name, value in (query or {}).items()}
        ).encode()
        call = InternalCall(
            self._context, method, quote_path(path, safe="%"), query_string, sent, body, fields
        )
        response = await self._dispatch(call)
        received = dict(response.headers)
        is_json = received.get(b"content-type", b"").startswith(Format.JSON.content_type)
        decoded = msgspec.json.decode(response.body) if is_json and response.body else None
        return APIResponse(response.status, decoded, received)


class InternalClient:
    """Makes an `InternalAPI` for a request. The application sets `dispatch` when it is built."""

    def __init__(self) -> None:
        self.dispatch: Dispatcher | None = None

    def for_context(self, context: HandlerContext) -> InternalAPI:
        if self.dispatch is None:
            raise RuntimeError("the application is not built yet")
        return InternalAPI(self.dispatch, context)
