"""Parse event records: of lists, of single events, or as sent to this API.

    event = parse_event(record, reference_data, Language.FRENCH, before)

A text is a string in the language of the record, or an object keyed by language. Fields the record does not have keep
their stored values. All errors are collected, each with the path of its field.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from fieldgate.events.ingest.value_parsers import (
    MUST_BE_LIST,
    REQUIRED,
    FieldContext,
    RecordContext,
    ValueParser,
    invalid_value,
    parse_countries,
    parse_datetime,
    parse_localized_text,
    parse_name,
    parse_type_id,
    parse_visibility,
    scalar_parser,
    text_parser,
)
from fieldgate.events.model import Event, EventLink, FieldReport, Visibility
from fieldgate.events.records import AFFECTED_FIELDS
from fieldgate.http.pagination_links import parse_integer
from fieldgate.http.request.validation import parse_timestamp, possible_types
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.i18n.messages import Message
from fieldgate.reference.reference_data import ReferenceData

MUST_BE_OBJECT = Message("Send an object.")

_SLUG = re.compile(r"[a-z_-][a-z0-9_-]{0,49}")
_RESERVED_SLUGS = ("deleted", "export", "mini", "response-activity")  # paths beside those of events
_ORIGINAL_LANGUAGE = "translation_module_original_language"
_WIRE_NAMES = {"original_language": _ORIGINAL_LANGUAGE}


class InvalidEvent(Exception):
    """A record is not a valid event. `errors` has the path and the message of each error."""

    def __init__(self, errors: Sequence[tuple[str, Message]]) -> None:
        super().__init__("; ".join(f"{path}: {message}" for path, message in errors))
        self.errors = tuple(errors)

    def by_field(self) -> dict[str, list[Message]]:
        messages: dict[str, list[Message]] = {}
        for path, message in self.errors:
            messages.setdefault(path, []).append(message)
        return messages


def parse_event(
    record: Mapping[str, Any],
    reference_data: ReferenceData,
    language: Language = Language.ENGLISH,
    before: Event | None = None,
) -> Event:
    """Parse a record, or raise `InvalidEvent` with all errors. `before` is the stored event, if any."""
    context = RecordContext(reference_data, language)
    event = _parse_struct(
        Event, _with_default_dates(record, before), FieldContext(context, "", before)
    )
    if context.errors:
        raise InvalidEvent(context.errors)
    assert isinstance(event, Event)  # noqa: S101 -- without errors there is an event
    preview = event.countries_for_preview
    if preview is not None and set(preview) == set(
        event.countries
    ):  # as records show it where the event does not say
        return msgspec.structs.replace(event, countries_for_preview=None)
    return event


def wire_name(name: str) -> str:
    """The name in records of a field of the model."""
    return _WIRE_NAMES.get(name, name)


def _with_default_dates(record: Mapping[str, Any], before: Event | None) -> Mapping[str, Any]:
    """Fill in missing timestamps: from the stored event, or from the date of the disaster."""
    if record.get("created_at") is not None and record.get("updated_at") is not None:
        return record
    created_at, updated_at = record.get("created_at"), record.get("updated_at")
    if created_at is None:
        created_at = (
            before.created_at if before else _timestamp_or_min(record.get("disaster_start_date"))
        )
    if updated_at is None:
        updated_at = before.updated_at if before else _timestamp_or_min(created_at)
    return {**record, "created_at": created_at, "updated_at": updated_at}


def _timestamp_or_min(value: Any) -> datetime:
    """The timestamp in another field. If that is invalid, the field has its own error."""
    try:
        return value if isinstance(value, datetime) else parse_timestamp(value)
    except (ValueError, AttributeError):  # AttributeError if the value is not a string
        return datetime.min


class _FieldSpec(NamedTuple):
    name: str
    wire_name: str
    is_required: bool
    default: Any
    parse: ValueParser


def _parse_struct(
    kind: type[msgspec.Struct], record: Mapping[str, Any], context: FieldContext
) -> Any:
    """Parse a struct of the model. Returns None if there was an error. `context.path` is the prefix of its fields."""
    errors, before = context.record.errors, context.before
    error_count = len(errors)
    values: dict[str, Any] = {}
    sent = record.get(_ORIGINAL_LANGUAGE)
    original: str = sent if isinstance(sent, str) else getattr(before, "original_language", "en")
    for field in _field_specs(kind):
        stored = None if before is None else getattr(before, field.name)
        if before is not None and field.wire_name not in record:
            values[field.name] = stored
            continue
        path = context.path + field.wire_name
        value = record.get(field.wire_name)
        if value is None:
            if field.is_required:
                errors.append((path, REQUIRED))
            continue
        try:
            parsed = field.parse(value, FieldContext(context.record, path, stored, original))
        except ValueError as error:
            errors.append((path, error.args[0]))
            continue
        if (
            parsed != field.default
        ):  # stored events omit a default only if it is the very same object
            values[field.name] = parsed
    return kind(**values) if len(errors) == error_count else None


@cache
def _field_specs(kind: type[msgspec.Struct]) -> tuple[_FieldSpec, ...]:
    return tuple(
        _FieldSpec(
            name=field.name,
            wire_name=wire_name(field.name),
            is_required=field.required,
            default=field.default,
            parse=_FIELD_PARSERS.get((kind, field.name)) or _parser_for(field.type),
        )
        for field in msgspec.structs.fields(kind)
    )


def _parser_for(kind: Any) -> ValueParser:
    bare = possible_types(kind)[0]
    if bare == LocalizedText:
        return parse_localized_text
    if get_origin(bare) is tuple:
        item = get_args(bare)[0]
        return parse_countries if possible_types(item)[0] is int else _items_parser(item)
    if bare is datetime:
        return parse_datetime
    if bare is Visibility:
        return parse_visibility
    return text_parser(kind) if bare is str else scalar_parser(kind)


def _items_parser(kind: type[msgspec.Struct]) -> ValueParser:
    """Parser for a list of nested records, such as appeals. Each is merged with the stored one of the same id."""

    def parse(value: Any, field: FieldContext) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(MUST_BE_LIST)
        stored: dict[int, Any] = {item.id: item for item in field.before or ()}
        items = []
        for index, record in enumerate(value):
            path = f"{field.path}.{index}"
            if not isinstance(record, dict):
                field.record.errors.append((path, MUST_BE_OBJECT))
                continue
            if kind is FieldReport:
                record = _with_recent_affected(record)
            id_ = record.get("id")
            before = stored.get(id_) if isinstance(id_, int) else None
            items.append(
                _parse_struct(kind, record, FieldContext(field.record, f"{path}.", before))
            )
        by_id = {item.id: item for item in items if item is not None}
        if (
            kind is EventLink
        ):  # links are shown in the order of the record; all others are sorted when shown
            return tuple(by_id.values())
        stored_order = [id_ for id_ in stored if id_ in by_id]
        return tuple(by_id[id_] for id_ in dict.fromkeys([*stored_order, *by_id]))

    return parse


def _with_recent_affected(record: dict[str, Any]) -> dict[str, Any]:
    """Set `recent_affected`, which a detail record implies: of the six figures, it has only the current one."""
    if "recent_affected" in record:
        return record
    present = [index for index, name in enumerate(AFFECTED_FIELDS, start=1) if name in record]
    return {**record, "recent_affected": present[0]} if len(present) == 1 else record


def _parse_slug(value: Any, _: FieldContext) -> str | None:
    if value == "":
        return None
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        expected = Message(
            "Enter at most 50 lowercase letters, digits, - and _, not starting with a digit."
        )
        raise invalid_value(value, expected)
    if value in _RESERVED_SLUGS or parse_integer(value) is not None:
        names = ", ".join(_RESERVED_SLUGS)
        raise invalid_value(
            value, Message("The slug cannot be a number or one of: {names}.", names=names)
        )
    return value


_FIELD_PARSERS: dict[tuple[type, str], ValueParser] = {
    (Event, "name"): parse_name,
    (Event, "slug"): _parse_slug,
    (Event, "dtype"): parse_type_id,
}
