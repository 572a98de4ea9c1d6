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

from fieldgate.events.document_templates import AFFECTED
from fieldgate.events.model import Event, EventLink, FieldReport, Id, Texts
from fieldgate.http.request.page_parsing import parse_integer
from fieldgate.http.request.validation import NULL_CHARACTERS, expected_message, parse_timestamp
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, in_language
from fieldgate.i18n.messages import Message
from fieldgate.reference.reference_data import ReferenceData

LONGEST_NAME = 256
LONGEST_QUOTE = 40  # characters of a wrong value that are said again

REQUIRED = Message("This field is required.")
MUST_BE_LIST = Message("Send a list.")
MUST_BE_OBJECT = Message("Send an object.")

_SLUG = re.compile(r"[a-z_-][a-z0-9_-]{0,49}")
_ADDRESSES = ("deleted", "export", "mini")  # beside those of events
_LANGUAGES = frozenset(language.value for language in Language)
_ON_THE_WIRE = {"original_language": "translation_module_original_language"}

Read = Callable[["_Reading", Any, str, Any, str], Any]  # value, path, what was there, original language


class Unreadable(Exception):
    """A record that is no event: the path of every field that is wrong, and what is wrong with it."""

    def __init__(self, problems: Sequence[tuple[str, Message]]) -> None:
        super().__init__("; ".join(f"{path}: {message}" for path, message in problems))
        self.problems = tuple(problems)

    def by_field(self) -> dict[str, list[Message]]:
        found: dict[str, list[Message]] = {}
        for path, message in self.problems:
            found.setdefault(path, []).append(message)
        return found


def read_event(
    record: Mapping[str, Any],
    directory: ReferenceData,
    language: Language = Language.ENGLISH,
    before: Event | None = None,
) -> Event:
    """The event of a record, or `Unreadable` with everything that is wrong."""
    reading = _Reading(directory, language)
    event = reading.struct(Event, _with_dates(record, before), "", before)
    if reading.problems:
        raise Unreadable(reading.problems)
    assert isinstance(event, Event)  # noqa: S101 -- what cannot be made has its problem
    return event


def wire_name(name: str) -> str:
    """What a field of the model is called in records."""
    return _ON_THE_WIRE.get(name, name)


def _with_dates(record: Mapping[str, Any], before: Event | None) -> Mapping[str, Any]:
    """A record that does not say when it was made or changed: then as before, else with what it tells of."""
    if record.get("created_at") is not None and record.get("updated_at") is not None:
        return record
    made, changed = record.get("created_at"), record.get("updated_at")
    if made is None:
        made = before.created_at if before else _moment(record.get("disaster_start_date"))
    if changed is None:
        changed = before.updated_at if before else _moment(made)
    return {**record, "created_at": made, "updated_at": changed}


def _moment(value: Any) -> datetime:
    """A moment another field tells; where it cannot be read, that field's own problem says so."""
    try:
        return value if isinstance(value, datetime) else parse_timestamp(value)
    except (ValueError, AttributeError):  # the latter for what is no text
        return datetime.min


class _Field(NamedTuple):
    name: str
    wire_name: str
    is_required: bool
    default: Any
    read: Read


class _Reading:
    """One record under way: what it is read with, and the problems found so far."""

    def __init__(self, directory: ReferenceData, language: Language) -> None:
        self.directory = directory
        self.language = language
        self.problems: list[tuple[str, Message]] = []

    def struct(self, kind: type[msgspec.Struct], record: Mapping[str, Any], path: str, before: Any) -> Any:
        """A struct of the model, or None where a problem was found."""
        known = len(self.problems)
        taken: dict[str, Any] = {}
        said = record.get("translation_module_original_language")
        original: str = said if isinstance(said, str) else getattr(before, "original_language", "en")
        for name, on_the_wire, is_required, default, read in _fields(kind):
            was = None if before is None else getattr(before, name)
            if before is not None and on_the_wire not in record:
                taken[name] = was
                continue
            value = record.get(on_the_wire)
            if value is None:
                if is_required:
                    self.problems.append((path + on_the_wire, REQUIRED))
                continue
            try:
                found = read(self, value, path + on_the_wire, was, original)
            except ValueError as error:
                self.problems.append((path + on_the_wire, error.args[0]))
                continue
            if found != default:  # the default itself is left out when an event is stored, what only equals it is not
                taken[name] = found
        return kind(**taken) if len(self.problems) == known else None


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            name=field.name,
            wire_name=wire_name(field.name),
            is_required=field.required,
            default=field.default,
            read=_OWN_WAYS.get((kind, field.name)) or _way(field.type),
        )
        for field in msgspec.structs.fields(kind)
    )


def _way(kind: Any) -> Read:
    """How a value of this type is read."""
    bare = _bare(kind)
    if bare == Texts:
        return _read_texts
    if get_origin(bare) is tuple:
        return _items_of(get_args(bare)[0])
    if bare is datetime:
        return _read_datetime
    if bare is str:
        return _text_of(kind)
    return _plain(kind, bare)


