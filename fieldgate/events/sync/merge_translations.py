"""One record from what a server shows of it in several languages, telling a translation from what it falls back to."""

from collections.abc import Mapping, Sequence
from typing import Any

from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, without_fallbacks

Record = Mapping[str, Any]

# The texts of an event, and of the records inside it.
TRANSLATED_FIELDS = ("name", "summary")
NESTED_TRANSLATED_FIELDS = {
    "field_reports": ("summary", "description"),
    "key_figures": ("deck",),
    "links": ("title", "description"),
}


def merge_translations(records: Mapping[Language, Record], *, english_first: bool = False) -> dict[str, Any]:
    """The record of an event with every text as an object of the languages it exists in.

    A text that is only what the server falls back to is no translation: the one of the original language, or, with
    `english_first`, English before all others, as IFRC GO does it.
    """
    seen = {language.value: record for language, record in records.items()}
    merged = _merge_record(seen, TRANSLATED_FIELDS, english_first)
    for name, texts in NESTED_TRANSLATED_FIELDS.items():
        if merged.get(name) and isinstance(merged[name], list):
            lists = {code: record[name] for code, record in seen.items() if isinstance(record.get(name), list)}
            merged[name] = _merge_items(lists, texts, english_first)
    return merged


def _merge_record(by_language: Mapping[str, Record], texts: Sequence[str], english_first: bool) -> dict[str, Any]:
    """One record from its versions by language; what is no text is the same in all of them."""
    record = dict(next(iter(by_language.values())))
    original = record.get("translation_module_original_language")
    for name in texts:
        shown = {code: each.get(name) for code, each in by_language.items()}
        if any(shown.values()) and all(text is None or isinstance(text, str) for text in shown.values()):
            written_in = original if original in FALLBACK_LANGUAGES else "en"
            record[name] = without_fallbacks(shown, written_in, english_first=english_first)
    return record


def _merge_items(lists: Mapping[str, Sequence[Any]], texts: Sequence[str], english_first: bool) -> list[Any]:
    """The records of a list, each from its versions by language."""
    by_id = {
        code: {item["id"]: item for item in items if isinstance(item, dict) and isinstance(item.get("id"), int)}
        for code, items in lists.items()
    }
    merged = []
    for item in next(iter(lists.values())):
        number = item.get("id") if isinstance(item, dict) else None
        seen = {code: items[number] for code, items in by_id.items() if number in items}
        merged.append(_merge_record(seen, texts, english_first) if seen else item)
    return merged
