"""Merge the versions of a record in several languages into one, dropping texts that are only fallbacks.

A server shows a text in every language. Where it has no translation, it falls back: Fieldgate to the original language,
IFRC GO to the first of English, French, Spanish and Arabic. The texts alone do not always tell which of them are
translations: if a Spanish original is shown in French in all other languages, then the English text may be missing, or
the French one. So only texts are dropped that Fieldgate's own fallback shows again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, without_fallbacks

Record = Mapping[str, Any]

# Translated fields of an event, and of the records nested in it.
TRANSLATED_FIELDS = ("name", "summary")
NESTED_TRANSLATED_FIELDS = {
    "field_reports": ("summary", "description"),
    "key_figures": ("deck",),
    "links": ("title", "description"),
}


def merge_translations(records: Mapping[Language, Record]) -> dict[str, Any]:
    """Return the event record with each translated field as an object keyed by language."""
    by_code = {language.value: record for language, record in records.items()}
    merged = _merge_record(by_code, TRANSLATED_FIELDS)
    for name, nested_names in NESTED_TRANSLATED_FIELDS.items():
        if merged.get(name) and isinstance(merged[name], list):
            lists = {
                code: record[name]
                for code, record in by_code.items()
                if isinstance(record.get(name), list)
            }
            merged[name] = _merge_items(lists, nested_names)
    return merged


def _merge_record(by_language: Mapping[str, Record], names: Sequence[str]) -> dict[str, Any]:
    """Merge one record. Fields that are not texts are the same in all languages."""
    record = dict(next(iter(by_language.values())))
    original = record.get("translation_module_original_language")
    for name in names:
        texts_by_code = {code: each.get(name) for code, each in by_language.items()}
        if any(texts_by_code.values()) and all(
            text is None or isinstance(text, str) for text in texts_by_code.values()
        ):
            written_in = original if original in FALLBACK_LANGUAGES else "en"
            record[name] = without_fallbacks(texts_by_code, written_in)
    return record


def _merge_items(lists: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[Any]:
    """Merge a list of nested records by their ids."""
    by_id = {
        code: {
            item["id"]: item
            for item in items
            if isinstance(item, dict) and isinstance(item.get("id"), int)
        }
        for code, items in lists.items()
    }
    merged = []
    for item in next(iter(lists.values())):
        id_ = item.get("id") if isinstance(item, dict) else None
        versions = {code: items[id_] for code, items in by_id.items() if id_ in items}
        merged.append(_merge_record(versions, names) if versions else item)
    return merged
