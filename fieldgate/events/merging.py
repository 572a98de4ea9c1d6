"""One event from what a server shows of it in several languages, telling a translation from what it falls back to."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from fieldgate.events.model import Event, Texts
from fieldgate.http.language import Language
from fieldgate.reference.texts import own_texts

Struct = TypeVar("Struct", bound=msgspec.Struct)


def merge_languages(events: Mapping[Language, Event], *, english_first: bool = False) -> Event:
    """The event with every text in the languages it exists in.

    Each event is as it was read in its language. A text that is only what the server falls back to is no translation:
    the one of the original language, or, with `english_first`, English before all others, as IFRC GO does it.
    """
    return _merged({language.value: event for language, event in events.items()}, english_first=english_first)


def _merged(seen: Mapping[str, Struct], *, english_first: bool) -> Struct:
    """One struct from its versions by language; what is no text is the same in all of them."""
    codes = list(seen)
    first = seen[codes[0]]
    changes: dict[str, Any] = {}
    for field in msgspec.structs.fields(first):
        values = [getattr(seen[code], field.name) for code in codes]
        if field.type == Texts:
            shown = {code: texts[code] for code, texts in zip(codes, values, strict=True) if texts.get(code)}
            original = getattr(first, "original_language", "en")
            changes[field.name] = own_texts(shown, original, english_first=english_first)
        elif get_origin(field.type) is tuple and values[0] and _is_struct(get_args(field.type)[0]):
            changes[field.name] = _items(dict(zip(codes, values, strict=True)), english_first=english_first)
    return msgspec.structs.replace(first, **changes) if changes else first


def _items(seen: Mapping[str, Sequence[Any]], *, english_first: bool) -> tuple[Any, ...]:
    """The items of a list, each from its versions by language."""
    first, *others = seen.items()
    by_id = {code: {item.id: item for item in items} for code, items in others}
    return tuple(
        _merged(
            {first[0]: item, **{code: items[item.id] for code, items in by_id.items() if item.id in items}},
            english_first=english_first,
        )
        for item in first[1]
    )


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
