"""The OpenAPI 3.1 document, generated from the operations."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from fieldgate import __version__
from fieldgate.http.links import Link, encode, resolve_links
from fieldgate.http.openapi.body_schemas import BodySchemas
from fieldgate.http.openapi.components import (
    BINARY_SCHEMA,
    ERROR_RESPONSES,
    ERROR_SCHEMAS,
    RESPONSE_HEADERS,
    SCHEMA_PATH,
    SECURITY_SCHEMES,
    error_response,
)
from fieldgate.http.openapi.operation_objects import describe_operation
from fieldgate.http.operations import Operation
from fieldgate.http.request.body_parsing import EncodedJSON, UploadedFile
from fieldgate.i18n.languages import names_in_english
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT

_PLACEHOLDER_URL = b"http://base-url.invalid"  # in the prepared YAML


class OpenAPIDocument:
    """The OpenAPI document of a set of operations. The base URL is filled in for each request.

    It is built at the first request. That takes a tenth of a second as JSON and a second as YAML: call it in a thread.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._operations = operations

    def as_json(self, base_url: str) -> bytes:
        return resolve_links(self._prepared, base_url.encode(), b"")

    def as_yaml(self, base_url: str) -> bytes:
        return self._prepared_yaml.replace(_PLACEHOLDER_URL, base_url.encode())

    @cached_property
    def _prepared(self) -> bytes:
        return encode(
            _build_document([each for each in self._operations if each.description.in_schema])
        )

    @cached_property
    def _prepared_yaml(self) -> bytes:
        import yaml  # slow to import, and nothing else needs it

        dumper = getattr(
            yaml, "CSafeDumper", yaml.SafeDumper
        )  # PyYAML may be built without its library in C
        document = msgspec.json.decode(self.as_json(_PLACEHOLDER_URL.decode()))
        text: str = yaml.dump(
            document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=110
        )
        return text.encode()


def _build_document(operations: Sequence[Operation]) -> dict[str, Any]:
    named = [
        kind
        for operation in operations
        for kind in (
            operation.response.type,
            operation.response.alternate_type,
            operation.response.refusal_type,
            *operation.response.error_types.values(),
            operation.body.type,
            *operation.response.format_types.values(),
        )
    ]
    kinds = [kind for kind in named if kind is not None]
    schemas, components = msgspec.json.schema_components(
        kinds, schema_hook=_schema_hook, ref_template=SCHEMA_PATH + "{name}"
    )
    _complete_arrays(components)
    by_kind = dict(zip(kinds, schemas, strict=True))
    body_schemas = BodySchemas(components)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        has_body = operation.body.type is not None
        body = body_schemas.split(operation.body, by_kind[operation.body.type]) if has_body else {}
        described = describe_operation(operation, by_kind, body)
        paths.setdefault(operation.route.path, {})[operation.route.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fieldgate",
            "version": __version__,
            "description": _describe_api(),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": Link(""), "description": "This service."}],
        "tags": [
            {"name": tag}
            for tag in dict.fromkeys(operation.description.tag for operation in operations)
        ],
        "paths": paths,
        "components": {
            "schemas": {**body_schemas.components, **ERROR_SCHEMAS},
            "headers": RESPONSE_HEADERS,
            "responses": {str(status): error_response(status) for status in ERROR_RESPONSES},
            "securitySchemes": SECURITY_SCHEMES,
        },
    }


def _describe_api() -> str:
    lines = (
        "One API for humanitarian field data, with the same conventions everywhere.",
        "",
        f"* Lists are paged with `limit` (default {DEFAULT_LIMIT}, at most {MAX_LIMIT}) and `offset`; "
        "follow `next` until it is null.",
        "* Responses are JSON; browsers, and requests with `format=api`, get an HTML page.",
        f"* `Accept-Language` selects {names_in_english()}, for error messages too.",
        "* Unknown parameters and fields are ignored and listed in `Fieldgate-Ignored`; "
        "with `Prefer: handling=strict` they are an error.",
        "* `Authorization: Token …` and `Authorization: Bearer …` mean the same; "
        "`Basic` takes a username and, as the password, the password or a token of the user. "
        "Invalid credentials are refused with 401 everywhere.",
    )
    return "\n".join(lines)


def _complete_arrays(schema: Any) -> None:
    """Give arrays of any values an empty `items`. JSON Schema needs none, but generators of clients do."""
    if isinstance(schema, dict):
        if schema.get("type") == "array" and "prefixItems" not in schema:
            schema.setdefault("items", {})
        for value in schema.values():
            _complete_arrays(value)
    elif isinstance(schema, list):
        for value in schema:
            _complete_arrays(value)


def _schema_hook(kind: type) -> dict[str, Any]:
    """Schemas of our own types in records and bodies."""
    if kind is Link:
        return {"type": "string", "format": "uri"}
    if kind is UploadedFile:
        return BINARY_SCHEMA
    if kind is EncodedJSON:
        return {"type": "object"}
    raise NotImplementedError(kind)
