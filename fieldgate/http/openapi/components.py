"""The parts that all operations share, from `shared.json`: headers, error responses, parameters, security schemes."""

import json
from pathlib import Path
from typing import Any

from fieldgate.i18n.languages import LANGUAGES_BY_CODE, codes_in_english
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT

SCHEMA_PATH = "#/components/schemas/"
STRING_SCHEMA = {"type": "string"}
# The keyword of OpenAPI 3.1, and the one of 3.0 that most generators of clients look for.
BINARY_SCHEMA = {
    "type": "string",
    "format": "binary",
    "contentMediaType": "application/octet-stream",
}

_COMMON_HEADERS = ("Allow", "Vary", "Content-Language", "X-Request-ID")


def _load_shared() -> Any:
    text = (Path(__file__).parent / "shared.json").read_text(encoding="utf-8")
    text = text.replace('"LANGUAGE_CODES"', json.dumps(list(LANGUAGES_BY_CODE)))
    text = text.replace("LANGUAGE_NAMES", codes_in_english())
    return json.loads(
        text.replace('"DEFAULT_LIMIT"', str(DEFAULT_LIMIT)).replace("MAX_LIMIT", str(MAX_LIMIT))
    )


_shared = _load_shared()
# Those that are always sent with a response that lists them are `required`; the others are sent if they apply.
RESPONSE_HEADERS: dict[str, Any] = _shared["headers"]
ERROR_RESPONSES: dict[int, dict[str, Any]] = {
    int(status): error for status, error in _shared["errors"].items()
}
ERROR_SCHEMAS: dict[str, Any] = _shared["schemas"]
SECURITY_SCHEMES: dict[str, Any] = _shared["security_schemes"]
# Without examples: Swagger UI would fill them in, so every request would be in French and strict.
REQUEST_HEADERS: list[dict[str, Any]] = _shared["request_headers"]
IF_NONE_MATCH: dict[str, Any] = _shared["if_none_match"]
PAGING_PARAMETERS: list[dict[str, Any]] = _shared["paging_parameters"]


def header_refs(*names: str) -> dict[str, Any]:
    return {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in (*_COMMON_HEADERS, *names, "RateLimit", "RateLimit-Policy")
    }


def error_response(status: int, alternative: dict[str, Any] | None = None) -> dict[str, Any]:
    """The response of an error. `alternative` is the schema of another body that an operation can have."""
    error = ERROR_RESPONSES[status]
    schema: dict[str, Any] = {"$ref": SCHEMA_PATH + error["schema"]}
    if alternative is not None:
        schema = {"anyOf": [schema, alternative]}
    return {
        "description": error["description"],
        "headers": header_refs(*error["headers"]),
        "content": {
            "application/json": {"schema": schema, "example": error["example"]},
            "text/html": {"schema": STRING_SCHEMA},
        },
    }


def list_schema(record: dict[str, Any]) -> dict[str, Any]:
    page_link = {"type": ["string", "null"], "format": "uri"}
    return {
        "type": "object",
        "properties": {
            "count": {
                "type": "integer",
                "minimum": 0,
                "description": "Number of records on all pages.",
            },
            "next": {**page_link, "description": "URL of the next page; null on the last."},
            "previous": {
                **page_link,
                "description": "URL of the previous page; null on the first.",
            },
            "results": {"type": "array", "items": record, "description": "Records of this page."},
        },
        "required": ["count", "next", "previous", "results"],
        "additionalProperties": False,
    }
