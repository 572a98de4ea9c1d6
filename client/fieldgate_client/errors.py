"""What can go wrong. Every exception has a text for people, and the status and request id if the server answered."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from fieldgate_client.terminal_text import clean_line, clean_text

MAX_TEXT_CHARS = 500  # of a message that is not JSON of this API
MAX_REQUEST_ID_CHARS = 200
_REQUEST_ID = "x-request-id"


class FieldgateError(Exception):
    """The base of all exceptions of this package."""

    def __init__(
        self, message: str, *, status: int | None = None, request_id: str = "", url: str = ""
    ) -> None:
        message = clean_text(message)  # parts of it come from servers and files
        super().__init__(message)
        self.message = message
        self.status = status
        self.request_id = clean_line(request_id)[:MAX_REQUEST_ID_CHARS]
        self.url = url

    def __str__(self) -> str:
        notes = [
            f"status {self.status}" if self.status else "",
            f"request {self.request_id}" if self.request_id else "",
        ]
        text = ", ".join(filter(None, notes))
        return f"{self.message} ({text})" if text else self.message


class ConnectionFailed(FieldgateError):
    """The server cannot be reached, or the connection broke on every attempt. `attempts` is 0 if trying is useless."""

    def __init__(self, message: str, *, url: str = "", attempts: int = 0) -> None:
        super().__init__(message, url=url)
        self.attempts = attempts


class InvalidToken(FieldgateError, ValueError):
    """A token with characters that no token has. It is not part of the message."""


class UnexpectedResponse(FieldgateError):
    """The server answered something that is not part of this API."""


class RequestFailed(FieldgateError):
    """The server refused a request. `fields` has the messages for each invalid field or parameter."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str = "",
        url: str = "",
        fields: Mapping[str, list[str]] | None = None,
    ) -> None:
        super().__init__(message, status=status, request_id=request_id, url=url)
        self.fields = dict(fields or {})


class InvalidRequest(RequestFailed):
    """A parameter, a field or a file is not valid (400, 409, 413, 415, 422)."""


class NotAuthenticated(RequestFailed):
    """The token is missing, wrong, expired or revoked (401)."""


class NotAllowed(RequestFailed):
    """The user lacks a permission (403)."""


class NotFound(RequestFailed):
    """There is no such record, or the user may not see it (404, 410)."""


class TooManyRequests(RequestFailed):
    """The server still asked to slow down after all attempts (429)."""


class ServerFailed(RequestFailed):
    """The server failed or was busy on every attempt (5xx)."""


class IncompleteList(FieldgateError):
    """A list could not be read completely: it changed while it was read, or the server leaves records out.

    `received` records were returned before this exception, without duplicates. `count` is what the server says.
    """

    def __init__(self, message: str, *, received: int, count: int | None, url: str = "") -> None:
        super().__init__(message, url=url)
        self.received = received
        self.count = count


class ExportLimit(FieldgateError, ValueError):
    """The records do not fit into the format, for example more rows than a sheet of Excel can have."""


class UnknownName(FieldgateError, ValueError):
    """A country, region or type that the server does not have, or a column. `suggestions` are similar names."""

    def __init__(self, message: str, *, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.suggestions = suggestions


class AmbiguousName(UnknownName):
    """A name that several records have. `suggestions` are these records."""


class UnsupportedByServer(FieldgateError):
    """This server cannot do it; Fieldgate can. Nothing was sent."""


class MissingExtra(FieldgateError, ImportError):
    """A library is needed that is an optional extra of this package."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(
            f"{library} is not installed. Run: pip install 'fieldgate-client[{extra}]'"
        )


_BY_STATUS: dict[int, type[RequestFailed]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: InvalidRequest,
    410: NotFound,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: TooManyRequests,
}


def request_failed(status: int, body: bytes, headers: Mapping[str, str], url: str) -> RequestFailed:
    """The exception for a response with an error status."""
    message, fields = parse_error_body(body, headers.get("content-type", ""))
    if not message:
        message = _phrase(status)
    kind = _BY_STATUS.get(status) or (ServerFailed if status >= 500 else RequestFailed)
    return kind(
        message, status=status, request_id=headers.get(_REQUEST_ID, ""), url=url, fields=fields
    )


def parse_error_body(body: bytes, content_type: str) -> tuple[str, dict[str, list[str]]]:
    """The sentence for people and the messages by field, from the error body of any of the servers."""
    try:
        decoded = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        is_page = (
            "html" in content_type and b"<" in body[:1024]
        )  # KoboToolbox calls its plain texts HTML
        text = "" if is_page else clean_line(body[:4096].decode(errors="replace"))
        return text[:MAX_TEXT_CHARS], {}
    if isinstance(decoded, dict) and isinstance(decoded.get("errors"), dict):
        decoded = decoded["errors"]  # IFRC GO wraps them
    if isinstance(decoded, dict):
        for key in ("detail", "error", "error_message"):
            if isinstance(decoded.get(key), str):
                return clean_line(decoded[key])[:MAX_TEXT_CHARS], {}
        fields = {name: _texts(value) for name, value in decoded.items()}
        sentences = [
            " ".join(texts)
            if name in ("non_field_errors", "detail")
            else f"{name}: {' '.join(texts)}"
            for name, texts in fields.items()
            if texts
        ]
        return clean_line(" ".join(sentences))[:MAX_TEXT_CHARS], fields
    return clean_line(" ".join(_texts(decoded)))[:MAX_TEXT_CHARS], {}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [] if value is None else [msgspec.json.encode(value).decode()]


def _phrase(status: int) -> str:
    try:
        return f"The server answered: {HTTPStatus(status).phrase}."
    except ValueError:
        return "The server answered an error."
