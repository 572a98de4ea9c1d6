"""A whole event as it is sent to us: what is taken, for the description, and how it becomes the event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from fieldgate.events.ingest.parsing import read_event, wire_name
from fieldgate.events.model import Code, Event, Texts
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

LARGEST = 4 * 1024 * 1024  # bytes of JSON

Words = Annotated[str | dict[Code, str | None], Meta(description="A text in your language, or an object by language.")]
Reference = Annotated[int | dict[str, Any], Meta(description="An id, or a record with its id.")]

_SENT: dict[type, type] = {}


def _sent(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A struct of the model as it is sent: named as in records, texts as words, what may be missing optional."""
    if kind not in _SENT:
        fields: list[Any] = []
        for field in msgspec.structs.fields(kind):
            name = wire_name(field.name)
            # The address says which event it is, and we know when it came.
            is_needed = field.required and (kind is not Event or name in ("name", "disaster_start_date"))
            taken = _sent_type(name, field.type)
            about = f"`{name}`, as in records."
            fields.append(
                (name, Annotated[taken, Meta(description=about)])
                if is_needed
                else (name, Annotated[taken | None, Meta(description=about)], None)
            )
        _SENT[kind] = msgspec.defstruct(f"{kind.__name__}Body", fields, kw_only=True, module=__name__)
    return _SENT[kind]


def _sent_type(name: str, kind: Any) -> Any:
    if kind == Texts:
        return Words
    if name == "dtype":
        return Reference
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        is_struct = isinstance(item, type) and issubclass(item, msgspec.Struct)
        return list[_sent(item)] if is_struct else list[Reference]  # type: ignore[misc]
    return kind


EventBody = _sent(Event)
_NOTHING = dict.fromkeys(field.name for field in msgspec.structs.fields(EventBody))


def replaced(
    record: Mapping[str, Any],
    directory: ReferenceData,
    language: Language,
    before: Event | None,
    moment: datetime,
) -> Event:
    """The event that a whole record makes of the one before. What the record lacks is gone with it.

    What no record of one event can carry stays: other languages of a text, and the reports' further figures.
    """
    dates = {} if before else {"created_at": moment, "updated_at": moment}
    given = {name: value for name, value in record.items() if value is not None}
    event = read_event({**_NOTHING, **dates, **given}, directory, language, before)
    if before is not None and event != before and event.updated_at <= before.updated_at:
        # Whoever keeps a copy asks for what changed since: a change that does not say when it was made, is made now.
        return msgspec.structs.replace(event, updated_at=moment)
    return event
