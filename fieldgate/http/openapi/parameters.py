"""Path, query and header parameters of an operation."""

import re
from datetime import datetime
from typing import Any

import msgspec

from fieldgate.http.negotiation import Format
from fieldgate.http.openapi.body_schemas import without_null
from fieldgate.http.openapi.components import STRING_SCHEMA
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.validation import possible_types
from fieldgate.i18n.languages import codes_in_english
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT

_NO_NULLS_PATTERN = r"^[^\u0000]*$"

# Without examples: Swagger UI would fill them in, so every request would be in French and strict.
_REQUEST_HEADERS: list[dict[str, Any]] = [
    {
        "name": "Accept-Language",
        "in": "header",
        "description": f"Language of the response: {codes_in_english()}; for example `fr`. The default is English.",
        "schema": STRING_SCHEMA,
    },
    {
        "name": "Prefer",
        "in": "header",
        "description": "With `handling=strict`, unknown parameters and fields are an error.",
        "schema": STRING_SCHEMA,
    },
]
_IF_NONE_MATCH: dict[str, Any] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "ETag of the response you have; the status is 304 if it is still current.",
    "schema": STRING_SCHEMA,
}
_PAGING_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "limit",
        "in": "query",
        "description": f"Records per page. Larger values than {MAX_LIMIT} mean {MAX_LIMIT}.",
        "schema": {"type": "integer", "minimum": 1, "default": DEFAULT_LIMIT},
    },
    {
        "name": "offset",
        "in": "query",
        "description": "Records to skip before the first one returned. `start` means the same.",
        "schema": {"type": "integer", "minimum": 0, "default": 0},
    },
    {
        "name": "page",
        "in": "query",
        "description": "Number of a page, from 1. An `offset` takes precedence, and links use it.",
        "schema": {"type": "integer", "minimum": 1},
    },
    {
        "name": "page_size",
        "in": "query",
        "description": "Records on a page with a number; by default `limit`, which takes precedence as the number of "
        f"records returned. Larger values than {MAX_LIMIT} mean {MAX_LIMIT}.",
        "schema": {"type": "integer", "minimum": 1},
    },
]


def describe_parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/.]+$"}}
        for name in re.findall(r"{(\w+)}", operation.route.path)
    ]
    for field in msgspec.structs.fields(operation.query_type) if operation.query_type else ():
        schema = without_null(msgspec.json.schema(field.type))
        about = schema.pop("description", "")
        described: dict[str, Any] = {"name": field.encode_name, "in": "query", "description": about, "schema": schema}
        if field.required:
            described["required"] = True
        if datetime in possible_types(field.type):
            schema |= {"anyOf": [{"format": "date-time"}, {"format": "date"}]}
        for text in (schema, schema.get("items", {})):
            if text.get("type") == "string" and not {"enum", "format", "pattern", "anyOf"} & set(text):
                text["pattern"] = _NO_NULLS_PATTERN
        if schema.get("type") == "array":  # separated by commas
            described |= {"style": "form", "explode": False}
        found.append(described)
    if operation.response.kind is ResponseKind.LIST:
        found += _PAGING_PARAMETERS
    if operation.response.is_negotiated:
        values = [offered.query_value for offered in operation.response.formats]
        about = "Response format; `api` is an HTML page. Links in the response keep it."
        found.append(
            {
                "name": "format",
                "in": "query",
                "description": about if Format.HTML in operation.response.formats else "File format.",
                "schema": {"type": "string", "enum": values},
            }
        )
    found += _REQUEST_HEADERS
    if operation.route.method == "GET":
        found.append(_IF_NONE_MATCH)
    return found
