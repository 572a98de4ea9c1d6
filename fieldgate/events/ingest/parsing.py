"""Events read from records: as any server with this interface writes them, in lists or alone, or as we take them.

    event = read_event(record, directory, Language.FRENCH, before)

A text is a string, in the language of the answer the record is from, or an object by language. What a record does
not carry stays as it was before. Everything wrong is told at once, each with the path of its field.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from fieldgate.events.document_templates import AFFECTED_FIELDS
from fieldgate.events.model import Event, EventLink, FieldReport, Id, Visibility
from fieldgate.http.request.page_parsing import parse_integer
from fieldgate.http.request.validation import NULL_CHARACTERS, expected_message, parse_timestamp
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, LocalizedText, in_language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.reference.reference_data import ReferenceData

MAX_NAME_CHARS = 256
MAX_QUOTED_CHARS = 40  # characters of a wrong value that are said again

REQUIRED = Message("This field is required.")
MUST_BE_LIST = Message("Send a list.")
MUST_BE_OBJECT = Message("Send an object.")

_SLUG = re.compile(r"[a-z_-][a-z0-9_-]{0,49}")
_RESERVED_SLUGS = ("deleted", "export", "mini")  # beside those of events
_LANGUAGES = frozenset(language.value for language in Language)
_WIRE_NAMES = {"original_language": "translation_module_original_language"}

ValueParser = Callable[["_ParseContext", Any, str, Any, str], Any]  # value, path, what was there, original language


class InvalidEvent(Exception):
    """A record that is no event: the path of every field that is wrong, and what is wrong with it."""

    def __init__(self, errors: Sequence[tuple[str, Message]]) -> None:
        super().__init__("; ".join(f"{path}: {message}" for path, message in errors))
        self.errors = tuple(errors)

    def by_field(self) -> dict[str, list[Message]]:
        found: dict[str, list[Message]] = {}
        for path, message in self.errors:
            found.setdefault(path, []).append(message)
        return found


def parse_event(
    record: Mapping[str, Any],
    reference_data: ReferenceData,
    language: Language = Language.ENGLISH,
    before: Event | None = None,
) -> Event:
    """The event of a record, or `Unreadable` with everything that is wrong."""
    reading = _ParseContext(reference_data, language)
    event = reading.parse_struct(Event, _with_default_dates(record, before), "", before)
    if reading.errors:
        raise InvalidEvent(reading.errors)
    assert isinstance(event, Event)  # noqa: S101 -- what cannot be made has its problem
    return event


def wire_name(name: str) -> str:
    """What a field of the model is called in records."""
    return _WIRE_NAMES.get(name, name)


def _with_default_dates(record: Mapping[str, Any], before: Event | None) -> Mapping[str, Any]:
    """A record that does not say when it was made or changed: then as before, else with what it tells of."""
    if record.get("created_at") is not None and record.get("updated_at") is not None:
        return record
    made, changed = record.get("created_at"), record.get("updated_at")
    if made is None:
        made = before.created_at if before else _timestamp_or_min(record.get("disaster_start_date"))
    if changed is None:
        changed = before.updated_at if before else _timestamp_or_min(made)
    return {**record, "created_at": made, "updated_at": changed}


def _timestamp_or_min(value: Any) -> datetime:
    """A moment another field tells; where it cannot be read, that field's own problem says so."""
    try:
        return value if isinstance(value, datetime) else parse_timestamp(value)
    except (ValueError, AttributeError):  # the latter for what is no text
        return datetime.min


class _FieldSpec(NamedTuple):
    name: str
    wire_name: str
    is_required: bool
    default: Any
    parse: ValueParser


