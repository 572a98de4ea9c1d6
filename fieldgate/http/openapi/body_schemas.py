"""Schemas of request bodies: one for each media type.

JSON has no files. In a form every value is text, so null does not exist, and lists and objects are JSON in a text. Only
a multipart body has files. Each schema has its own name, because generated clients choose the media type by the type of
the body.
"""

from typing import Any, get_origin

import msgspec

from fieldgate.http.openapi.components import BINARY_SCHEMA, SCHEMA_PATH, STRING_SCHEMA
from fieldgate.http.operations import RequestBody
from fieldgate.http.request.body_parsing import JSON_MEDIA_TYPE, EncodedJSON, UploadedFile
from fieldgate.http.request.validation import possible_types

MULTIPART_MEDIA_TYPE = "multipart/form-data"
# A suffix of the struct's name for each media type.
_SUFFIXES = {
    JSON_MEDIA_TYPE: "",
    "application/x-www-form-urlencoded": "Form",
    MULTIPART_MEDIA_TYPE: "Multipart",
}

Schema = dict[str, Any]


class BodySchemas:
    """The schemas of all bodies. `components` are those of the structs, as they are declared."""

    def __init__(self, components: dict[str, Schema]) -> None:
        self._declared = components
        self.components = dict(components)  # and those of each media type

    def split(self, body: RequestBody, schema: Schema) -> dict[str, Schema]:
        """Return the schema of a body in each of its media types."""
        if len(body.media_types) == 1:
            return {body.media_types[0]: schema}
        name = schema["$ref"].removeprefix(SCHEMA_PATH)
        found: dict[str, Schema] = {}
        for media_type in _preferred_first(body):
            own_name = name + _SUFFIXES[media_type]
            if own_name != name and own_name in self._declared:
                raise ValueError(
                    f"{own_name} is the name of a struct and of a body; rename the struct"
                )
            own_schema = _body_schema(body.type, self._declared[name], media_type)
            self.components[own_name] = own_schema | {"title": own_name}
            found[media_type] = {"$ref": SCHEMA_PATH + own_name}
        return found


def _preferred_first(body: RequestBody) -> list[str]:
    """The media types; first the one with a file, if there is one: many generated clients use the first only.

    A body whose content is JSON, or else a file, is sent as JSON by most.
    """
    types = {
        each for field in msgspec.structs.fields(body.type) for each in possible_types(field.type)
    }
    has_file = UploadedFile in types and EncodedJSON not in types
    return sorted(
        body.media_types, key=lambda media_type: has_file and media_type != MULTIPART_MEDIA_TYPE
    )


def _body_schema(kind: type[msgspec.Struct], declared: Schema, media_type: str) -> Schema:
    properties: dict[str, Schema] = {}
    for field in msgspec.structs.fields(kind):
        types = possible_types(field.type)
        if UploadedFile in types and media_type != MULTIPART_MEDIA_TYPE:
            continue
        schema = _without_blank_default(declared["properties"][field.encode_name])
        if media_type != JSON_MEDIA_TYPE:
            schema = _as_form_field(schema, types)
            if not field.required and schema.get("type") == "string" and "format" not in schema:
                # Swagger UI fills in "string" otherwise, and sends it. A blank field of a form is not sent.
                schema = {**schema, "examples": [""]}
        properties[field.encode_name] = schema
    return {**declared, "properties": properties}


def _as_form_field(schema: Schema, types: list[Any]) -> Schema:
    schema = without_null(schema)
    about = {key: schema[key] for key in ("description",) if key in schema}
    if UploadedFile in types:
        return BINARY_SCHEMA | about
    if types[0] is EncodedJSON or get_origin(types[0]) in (list, dict):
        structure = {key: value for key, value in schema.items() if key not in about}
        return {
            **STRING_SCHEMA,
            "contentMediaType": JSON_MEDIA_TYPE,
            "contentSchema": structure,
            **about,
        }
    return STRING_SCHEMA | about if types == [Any] else schema


def without_null(schema: Schema) -> Schema:
    """A schema of a value that can be left out but not be null."""
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if not choices:
        return schema
    own = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], **own} if len(choices) == 1 else {**own, "anyOf": choices}


def _without_blank_default(schema: Schema) -> Schema:
    """Without a default that means "absent": generated clients would send it."""
    return {
        key: value for key, value in schema.items() if key != "default" or value not in ("", None)
    }
