"""A whole event as it is sent to us: what is taken, for the description, and how it becomes the event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from fieldgate.events.ingest.parsing import parse_event, wire_name
from fieldgate.events.model import Event, Visibility
from fieldgate.i18n.languages import Language, LanguageCode
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.reference.reference_data import ReferenceData

MAX_BODY_BYTES = 4 * 1024 * 1024  # bytes of JSON

TextInput = Annotated[
    str | dict[LanguageCode, str | None], Meta(description="A text in your language, or an object by language.")
]
ReferenceInput = Annotated[int | dict[str, Any], Meta(description="An id, or a record with its id.")]

_BODY_STRUCTS: dict[type, type] = {}


def _body_struct(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A struct of the model as it is sent: named as in records, texts as words, what may be missing optional."""
    if kind not in _BODY_STRUCTS:
        fields: list[Any] = []
        for field in msgspec.structs.fields(kind):
            name = wire_name(field.name)
            # The address says which event it is, and we know when it came.
            is_needed = field.required and (kind is not Event or name in ("name", "disaster_start_date"))
            taken = _body_type(name, field.type)
            about = f"`{name}`, as in records."
            fields.append(
                (name, Annotated[taken, Meta(description=about)])
                if is_needed
                else (name, Annotated[taken | None, Meta(description=about)], None)
            )
        _BODY_STRUCTS[kind] = msgspec.defstruct(f"{kind.__name__}Body", fields, kw_only=True, module=__name__)
    return _BODY_STRUCTS[kind]


def _body_type(name: str, kind: Any) -> Any:
    if kind == LocalizedText:
        return TextInput
    if name == "dtype":
        return ReferenceInput
    if kind is Visibility:
        return Literal[tuple(map(int, kind))]
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
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
    """The event that a whole record makes of the one before. What the record lacks is gone with it.

    What no record of one event can carry stays: other languages of a text, and the reports' further figures.
    """
    dates = {} if before else {"created_at": timestamp, "updated_at": timestamp}
    given = {name: value for name, value in record.items() if value is not None}
    event = parse_event({**_EMPTY_BODY, **dates, **given}, reference_data, language, before)
    if before is not None and event != before and event.updated_at <= before.updated_at:
        # Whoever keeps a copy asks for what changed since: a change that does not say when it was made, is made now.
        return msgspec.structs.replace(event, updated_at=timestamp)
    return event
