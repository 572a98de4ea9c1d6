"""Body of `PUT /api/v2/event/{id}/`: its schema, and how it replaces the stored event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from fieldgate.events.ingest.parsing import parse_event, wire_name
from fieldgate.events.model import Event, Id, Visibility
from fieldgate.http.request.validation import possible_types
from fieldgate.i18n.languages import Language, LanguageCode
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.reference.reference_data import ReferenceData

MAX_BODY_BYTES = 4 * 1024 * 1024

TextInput = Annotated[
    str | dict[LanguageCode, str | None],
    Meta(description="A text in the language of the request, or an object keyed by language."),
]
TimestampInput = Annotated[
    datetime,
    Meta(
        description="ISO 8601; midnight without a time, UTC without a zone.",
        extra_json_schema={"anyOf": [{"format": "date-time"}, {"format": "date"}]},
    ),
]
BooleanInput = Annotated[
    bool
    | Literal[0, 1]
    | Annotated[str, Meta(pattern="^([01]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$")],
    Meta(description="true or false; also as a number or a text."),
]


class ReferenceBody(msgspec.Struct):
    """A record of a country or a disaster type. Only its id is read."""

    id: Annotated[Id, Meta(description="Id.")]


ReferenceInput = Annotated[Id | ReferenceBody, Meta(description="An id, or a record with its id.")]

_BODY_STRUCTS: dict[type, type] = {}


def _body_struct(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Make the body struct of a model struct: wire names, texts as strings or objects, optional fields."""
    if kind not in _BODY_STRUCTS:
        fields: list[Any] = []
        for field in msgspec.structs.fields(kind):
            name = wire_name(field.name)
            # The id is in the URL, and the timestamps default to now.
            is_required = field.required and (
                kind is not Event or name in ("name", "disaster_start_date")
            )
            kind_in_body = _body_type(name, field.type)
            description = f"`{name}`, as in records."
            fields.append(
                (name, Annotated[kind_in_body, Meta(description=description)])
                if is_required
                else (name, Annotated[kind_in_body | None, Meta(description=description)], None)
            )
        _BODY_STRUCTS[kind] = msgspec.defstruct(
            f"{kind.__name__}Body", fields, kw_only=True, module=__name__
        )
    return _BODY_STRUCTS[kind]


def _body_type(name: str, kind: Any) -> Any:
    bare = possible_types(kind)[0]
    if kind == LocalizedText:
        return TextInput
    if bare is datetime:
        return TimestampInput
    if bare is bool:
        return BooleanInput
    if name == "dtype":
        return ReferenceInput
    if kind is Visibility:
        return Literal[tuple(map(int, kind))]
    if get_origin(bare) is tuple:
        item = get_args(bare)[0]
        is_struct = isinstance(item, type) and issubclass(item, msgspec.Struct)
        return list[_body_struct(item)] if is_struct else list[ReferenceInput]  # type: ignore[misc]
    return kind


EventBody = _body_struct(Event)
_EMPTY_BODY = dict.fromkeys(field.name for field in msgspec.structs.fields(EventBody))


def replace_event(
    record: Mapping[str, Any],
    reference_data: ReferenceData,
    language: Language,
    before: Event | None,
    timestamp: datetime,
) -> Event:
    """Replace the stored event. Fields the record does not have are reset.

    What a detail record cannot express is kept: texts in other languages, and further figures of field reports.
    """
    dates = {} if before else {"created_at": timestamp, "updated_at": timestamp}
    sent = {name: value for name, value in record.items() if value is not None}
    event = parse_event({**_EMPTY_BODY, **dates, **sent}, reference_data, language, before)
    if before is not None and event != before and event.updated_at <= before.updated_at:
        # Clients that keep a copy request changes by `updated_at`, so every change must advance it.
        return msgspec.structs.replace(event, updated_at=timestamp)
    return event
