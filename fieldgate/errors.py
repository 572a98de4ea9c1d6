"""Error responses.

The body is `{"detail": "…"}`, or `{"<name>": ["…"]}` for invalid fields and parameters. A problem holds messages,
which are translated to the caller's language when the response is built.
"""

from collections.abc import Mapping, Sequence

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

Header = tuple[bytes, bytes]


class Problem(Exception):
    """An error with its status, message and extra headers."""

    status = 500
    detail = Message("Something went wrong on our side. It has been noted; please try again later.")

    def __init__(self, detail: Message | None = None, headers: Sequence[Header] = ()) -> None:
        super().__init__(str(detail or self.detail))
        self.message = detail or self.detail
        self.headers = tuple(headers)

    def body(self, language: Language) -> dict[str, object]:
        return {"detail": translate(self.message, language)}


class ValidationError(Problem):
    """Invalid fields or parameters, each with its messages."""

    status = 400
    detail = Message("The request is not valid.")

    def __init__(self, fields: Mapping[str, Sequence[Message]]) -> None:
        super().__init__()
        self.fields = fields

    def body(self, language: Language) -> dict[str, object]:
        return {
            name: [translate(message, language) for message in messages]
            for name, messages in self.fields.items()
        }


class BadRequest(Problem):
    status = 400
    detail = Message("The request is not valid.")


class Unauthorized(Problem):
    status = 401
    detail = Message("Log in first, or send a token in the Authorization header.")

    def __init__(self, detail: Message | None = None) -> None:
        super().__init__(
            detail, [(b"www-authenticate", b'Token realm="fieldgate", Bearer realm="fieldgate"')]
        )


class Forbidden(Problem):
    status = 403
    detail = Message("You may not do this.")


class InsufficientScope(Forbidden):
    """The token lacks a scope, though its user may do this (RFC 6750)."""

    def __init__(self, scope: str) -> None:
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'.encode()
        message = Message(
            "This token lacks the scope {scope}. Use one that has it, or log in.", scope=scope
        )
        super().__init__(message, [(b"www-authenticate", challenge)])


class NotFound(Problem):
    status = 404
    detail = Message("There is nothing here.")


class MethodNotAllowed(Problem):
    status = 405

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(
            Message(
                "{method} is not allowed here; allowed methods: {allowed}.",
                method=method,
                allowed=allowed,
            )
        )


class NotAcceptable(Problem):
    status = 406


class RequestTimeout(Problem):
    status = 408
    detail = Message(
        "The body of the request arrived too slowly. Try again with a better connection."
    )


class Conflict(Problem):
    status = 409


class PayloadTooLarge(Problem):
    status = 413


class UnsupportedMediaType(Problem):
    status = 415


class TooManyRequests(Problem):
    status = 429

    def __init__(self, detail: Message, retry_after_seconds: int) -> None:
        super().__init__(detail, [(b"retry-after", str(retry_after_seconds).encode())])


class ServiceUnavailable(Problem):
    status = 503
    detail = Message("The service is busy. Please try again in a few seconds.")

    def __init__(self, detail: Message | None = None, retry_after_seconds: int = 5) -> None:
        super().__init__(detail, [(b"retry-after", str(retry_after_seconds).encode())])


class DatabaseUnavailable(ServiceUnavailable):
    """The database cannot be used; with `needs_operator`, waiting alone does not help."""

    def __init__(self, detail: Message, retry_after_seconds: int, *, needs_operator: bool) -> None:
        super().__init__(detail, retry_after_seconds)
        self.needs_operator = needs_operator
