"""The OpenAPI 3.1 description, made from the same declarations that answer requests."""

import re
from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, get_origin

import msgspec
import yaml

from fieldgate import __version__
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.body_parsing import JSON_MEDIA_TYPE, UploadedFile
from fieldgate.http.request.validation import possible_types
from fieldgate.http.response.links import Link, encode, resolve_links
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, codes_in_english, names_in_english
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT

SCHEMA_PATH = "#/components/schemas/"

API_DESCRIPTION = "\n".join(
    (
        "One interface to humanitarian field data, with the same conventions everywhere.",
        "",
        f"* Lists are paged with `limit` (default {DEFAULT_LIMIT}, at most {MAX_LIMIT}) and `offset`; "
        "follow `next` until it is null.",
        "* Answers are JSON; `format=api`, or a browser, gets a page for people.",
        f"* `Accept-Language` chooses {names_in_english()}, for error messages too.",
        "* Parameters and fields we do not know are ignored and named in `Fieldgate-Ignored`; "
        "with `Prefer: handling=strict` they are refused.",
        "* `Authorization: Token …` and `Authorization: Bearer …` mean the same; `Basic` works too. "
        "A wrong credential is 401 everywhere.",
    )
)

_STRING_SCHEMA = {"type": "string"}
_NO_NULLS_PATTERN = r"^[^\u0000]*$"

RESPONSE_HEADERS: dict[str, dict[str, Any]] = {
    "Allow": {"description": "Methods this address takes.", "schema": _STRING_SCHEMA},
    "Vary": {"description": "Request headers the answer depends on.", "schema": _STRING_SCHEMA},
    "Content-Language": {
        "description": "Language of the answer.",
        "schema": {"type": "string", "enum": list(LANGUAGES_BY_CODE)},
    },
    "X-Request-ID": {"description": "Id of this request in the service's log.", "schema": _STRING_SCHEMA},
    "ETag": {"description": "Validator for `If-None-Match`.", "schema": _STRING_SCHEMA},
    "Link": {"description": 'Addresses of the pages `rel="next"` and `rel="prev"`.', "schema": _STRING_SCHEMA},
    "Location": {"description": "Address of what was made.", "schema": _STRING_SCHEMA},
    "Retry-After": {"description": "Seconds to wait before the next attempt.", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "Ways to log in.", "schema": _STRING_SCHEMA},
    "Fieldgate-Ignored": {
        "description": "Parameters and fields that were sent and are not known here.",
        "schema": _STRING_SCHEMA,
    },
    "Fieldgate-Limit": {
        "description": "The limit used in place of a larger one that was asked for.",
        "schema": {"type": "integer"},
    },
}
_COMMON_HEADERS = ("Allow", "Vary", "Content-Language", "X-Request-ID")
# Where a response names one of these it always carries it; the others only when there is something to tell.
for _name in (*_COMMON_HEADERS, "ETag", "Retry-After", "WWW-Authenticate"):
    RESPONSE_HEADERS[_name]["required"] = True

ERROR_RESPONSES: dict[int, tuple[str, str, tuple[str, ...]]] = {
    400: ("The request cannot be taken: a parameter, the body or the host is wrong.", "Refusal", ()),
    401: ("The credentials are wrong, expired or missing.", "Detail", ("WWW-Authenticate",)),
    403: ("The caller may not do this.", "Detail", ()),
    404: ("There is no such record, or no such format.", "Detail", ()),
    405: ("The address does not take this method.", "Detail", ()),
    406: ("None of the accepted media types is on offer.", "Detail", ()),
    409: ("What is there does not allow it.", "Detail", ()),
    413: ("The body is too large.", "Detail", ()),
    415: ("The body has a type that cannot be read.", "Detail", ()),
    422: ("The request contradicts an earlier one.", "Detail", ()),
    429: ("Too many attempts.", "Detail", ("Retry-After",)),
    500: ("A fault on our side.", "Detail", ()),
    503: ("The service is busy or not ready.", "Detail", ("Retry-After",)),
}
_ERROR_EXAMPLES: dict[int, Any] = {
    400: {"limit": ["Enter a whole number from 1 to 1000."]},
    401: {"detail": "This token is not valid. Check it, or get a new one."},
    403: {"detail": "You may not do this."},
    404: {"detail": "There is nothing here."},
    405: {"detail": "POST is not possible here; these methods are: GET, HEAD, OPTIONS."},
    406: {"detail": "None of the accepted types is on offer; these are: application/json, text/html."},
    409: {"detail": "The owner's permissions cannot be taken away."},
    413: {"detail": "The body is too large; at most 65536 bytes are taken here."},
    415: {"detail": "The body has a type that cannot be read here; send one of: application/json."},
    422: {"detail": "This Idempotency-Key was used with other content. Send another key for another import."},
    429: {"detail": "Too many failed attempts to log in. Try again in 8 seconds."},
    500: {"detail": "Something went wrong on our side. It has been noted; please try again later."},
    503: {"detail": "The service is busy. Please try again in a few seconds."},
}

