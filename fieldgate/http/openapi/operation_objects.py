"""One operation: its parameters, request body and responses."""

from http import HTTPStatus
from typing import Any, get_origin

import msgspec

from fieldgate.http.negotiation.formats import Format
from fieldgate.http.openapi.components import SECURITY_SCHEMES, STRING_SCHEMA, error_response, header_refs, list_schema
from fieldgate.http.openapi.parameters import describe_parameters
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.body_parsing import JSON_MEDIA_TYPE
from fieldgate.http.request.validation import possible_types


def describe_operation(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {str(operation.response.status): _success_response(operation, schemas)}
    if operation.response.alternate_type is not None and operation.response.status != HTTPStatus.OK:
        content = {
            "schema": schemas[operation.response.alternate_type],
            "example": operation.description.alternate_example,
        }
        responses["200"] = {
            "description": "A dry run or other preview, returned in place of the usual response.",
            "headers": header_refs("Fieldgate-Ignored"),
            "content": {Format.JSON.media_type: content} | _other_formats(operation),
        }
    if operation.route.method == "GET" and not operation.caching.no_store:
        responses["304"] = {"description": "The response you have is still current.", "headers": header_refs("ETag")}
    if operation.route.method == "PUT":
        responses["201"] = {
            **_success_response(operation, schemas),
            "headers": header_refs("Location", "Fieldgate-Ignored"),
        }
    statuses = {401, 503, *operation.description.error_statuses}
    if operation.route.checks_host:
        statuses.add(400)
    if operation.response.is_negotiated:
        statuses |= {404, 406}
    responses |= {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}
    if operation.response.refusal_type is not None:
        responses["400"] = error_response(400, schemas[operation.response.refusal_type])
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": str(operation.description.title),
        "description": str(operation.description.text),
        "tags": [operation.description.tag],
        "parameters": describe_parameters(operation),
        "responses": responses,
        "security": ([] if operation.route.requires_login else [{}]) + [{name: []} for name in SECURITY_SCHEMES],
    }
    if operation.body.type is not None:
        described["requestBody"] = {
            "required": True,
            "content": {
                media_type: _body_content(operation, media_type, schemas) for media_type in operation.body.media_types
            },
        }
    return described


def _body_content(operation: Operation, media_type: str, schemas: dict[Any, Any]) -> dict[str, Any]:
    """The content of a body in one media type. Forms hold lists and objects as JSON."""
    content: dict[str, Any] = {"schema": schemas[operation.body.type]}
    if media_type != JSON_MEDIA_TYPE:
        fields = msgspec.structs.fields(operation.body.type)
        nested = [field.encode_name for field in fields if get_origin(possible_types(field.type)[0]) in (list, dict)]
        content |= {"encoding": {name: {"contentType": JSON_MEDIA_TYPE} for name in nested}} if nested else {}
    return content


def _success_response(operation: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    names: tuple[str, ...] = ("ETag",) if operation.route.method == "GET" and not operation.caching.no_store else ()
    if operation.response.kind is ResponseKind.EMPTY:
        return {"description": "Done.", "headers": header_refs()}
    content: dict[str, Any] = {}
    if operation.response.kind is ResponseKind.RAW and operation.response.type is None:
        schema = operation.response.schema or STRING_SCHEMA
        content = {media_type: {"schema": schema} for media_type in operation.response.media_types}
        return {"description": "Done.", "headers": header_refs(), "content": content}
    schema, example = schemas[operation.response.type], operation.description.example
    if operation.response.alternate_type is not None and operation.response.status == HTTPStatus.OK:
        schema = {"anyOf": [schema, schemas[operation.response.alternate_type]]}
    if operation.response.kind is ResponseKind.LIST:
        names = (*names, "Link", "Fieldgate-Limit")
        schema = list_schema(schema)
        example = {"count": 1, "next": None, "previous": None, "results": [example]}
    content[Format.JSON.media_type] = {"schema": schema, "example": example}
    content |= _other_formats(operation)
    return {"description": "Done.", "headers": header_refs(*names, "Fieldgate-Ignored"), "content": content}


def _other_formats(operation: Operation) -> dict[str, Any]:
    return {
        offered.media_type: {"schema": STRING_SCHEMA}
        for offered in operation.response.formats
        if offered is not Format.JSON
    }
