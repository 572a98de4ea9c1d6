"""Parsers for the translated texts of event records: a string in one language, or an object keyed by language."""

from collections.abc import Mapping
from typing import Any

from fieldgate.events.ingest.value_parsers import (
    MAX_QUOTED_CHARS,
    FieldContext,
    invalid_value,
    parse_text,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, LocalizedText, in_language
from fieldgate.i18n.messages import Message, PluralMessage

MAX_NAME_CHARS = 256

REQUIRED = Message("This field is required.")

_LANGUAGE_CODES = frozenset(language.value for language in Language)


def parse_localized_text(value: Any, field: FieldContext) -> LocalizedText:
    if isinstance(value, Mapping):
        return _parse_translations(value, field)
    text = parse_text(value, field)
    return _merge_translation(text, field.record.language, field.before or {}, field.original_language)


def parse_name(value: Any, field: FieldContext) -> LocalizedText:
    names = parse_localized_text(value, field)
    if max(map(len, names.values()), default=0) > MAX_NAME_CHARS:
        raise ValueError(
            PluralMessage(
                "Enter text of at most {count} character.", "Enter text of at most {count} characters.", MAX_NAME_CHARS
            )
        )
    if not any(name.strip() for name in names.values()):
        raise ValueError(REQUIRED)
    return names


def _parse_translations(value: Mapping[str, Any], field: FieldContext) -> LocalizedText:
    texts: LocalizedText = {}
    for code, text in value.items():
        try:
            if code not in _LANGUAGE_CODES:
                choices = Message("Choose one of: {choices}.", choices=", ".join(sorted(_LANGUAGE_CODES)))
                raise invalid_value(code, choices)
            if text is not None and parse_text(text, field):
                texts[code] = text
        except ValueError as error:
            field.record.errors.append((f"{field.path}.{code[:MAX_QUOTED_CHARS]}", error.args[0]))
    return texts


def _merge_translation(text: str, language: Language, before: LocalizedText, original: str) -> LocalizedText:
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
