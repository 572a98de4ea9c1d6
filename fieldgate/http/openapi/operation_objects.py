"""One operation: its parameters, request body and responses, with the examples of `examples.json`."""

import re
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from fieldgate.http.negotiation import Format
from fieldgate.http.openapi.body_schemas import without_null
from fieldgate.http.openapi.components import (
    BINARY_SCHEMA,
    IF_NONE_MATCH,
    PAGING_PARAMETERS,
    REQUEST_HEADERS,
    SECURITY_SCHEMES,
    STRING_SCHEMA,
    error_response,
    header_refs,
    list_schema,
)
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.validation import possible_types
from fieldgate.identity import Scope

# Of responses, by the name of the operation.
EXAMPLES = msgspec.json.decode((Path(__file__).parent / "examples.json").read_bytes())
_NO_NULLS_PATTERN = r"^[^\u0000]*$"


def describe_operation(
    operation: Operation, schemas: dict[Any, Any], bodies: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """One operation. `schemas` are those of types, `bodies` those of the request body by media type."""
    responses: dict[str, Any] = {
        str(operation.response.status): _success_response(operation, schemas)
    }
    if operation.response.alternate_type is not None and operation.response.status != HTTPStatus.OK:
        example = EXAMPLES.get(f"{operation.name} (preview)")
        content = {"schema": schemas[operation.response.alternate_type], "example": example}
        responses["200"] = {
            "description": "A dry run or other preview, returned in place of the usual response.",
            "headers": header_refs("Fieldgate-Ignored"),
            "content": {Format.JSON.media_type: content} | _other_formats(operation, schemas),
        }
    if operation.route.method == "GET" and not operation.caching.no_store:
        responses["304"] = {
            "description": "The response you have is still current.",
            "headers": header_refs("ETag"),
        }
    if operation.route.method == "PUT":
        responses["201"] = {
            **_success_response(operation, schemas),
            "headers": header_refs("Location", "Fieldgate-Ignored"),
        }
    responses |= {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in sorted(_error_statuses(operation))
    }
    if operation.response.refusal_type is not None:
        responses["400"] = error_response(400, schemas[operation.response.refusal_type])
    for status, kind in operation.response.error_types.items():
        responses[str(status)] = error_response(status, schemas[kind])
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": str(operation.description.title),
        "description": str(operation.description.text),
        "tags": [operation.description.tag],
        "parameters": _describe_parameters(operation),
        "responses": responses,
        "security": _security(operation),
    }
    if bodies:
        content = {media_type: {"schema": schema} for media_type, schema in bodies.items()}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _security(operation: Operation) -> list[dict[str, list[str]]]:
    """Tokens need the scope of the operation, passwords do not."""
    scope = operation.route.scope.value
    needed = [{name: [scope] if scope and name != "Basic" else []} for name in SECURITY_SCHEMES]
    return needed if operation.route.requires_login else [{}, *needed]


def _error_statuses(operation: Operation) -> set[int]:
    """The statuses that an operation declares, and those that follow from the rest of its declaration."""
    statuses = {401, 503, *operation.description.error_statuses, *operation.response.error_types}
    if operation.route.checks_host:
        statuses.add(400)
    if operation.route.scope is not Scope.NONE or (
        operation.route.method != "GET" and operation.body.csrf_protected
    ):
        statuses.add(403)
    if operation.body.media_types:
        statuses |= {408, 413, 415}
    if operation.rate_cost:
        statuses.add(429)
    if operation.response.is_negotiated:
        statuses |= {404, 406}
    if "{" in operation.route.path:
        statuses.add(404)
    return statuses


def _success_response(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    names: tuple[str, ...] = (
        ("ETag",) if operation.route.method == "GET" and not operation.caching.no_store else ()
    )
    if operation.response.kind is ResponseKind.EMPTY:
        return {"description": "Done.", "headers": header_refs(*operation.response.headers)}
    content: dict[str, Any] = {}
    if operation.response.kind is ResponseKind.RAW and operation.response.type is None:
        for media_type in operation.response.media_types:
            content[media_type] = {"schema": operation.response.schema or _file_schema(media_type)}
        content |= _json_formats(operation, schemas)
        if operation.response.offers_bytes:
            content[Format.BYTES.media_type] = {"schema": BINARY_SCHEMA}
        return {"description": "Done.", "headers": header_refs(), "content": content}
    schema, example = schemas[operation.response.type], EXAMPLES.get(operation.name)
    if operation.response.alternate_type is not None and operation.response.status == HTTPStatus.OK:
        schema = {"anyOf": [schema, schemas[operation.response.alternate_type]]}
    if operation.response.kind is ResponseKind.LIST:
        names = (*names, "Link", "Fieldgate-Limit", "Fieldgate-Data-Version")
        schema = list_schema(schema)
        example = {"count": 1, "next": None, "previous": None, "results": [example]}
    content[Format.JSON.media_type] = {"schema": schema, "example": example}
    content |= _other_formats(operation, schemas)
    return {
        "description": "Done.",
        "headers": header_refs(*names, "Fieldgate-Ignored"),
        "content": content,
    }


def _other_formats(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    files = {
        offered.media_type: {"schema": _file_schema(offered.media_type)}
        for offered in operation.response.formats
        if offered is not Format.JSON
    }
    return files | _json_formats(operation, schemas)


def _json_formats(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    """Formats other than JSON that are JSON, such as GeoJSON."""
    return {
        offered.media_type: {"schema": schemas[kind]}
        for offered, kind in operation.response.format_types.items()
    }


def _file_schema(media_type: str) -> dict[str, Any]:
    """Office documents and unknown files are bytes, everything else is text."""
    return (
        BINARY_SCHEMA
        if media_type.startswith(("application/vnd.", Format.BYTES.media_type))
        else STRING_SCHEMA
    )


def _describe_parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": "^[^/.]+$"},
        }
        for name in re.findall(r"{(\w+)}", operation.route.path)
    ]
    for field in msgspec.structs.fields(operation.query_type) if operation.query_type else ():
        schema = without_null(msgspec.json.schema(field.type))
        about = schema.pop("description", "")
        described: dict[str, Any] = {
            "name": field.encode_name,
            "in": "query",
            "description": about,
            "schema": schema,
        }
        if field.required:
            described["required"] = True
        if datetime in possible_types(field.type):
            schema |= {"anyOf": [{"format": "date-time"}, {"format": "date"}]}
        for text in (schema, schema.get("items", {})):
            if text.get("type") == "string" and not {"enum", "format", "pattern", "anyOf"} & set(
                text
            ):
                text["pattern"] = _NO_NULLS_PATTERN
        if schema.get("type") == "array":  # separated by commas
            described |= {"style": "form", "explode": False}
        found.append(described)
    if operation.response.kind is ResponseKind.LIST:
        found += PAGING_PARAMETERS
    if operation.response.is_negotiated:
        values = [offered.query_value for offered in operation.response.formats]
        about = "Response format; `api` is an HTML page. Links in the response keep it."
        found.append(
            {
                "name": "format",
                "in": "query",
                "description": about
                if Format.HTML in operation.response.formats
                else "File format.",
                "schema": {"type": "string", "enum": values},
            }
        )
    found += REQUEST_HEADERS
    if operation.route.method == "GET":
        found.append(IF_NONE_MATCH)
    return found