class _ParseContext:
    """One record under way: what it is read with, and the problems found so far."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self.reference_data = reference_data
        self.language = language
        self.errors: list[tuple[str, Message]] = []

    def parse_struct(self, kind: type[msgspec.Struct], record: Mapping[str, Any], path: str, before: Any) -> Any:
        """A struct of the model, or None where a problem was found."""
        known = len(self.errors)
        taken: dict[str, Any] = {}
        said = record.get("translation_module_original_language")
        original: str = said if isinstance(said, str) else getattr(before, "original_language", "en")
        for name, on_the_wire, is_required, default, read in _field_specs(kind):
            was = None if before is None else getattr(before, name)
            if before is not None and on_the_wire not in record:
                taken[name] = was
                continue
            value = record.get(on_the_wire)
            if value is None:
                if is_required:
                    self.errors.append((path + on_the_wire, REQUIRED))
                continue
            try:
                found = read(self, value, path + on_the_wire, was, original)
            except ValueError as error:
                self.errors.append((path + on_the_wire, error.args[0]))
                continue
            if found != default:  # the default itself is left out when an event is stored, what only equals it is not
                taken[name] = found
        return kind(**taken) if len(self.errors) == known else None


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
    """How a value of this type is read."""
    bare = _unwrap_type(kind)
    if bare == LocalizedText:
        return _parse_texts
    if get_origin(bare) is tuple:
        return _items_parser(get_args(bare)[0])
    if bare is datetime:
        return _parse_datetime
    if bare is str:
        return _text_parser(kind)
    if bare is Visibility:
        return _parse_visibility
    return _scalar_parser(kind, bare)


def _unwrap_type(kind: Any) -> Any:
    """A type without its limits, and without None."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(choice for choice in get_args(kind) if choice is not NoneType)
    return kind


def _invalid_value(value: Any, expected: Message) -> ValueError:
    if isinstance(value, (Mapping, list)):
        return ValueError(expected)
    said = str(value)[:MAX_QUOTED_CHARS].replace("\0", "")
    return ValueError(Message("“{value}” cannot be taken. {expected}", value=said, expected=expected))


def _scalar_parser(kind: Any, bare: Any) -> ValueParser:
    """Numbers, choices, true and false. Numbers may be written as text, as the live system writes decimals."""
    is_number = bare in (int, float) or (get_origin(bare) is Literal and isinstance(get_args(bare)[0], int))
    expected = expected_message(kind)
    convert = bare if get_origin(bare) is Literal else kind

    def read(_: _ParseContext, value: Any, __: str, ___: Any, ____: str) -> Any:
        try:
            if is_number and isinstance(value, (str, float)):
                value = msgspec.convert(value, float if bare is float else int, strict=False)
            taken = msgspec.convert(value, convert, strict=bare is not bool and bare is not float)
        except msgspec.ValidationError:
            raise _invalid_value(value, expected) from None
        if bare is float and not math.isfinite(taken):
            raise _invalid_value(value, expected)
        return taken

    return read


def _text_parser(kind: Any) -> ValueParser:
    expected = expected_message(kind)

    def read(_: _ParseContext, value: Any, __: str, ___: Any, ____: str) -> str:
        if isinstance(value, str) and "\0" in value:
            raise ValueError(NULL_CHARACTERS)
        try:
            return str(msgspec.convert(value, kind))
        except msgspec.ValidationError:
            raise _invalid_value(value, expected) from None

    return read


def _parse_datetime(_: _ParseContext, value: Any, __: str, ___: Any, ____: str) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value)
    except (ValueError, AttributeError):  # the latter for what is no text
        raise _invalid_value(value, expected_message(datetime)) from None


