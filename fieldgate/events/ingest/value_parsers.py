"""Parsers for the field values of event records, by the type of the model's field.

A parser gets the raw value and its `FieldContext`. It returns the parsed value or raises `ValueError` with a `Message`.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import msgspec
from msgspec import Meta

from fieldgate.events.model import Id, Visibility
from fieldgate.http.request.validation import (
    NULL_CHARACTERS,
    expected_message,
    parse_timestamp,
    possible_types,
    text_limit_message,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, LocalizedText, in_language
from fieldgate.i18n.messages import Message
from fieldgate.reference.reference_data import ReferenceData

MAX_QUOTED_CHARS = 40  # of an invalid value in an error message
MAX_TEXT_CHARS = 2**20
MAX_NAME_CHARS = 256

MUST_BE_LIST = Message("Send a list.")
REQUIRED = Message("This field is required.")

_LANGUAGE_CODES = frozenset(language.value for language in Language)


class RecordContext:
    """What the parsers of one record share, and the errors found so far."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self.reference_data = reference_data
        self.language = language
        self.errors: list[tuple[str, Message]] = []


class FieldContext(NamedTuple):
    """Where a value is in the record, and what the stored event has there."""

    record: RecordContext
    path: str
    before: Any = None
    original_language: str = "en"


ValueParser = Callable[[Any, FieldContext], Any]


def invalid_value(value: Any, expected: Message) -> ValueError:
    if isinstance(value, (Mapping, list)):
        return ValueError(expected)
    quoted = str(value)[:MAX_QUOTED_CHARS].replace("\0", "")
    return ValueError(
        Message("“{value}” is not valid. {expected}", value=quoted, expected=expected)
    )


def scalar_parser(kind: Any) -> ValueParser:
    """Parser for numbers, choices and booleans. Numbers may be strings: the live system sends decimals as strings."""
    bare = possible_types(kind)[0]
    is_choice = get_origin(bare) is Literal
    is_number = bare in (int, float) or (is_choice and isinstance(get_args(bare)[0], int))
    expected = expected_message(kind)
    target = bare if is_choice else kind

    def parse(value: Any, _: FieldContext) -> Any:
        try:
            if is_number and isinstance(value, (str, float)):
                value = msgspec.convert(value, float if bare is float else int, strict=False)
            parsed = msgspec.convert(value, target, strict=bare is not bool and bare is not float)
        except msgspec.ValidationError:
            raise invalid_value(value, expected) from None
        if bare is float and not math.isfinite(parsed):
            raise invalid_value(value, expected)
        return parsed

    return parse


def text_parser(kind: Any) -> ValueParser:
    expected = expected_message(kind)

    def parse(value: Any, _: FieldContext) -> str:
        if isinstance(value, str) and "\0" in value:
            raise ValueError(NULL_CHARACTERS)
        try:
            return str(msgspec.convert(value, kind))
        except msgspec.ValidationError:
            raise invalid_value(value, expected) from None

    return parse


def parse_datetime(value: Any, _: FieldContext) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value)
    except (ValueError, AttributeError):  # AttributeError if the value is not a string
        raise invalid_value(value, expected_message(datetime)) from None


def parse_type_id(value: Any, field: FieldContext) -> int:
    id_ = _parse_reference_id(value, field)
    if field.record.reference_data.types.get(id_) is None:
        raise ValueError(Message("There is no disaster type {id}.", id=id_))
    return id_


def parse_countries(value: Any, field: FieldContext) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(MUST_BE_LIST)
    ids = set()
    for index, item in enumerate(value):
        try:
            id_ = _parse_reference_id(item, field)
            if field.record.reference_data.countries.get(id_) is None:
                raise ValueError(Message("There is no country {id}.", id=id_))
            ids.add(id_)
        except ValueError as error:
            field.record.errors.append((f"{field.path}.{index}", error.args[0]))
    return tuple(sorted(ids))


def _parse_reference_id(value: Any, field: FieldContext) -> int:
    """Parse a reference: an id, or a record with its id."""
    return int(_parse_id(value.get("id") if isinstance(value, dict) else value, field))


def parse_visibility(value: Any, field: FieldContext) -> Visibility:
    return Visibility(_parse_visibility_number(value, field))


_visibility_type: Any = Literal[tuple(map(int, Visibility))]
_parse_visibility_number = scalar_parser(_visibility_type)
_parse_id = scalar_parser(Id)
parse_text = text_parser(Annotated[str, Meta(max_length=MAX_TEXT_CHARS)])


# Translated texts: a string in one language, or an object keyed by language.


def parse_localized_text(value: Any, field: FieldContext) -> LocalizedText:
    if isinstance(value, Mapping):
        return _parse_translations(value, field)
    text = parse_text(value, field)
    return _merge_translation(
        text, field.record.language, field.before or {}, field.original_language
    )


def parse_name(value: Any, field: FieldContext) -> LocalizedText:
    names = parse_localized_text(value, field)
    if max(map(len, names.values()), default=0) > MAX_NAME_CHARS:
        raise ValueError(text_limit_message(MAX_NAME_CHARS))
    if not any(name.strip() for name in names.values()):
        raise ValueError(REQUIRED)
    return names


def _parse_translations(value: Mapping[str, Any], field: FieldContext) -> LocalizedText:
    texts: LocalizedText = {}
    for code, text in value.items():
        try:
            if code not in _LANGUAGE_CODES:
                choices = Message(
                    "Choose one of: {choices}.", choices=", ".join(sorted(_LANGUAGE_CODES))
                )
                raise invalid_value(code, choices)
            if text is not None and parse_text(text, field):
                texts[code] = text
        except ValueError as error:
            field.record.errors.append((f"{field.path}.{code[:MAX_QUOTED_CHARS]}", error.args[0]))
    return texts


def _merge_translation(
    text: str, language: Language, before: LocalizedText, original: str
) -> LocalizedText:
    """Merge a text that a server shows in one language. The stored texts in other languages are kept.

    The text is a translation only if it differs from the fallbacks: the original, or English before all others.
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
