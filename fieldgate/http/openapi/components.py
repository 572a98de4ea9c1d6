"""The parts that all operations share: headers, error responses, the list envelope and security schemes."""

from typing import Any

from fieldgate.i18n.languages import LANGUAGES_BY_CODE

SCHEMA_PATH = "#/components/schemas/"
STRING_SCHEMA = {"type": "string"}
# The keyword of OpenAPI 3.1, and the one of 3.0 that most generators of clients look for.
BINARY_SCHEMA = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}

RESPONSE_HEADERS: dict[str, dict[str, Any]] = {
    "Allow": {"description": "Methods of this URL.", "schema": STRING_SCHEMA},
    "Vary": {"description": "Request headers that the response depends on.", "schema": STRING_SCHEMA},
    "Content-Language": {
        "description": "Language of the response.",
        "schema": {"type": "string", "enum": list(LANGUAGES_BY_CODE)},
    },
    "X-Request-ID": {"description": "Id of the request in the service's log.", "schema": STRING_SCHEMA},
    "ETag": {"description": "Validator for `If-None-Match`.", "schema": STRING_SCHEMA},
    "Link": {"description": 'URLs of the pages `rel="next"` and `rel="prev"`.', "schema": STRING_SCHEMA},
    "Location": {"description": "URL of the new record.", "schema": STRING_SCHEMA},
    "RateLimit": {
        "description": "What is left of the quota (`r`), and in how many seconds it is whole again (`t`); sent when "
        "less than half is left.",
        "schema": STRING_SCHEMA,
    },
    "RateLimit-Policy": {
        "description": "The quota: so many requests (`q`) in so many seconds (`w`).",
        "schema": STRING_SCHEMA,
    },
    "Retry-After": {"description": "Seconds to wait before the next attempt.", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "Supported authentication schemes.", "schema": STRING_SCHEMA},
    "Fieldgate-Data-Version": {
        "description": "Version of the data of a list, or `none`: equal on two pages if nothing changed in between.",
        "schema": STRING_SCHEMA,
    },
    "Fieldgate-Ignored": {
        "description": "Unknown parameters and fields of the request, which were ignored.",
        "schema": STRING_SCHEMA,
    },
    "Fieldgate-Kept": {
        "description": "Uids of assets of others that were in a deleted collection and stay, at most 100.",
        "schema": STRING_SCHEMA,
    },
    "Fieldgate-Limit": {
        "description": "The limit that was used instead of a larger one in the request.",
        "schema": {"type": "integer"},
    },
}
_COMMON_HEADERS = ("Allow", "Vary", "Content-Language", "X-Request-ID")
# These headers are always sent with a response that lists them; the others only if they apply.
for _name in (*_COMMON_HEADERS, "ETag", "Retry-After", "WWW-Authenticate"):
    RESPONSE_HEADERS[_name]["required"] = True

ERROR_RESPONSES: dict[int, tuple[str, str, tuple[str, ...]]] = {
    400: ("The request is not valid: a parameter, the body or the host is wrong.", "Refusal", ()),
    401: ("The credentials are invalid, expired or missing.", "Detail", ("WWW-Authenticate",)),
    403: ("The caller may not do this.", "Detail", ()),
    404: ("There is no such record, or no such format.", "Detail", ()),
    405: ("The method is not allowed.", "Detail", ()),
    406: ("None of the accepted media types is available.", "Detail", ()),
    408: ("The body of the request arrived too slowly.", "Detail", ()),
    409: ("The request conflicts with the current state.", "Detail", ()),
    413: ("The body is too large.", "Detail", ()),
    415: ("The media type of the body is not supported.", "Detail", ()),
    422: ("The request contradicts an earlier one.", "Detail", ()),
    429: ("Too many requests, or too many attempts to log in.", "Detail", ("Retry-After",)),
    500: ("Internal error.", "Detail", ()),
    503: ("The service is busy or not ready.", "Detail", ("Retry-After",)),
}
_ERROR_EXAMPLES: dict[int, Any] = {
    400: {"limit": ["Enter a whole number from 1 to 1000."]},
    401: {"detail": "This token is not valid. Check it, or get a new one."},
    403: {"detail": "You may not do this."},
    404: {"detail": "There is nothing here."},
    405: {"detail": "POST is not allowed here; allowed methods: GET, HEAD, OPTIONS."},
    406: {"detail": "None of the accepted types is available here; available types: application/json, text/html."},
    408: {"detail": "The body of the request arrived too slowly. Try again with a better connection."},
    409: {"detail": "The owner's permissions cannot be removed."},
    413: {"detail": "The body is too large; at most 65536 bytes are allowed here."},
    415: {"detail": "This media type is not supported here; send one of: application/json."},
    422: {"detail": "This Idempotency-Key was used with other content. Send another key for another import."},
    429: {"detail": "Too many requests. Wait 8 seconds, then continue with fewer requests at a time."},
    500: {"detail": "Something went wrong on our side. It has been noted; please try again later."},
    503: {"detail": "The service is busy. Please try again in a few seconds."},
}

ERROR_SCHEMAS: dict[str, Any] = {
    "Detail": {
        "type": "object",
        "description": "The reason, in the caller's language.",
        "properties": {"detail": STRING_SCHEMA},
        "required": ["detail"],
        "additionalProperties": False,
    },
    "FieldErrors": {
        "type": "object",
        "description": "The errors of each field or parameter.",
        "minProperties": 1,
        "additionalProperties": {"type": "array", "items": STRING_SCHEMA, "minItems": 1},
    },
    "Refusal": {"anyOf": [{"$ref": SCHEMA_PATH + "Detail"}, {"$ref": SCHEMA_PATH + "FieldErrors"}]},
}

SECURITY_SCHEMES = {
    "Token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The word `Token`, a space, and the token.",
    },
    "Bearer": {"type": "http", "scheme": "bearer"},
    "Basic": {"type": "http", "scheme": "basic"},
}


def header_refs(*names: str) -> dict[str, Any]:
    return {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in (*_COMMON_HEADERS, *names, "RateLimit", "RateLimit-Policy")
    }


def error_response(status: int, alternative: dict[str, Any] | None = None) -> dict[str, Any]:
    """The response of an error. `alternative` is the schema of another body that an operation can have."""
    description, name, headers = ERROR_RESPONSES[status]
    schema: dict[str, Any] = {"$ref": SCHEMA_PATH + name}
    if alternative is not None:
        schema = {"anyOf": [schema, alternative]}
    return {
        "description": description,
        "headers": header_refs(*headers),
        "content": {
            "application/json": {"schema": schema, "example": _ERROR_EXAMPLES[status]},
            "text/html": {"schema": STRING_SCHEMA},
        },
    }


def list_schema(record: dict[str, Any]) -> dict[str, Any]:
    page_link = {"type": ["string", "null"], "format": "uri"}
    return {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 0, "description": "Number of records on all pages."},
            "next": {**page_link, "description": "URL of the next page; null on the last."},
            "previous": {**page_link, "description": "URL of the previous page; null on the first."},
            "results": {"type": "array", "items": record, "description": "Records of this page."},
        },
        "required": ["count", "next", "previous", "results"],
        "additionalProperties": False,
    }