def _items_parser(kind: Any) -> ValueParser:
    if _unwrap_type(kind) is int:
        return _parse_countries

    def read(reading: _ParseContext, value: Any, path: str, before: Any, __: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(MUST_BE_LIST)
        known = {item.id: item for item in before or ()}
        items = []
        for place, record in enumerate(value):
            where = f"{path}.{place}"
            if not isinstance(record, dict):
                reading.errors.append((where, MUST_BE_OBJECT))
                continue
            if kind is FieldReport:
                record = _with_recent_affected(record)
            number = record.get("id")
            was = known.get(number) if isinstance(number, int) else None
            items.append(reading.parse_struct(kind, record, f"{where}.", was))
        found = {item.id: item for item in items if item is not None}
        if kind is EventLink:  # shown in the order they are kept in; all others are not
            return tuple(found.values())
        as_before = [number for number in known if number in found]
        return tuple(found[number] for number in dict.fromkeys([*as_before, *found]))

    return read


def _with_recent_affected(record: dict[str, Any]) -> dict[str, Any]:
    """A report in the record of one event holds, of the six figures, only the one that counts."""
    if "recent_affected" in record:
        return record
    there = [place for place, name in enumerate(AFFECTED_FIELDS, start=1) if name in record]
    return {**record, "recent_affected": there[0]} if len(there) == 1 else record


def _parse_texts(context: _ParseContext, value: Any, path: str, before: Any, original: str) -> LocalizedText:
    if isinstance(value, Mapping):
        return _parse_translations(context, value, path)
    text = _parse_text(context, value, path, None, original)
    return _merge_translation(text, context.language, before or {}, original)


def _parse_translations(context: _ParseContext, value: Mapping[str, Any], path: str) -> LocalizedText:
    texts: LocalizedText = {}
    for code, text in value.items():
        try:
            if code not in _LANGUAGES:
                choices = Message("Choose one of: {choices}.", choices=", ".join(sorted(_LANGUAGES)))
                raise _invalid_value(code, choices)
            if text is not None and _parse_text(context, text, path, None, code):
                texts[code] = text
        except ValueError as error:
            context.errors.append((f"{path}.{code[:MAX_QUOTED_CHARS]}", error.args[0]))
    return texts


def _merge_translation(text: str, language: Language, before: LocalizedText, original: str) -> LocalizedText:
    """What a text becomes that is now shown like this in one language: the other languages keep theirs.

    Shown is a translation, or what a server falls back to where it has none: to the original, or to English first.
    """
    if not text:
        return {}
    if in_language(before, language, original) == text:
        return before
    others = {code: each for code, each in before.items() if code != language.value}
    english_first = next((others[code] for code in FALLBACK_LANGUAGES if others.get(code)), None)
    if text in (in_language(others, language, original), english_first):
        return others
    return {**others, language.value: text}


def _parse_name(context: _ParseContext, value: Any, path: str, before: Any, original: str) -> LocalizedText:
    names = _parse_texts(context, value, path, before, original)
    longest = max(map(len, names.values()), default=0)
    if longest > MAX_NAME_CHARS:
        raise ValueError(
            PluralMessage(
                "Enter text of at most {count} character.", "Enter text of at most {count} characters.", MAX_NAME_CHARS
            )
        )
    if not any(name.strip() for name in names.values()):
        raise ValueError(REQUIRED)
    return names


def _parse_slug(_: _ParseContext, value: Any, __: str, ___: Any, ____: str) -> str | None:
    if value == "":
        return None
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        expected = Message("Enter at most 50 small letters, digits, - and _, not beginning with a digit.")
        raise _invalid_value(value, expected)
    if value in _RESERVED_SLUGS or parse_integer(value) is not None:
        names = ", ".join(_RESERVED_SLUGS)
        raise _invalid_value(value, Message("Choose another name than a number or one of: {names}.", names=names))
    return value


def _parse_type(context: _ParseContext, value: Any, path: str, __: Any, ___: str) -> int:
    number = _parse_reference_id(context, value, path)
    if context.reference_data.disaster_type(number) is None:
        raise ValueError(Message("There is no disaster type {id}.", id=number))
    return number


def _parse_countries(context: _ParseContext, value: Any, path: str, __: Any, ___: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(MUST_BE_LIST)
    numbers = set()
    for place, item in enumerate(value):
        try:
            number = _parse_reference_id(context, item, path)
            if context.reference_data.country(number) is None:
                raise ValueError(Message("There is no country {id}.", id=number))
            numbers.add(number)
        except ValueError as error:
            context.errors.append((f"{path}.{place}", error.args[0]))
    return tuple(sorted(numbers))


def _parse_reference_id(context: _ParseContext, value: Any, path: str) -> int:
    """The id of something: by itself, or in its record."""
    return int(_parse_id(context, value.get("id") if isinstance(value, dict) else value, path, None, ""))


def _parse_visibility(context: _ParseContext, value: Any, path: str, before: Any, original: str) -> Visibility:
    return Visibility(_parse_visibility_number(context, value, path, before, original))


_visibility_type: Any = Literal[tuple(map(int, Visibility))]
_parse_visibility_number = _scalar_parser(_visibility_type, _visibility_type)
_parse_id = _scalar_parser(Id, int)
_parse_text = _text_parser(Annotated[str, Meta(max_length=2**20)])
_FIELD_PARSERS: dict[tuple[type, str], ValueParser] = {
    (Event, "name"): _parse_name,
    (Event, "slug"): _parse_slug,
    (Event, "dtype"): _parse_type,
}