_ERROR_SCHEMAS: dict[str, Any] = {
    "Detail": {
        "type": "object",
        "description": "Why the request was refused, in the caller's language.",
        "properties": {"detail": _STRING_SCHEMA},
        "required": ["detail"],
        "additionalProperties": False,
    },
    "FieldErrors": {
        "type": "object",
        "description": "For each field or parameter, what is wrong with it.",
        "minProperties": 1,
        "additionalProperties": {"type": "array", "items": _STRING_SCHEMA, "minItems": 1},
    },
    "Refusal": {"anyOf": [{"$ref": SCHEMA_PATH + "Detail"}, {"$ref": SCHEMA_PATH + "FieldErrors"}]},
}

_SECURITY_SCHEMES = {
    "Token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The word `Token`, a space, and the token.",
    },
    "Bearer": {"type": "http", "scheme": "bearer"},
    "Basic": {"type": "http", "scheme": "basic"},
}

_REQUEST_HEADERS: list[dict[str, Any]] = [
    {
        "name": "Accept-Language",
        "in": "header",
        "description": f"Language of the answer: {codes_in_english()}. Anything else is English.",
        "schema": _STRING_SCHEMA,
        "example": "fr",
    },
    {
        "name": "Prefer",
        "in": "header",
        "description": "`handling=strict` refuses parameters and fields that are not known here.",
        "schema": {"type": "string"},
        "example": "handling=strict",
    },
]
_IF_NONE_MATCH: dict[str, Any] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Validator of the answer you hold; 304 if it is still the same.",
    "schema": _STRING_SCHEMA,
}
_PAGING_PARAMETERS: list[dict[str, Any]] = [
    {
        "name": "limit",
        "in": "query",
        "description": f"Records per page. More than {MAX_LIMIT} is taken as {MAX_LIMIT}.",
        "schema": {"type": "integer", "minimum": 1, "default": DEFAULT_LIMIT},
    },
    {
        "name": "offset",
        "in": "query",
        "description": "Records to skip before the first one returned. `start` means the same.",
        "schema": {"type": "integer", "minimum": 0, "default": 0},
    },
]