def _bare(kind: Any) -> Any:
    """A type without its limits, and without None."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = next(choice for choice in get_args(kind) if choice is not NoneType)
    return kind


def _refused(value: Any, expected: Message) -> ValueError:
    if isinstance(value, (Mapping, list)):
        return ValueError(expected)
    said = str(value)[:LONGEST_QUOTE].replace("\0", "")
    return ValueError(Message("“{value}” cannot be taken. {expected}", value=said, expected=expected))


def _plain(kind: Any, bare: Any) -> Read:
    """Numbers, choices, true and false. Numbers may be written as text, as the live system writes decimals."""
    is_number = bare in (int, float) or (get_origin(bare) is Literal and isinstance(get_args(bare)[0], int))
    expected = expected_message(kind)
    convert = bare if get_origin(bare) is Literal else kind

    def read(_: _Reading, value: Any, __: str, ___: Any, ____: str) -> Any:
        try:
            if is_number and isinstance(value, (str, float)):
                value = msgspec.convert(value, float if bare is float else int, strict=False)
            taken = msgspec.convert(value, convert, strict=bare is not bool and bare is not float)
        except msgspec.ValidationError:
            raise _refused(value, expected) from None
        if bare is float and not math.isfinite(taken):
            raise _refused(value, expected)
        return taken

    return read


def _text_of(kind: Any) -> Read:
    expected = expected_message(kind)

    def read(_: _Reading, value: Any, __: str, ___: Any, ____: str) -> str:
        if isinstance(value, str) and "\0" in value:
            raise ValueError(NULL_CHARACTERS)
        try:
            return str(msgspec.convert(value, kind))
        except msgspec.ValidationError:
            raise _refused(value, expected) from None

    return read


def _read_datetime(_: _Reading, value: Any, __: str, ___: Any, ____: str) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return parse_timestamp(value)
    except (ValueError, AttributeError):  # the latter for what is no text
        raise _refused(value, expected_message(datetime)) from None


def _items_of(kind: Any) -> Read:
    if _bare(kind) is int:
        return _read_countries

    def read(reading: _Reading, value: Any, path: str, before: Any, __: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(MUST_BE_LIST)
        known = {item.id: item for item in before or ()}
        items = []
        for place, record in enumerate(value):
            where = f"{path}.{place}"
            if not isinstance(record, dict):
                reading.problems.append((where, MUST_BE_OBJECT))
                continue
            if kind is FieldReport:
                record = _with_selector(record)
            number = record.get("id")
            was = known.get(number) if isinstance(number, int) else None
            items.append(reading.struct(kind, record, f"{where}.", was))
        found = {item.id: item for item in items if item is not None}
        if kind is EventLink:  # shown in the order they are kept in; all others are not
            return tuple(found.values())
        as_before = [number for number in known if number in found]
        return tuple(found[number] for number in dict.fromkeys([*as_before, *found]))

    return read


def _with_selector(record: dict[str, Any]) -> dict[str, Any]:
    """A report in the record of one event holds, of the six figures, only the one that counts."""
    if "recent_affected" in record:
        return record
    there = [place for place, name in enumerate(AFFECTED, start=1) if name in record]
    return {**record, "recent_affected": there[0]} if len(there) == 1 else record


def _read_texts(reading: _Reading, value: Any, path: str, before: Any, original: str) -> Texts:
    if isinstance(value, Mapping):
        return _by_language(reading, value, path)
    text = _any_text(reading, value, path, None, original)
    return _in_one_language(text, reading.language, before or {}, original)


def _by_language(reading: _Reading, value: Mapping[str, Any], path: str) -> Texts:
    texts: Texts = {}
    for code, text in value.items():
        try:
            if code not in _LANGUAGES:
                choices = Message("Choose one of: {choices}.", choices=", ".join(sorted(_LANGUAGES)))
                raise _refused(code, choices)
            if text is not None and _any_text(reading, text, path, None, code):
                texts[code] = text
        except ValueError as error:
            reading.problems.append((f"{path}.{code[:LONGEST_QUOTE]}", error.args[0]))
    return texts


def _in_one_language(text: str, language: Language, before: Texts, original: str) -> Texts:
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


def _read_name(reading: _Reading, value: Any, path: str, before: Any, original: str) -> Texts:
    names = _read_texts(reading, value, path, before, original)
    longest = max(map(len, names.values()), default=0)
    if longest > LONGEST_NAME:
        raise ValueError(Message("Enter text of at most {length} characters.", length=LONGEST_NAME))
    if not any(name.strip() for name in names.values()):
        raise ValueError(REQUIRED)
    return names


def _read_slug(_: _Reading, value: Any, __: str, ___: Any, ____: str) -> str | None:
    if value == "":
        return None
    if not isinstance(value, str) or not _SLUG.fullmatch(value):
        expected = Message("Enter at most 50 small letters, digits, - and _, not beginning with a digit.")
        raise _refused(value, expected)
    if value in _ADDRESSES or parse_integer(value) is not None:
        names = ", ".join(_ADDRESSES)
        raise _refused(value, Message("Choose another name than a number or one of: {names}.", names=names))
    return value


def _read_type(reading: _Reading, value: Any, path: str, __: Any, ___: str) -> int:
    number = _number(reading, value, path)
    if reading.directory.disaster_type(number) is None:
        raise ValueError(Message("There is no disaster type {id}.", id=number))
    return number


def _read_countries(reading: _Reading, value: Any, path: str, __: Any, ___: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(MUST_BE_LIST)
    numbers = set()
    for place, item in enumerate(value):
        try:
            number = _number(reading, item, path)
            if reading.directory.country(number) is None:
                raise ValueError(Message("There is no country {id}.", id=number))
            numbers.add(number)
        except ValueError as error:
            reading.problems.append((f"{path}.{place}", error.args[0]))
    return tuple(sorted(numbers))


def _number(reading: _Reading, value: Any, path: str) -> int:
    """The id of something: by itself, or in its record."""
    return int(_read_id(reading, value.get("id") if isinstance(value, dict) else value, path, None, ""))


_read_id = _plain(Id, int)
_any_text = _text_of(Annotated[str, Meta(max_length=2**20)])
_OWN_WAYS: dict[tuple[type, str], Read] = {
    (Event, "name"): _read_name,
    (Event, "slug"): _read_slug,
    (Event, "dtype"): _read_type,
}