class OpenAPIDocument:
    """The description of a set of operations. Its one link, to the service itself, is filled in when answered."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        described = [operation for operation in operations if operation.in_schema]
        self._prepared = encode(_build_document(described))

    def as_json(self, base_url: str) -> bytes:
        return resolve_links(self._prepared, base_url.encode(), b"")

    def as_yaml(self, base_url: str) -> bytes:
        document = msgspec.json.decode(self.as_json(base_url))
        text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110)
        return text.encode()


def _build_document(operations: Sequence[Operation]) -> dict[str, Any]:
    named = [
        kind
        for operation in operations
        for kind in (operation.response, operation.alternate_response, operation.body_type)
    ]
    kinds = [kind for kind in named if kind is not None]
    schemas, components = msgspec.json.schema_components(
        kinds, schema_hook=_schema_hook, ref_template=SCHEMA_PATH + "{name}"
    )
    by_kind = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation_object(operation, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fieldgate",
            "version": __version__,
            "description": API_DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": Link(""), "description": "This service."}],
        "tags": [{"name": tag} for tag in dict.fromkeys(operation.tag for operation in operations)],
        "paths": paths,
        "components": {
            "schemas": {**components, **_ERROR_SCHEMAS},
            "headers": RESPONSE_HEADERS,
            "responses": {str(status): _error_response(status) for status in ERROR_RESPONSES},
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def _schema_hook(kind: type) -> dict[str, Any]:
    """The types of ours that records and bodies hold."""
    if kind is Link:
        return {"type": "string", "format": "uri"}
    if kind is UploadedFile:
        return {"type": "string", "format": "binary"}
    raise NotImplementedError(kind)


def _operation_object(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {str(operation.status): _success_response(operation, schemas)}
    if operation.alternate_response is not None and operation.status != HTTPStatus.OK:
        content = {"schema": schemas[operation.alternate_response], "example": operation.alternate_example}
        responses["200"] = {
            "description": "What was asked for in place of the usual answer.",
            "headers": _header_refs("Fieldgate-Ignored"),
            "content": {Format.JSON.media_type: content} | _other_formats(operation),
        }
    if operation.method == "GET" and not operation.no_store:
        responses["304"] = {"description": "You hold this answer already.", "headers": _header_refs("ETag")}
    if operation.method == "PUT":
        responses["201"] = {
            **_success_response(operation, schemas),
            "headers": _header_refs("Location", "Fieldgate-Ignored"),
        }
    statuses = {401, 503, *operation.error_statuses}
    if operation.checks_host:
        statuses.add(400)
    if operation.is_negotiated:
        statuses |= {404, 406}
    responses |= {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": str(operation.title),
        "description": str(operation.description),
        "tags": [operation.tag],
        "parameters": _parameters(operation),
        "responses": responses,
        "security": ([] if operation.requires_login else [{}]) + [{name: []} for name in _SECURITY_SCHEMES],
    }
    if operation.body_type is not None:
        described["requestBody"] = {
            "required": True,
            "content": {
                media_type: _body_content(operation, media_type, schemas) for media_type in operation.body_media_types
            },
        }
    return described


def _body_content(operation: Operation, media_type: str, schemas: dict[Any, Any]) -> dict[str, Any]:
    """A body of this type. Lists and objects in a form are JSON in a text."""
    taken: dict[str, Any] = {"schema": schemas[operation.body_type]}
    if media_type != JSON_MEDIA_TYPE:
        fields = msgspec.structs.fields(operation.body_type)
        nested = [field.encode_name for field in fields if get_origin(possible_types(field.type)[0]) in (list, dict)]
        taken |= {"encoding": {name: {"contentType": JSON_MEDIA_TYPE} for name in nested}} if nested else {}
    return taken


def _success_response(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    names: tuple[str, ...] = ("ETag",) if operation.method == "GET" and not operation.no_store else ()
    if operation.response_kind is ResponseKind.EMPTY:
        return {"description": "Done.", "headers": _header_refs()}
    content: dict[str, Any] = {}
    if operation.response_kind is ResponseKind.RAW and operation.response is None:
        media_types = (
            [operation.media_type] if operation.media_type else [each.media_type for each in operation.formats]
        )
        content = {media_type: {"schema": operation.schema or _STRING_SCHEMA} for media_type in media_types}
        return {"description": "Done.", "headers": _header_refs(), "content": content}
    schema, example = schemas[operation.response], operation.example
    if operation.alternate_response is not None and operation.status == HTTPStatus.OK:
        schema = {"anyOf": [schema, schemas[operation.alternate_response]]}
    if operation.response_kind is ResponseKind.LIST:
        names = (*names, "Link", "Fieldgate-Limit")
        schema = _list_schema(schema)
        example = {"count": 1, "next": None, "previous": None, "results": [example]}
    content[Format.JSON.media_type] = {"schema": schema, "example": example}
    content |= _other_formats(operation)
    return {"description": "Done.", "headers": _header_refs(*names, "Fieldgate-Ignored"), "content": content}


def _other_formats(operation: Operation) -> dict[str, Any]:
    return {
        offered.media_type: {"schema": _STRING_SCHEMA} for offered in operation.formats if offered is not Format.JSON
    }


def _list_schema(record: dict[str, Any]) -> dict[str, Any]:
    neighbour = {"type": ["string", "null"], "format": "uri"}
    return {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 0, "description": "Records on all pages together."},
            "next": {**neighbour, "description": "Address of the next page; null on the last."},
            "previous": {**neighbour, "description": "Address of the previous page; null on the first."},
            "results": {"type": "array", "items": record, "description": "Records of this page."},
        },
        "required": ["count", "next", "previous", "results"],
        "additionalProperties": False,
    }


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[^/.]+$"}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    for field in msgspec.structs.fields(operation.query_type) if operation.query_type else ():
        schema = _without_null(msgspec.json.schema(field.type))
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
    if operation.response_kind is ResponseKind.LIST:
        found += _PAGING_PARAMETERS
    if operation.is_negotiated:
        words = [offered.query_value for offered in operation.formats]
        about = "Representation; `api` is the page for people. Every link in the answer keeps it."
        found.append(
            {
                "name": "format",
                "in": "query",
                "description": about if Format.HTML in operation.formats else "Kind of file.",
                "schema": {"type": "string", "enum": words},
            }
        )
    found += _REQUEST_HEADERS
    if operation.method == "GET":
        found.append(_IF_NONE_MATCH)
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter: nobody can send null, they leave it out."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}} if choices else schema


def _header_refs(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in (*_COMMON_HEADERS, *names)}


def _error_response(status: int) -> dict[str, Any]:
    about, schema, headers = ERROR_RESPONSES[status]
    return {
        "description": about,
        "headers": _header_refs(*headers),
        "content": {"application/json": {"schema": {"$ref": SCHEMA_PATH + schema}, "example": _ERROR_EXAMPLES[status]}},
    }
