"""Merging the versions of a record in several languages."""

import pytest

from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.i18n.languages import Language

MINIMAL = {"id": 7, "name": "Floods", "disaster_start_date": "2026-07-14"}


@pytest.mark.parametrize(
    ("texts", "original", "english_first"),
    [
        ({"es": "Inundación"}, "es", False),
        ({"es": "Inundación", "en": "Flood"}, "es", False),
        ({"es": "Inundación", "en": "Flood", "fr": "Flood"}, "es", False),
        ({"en": "Flood", "ar": "فيضان"}, "en", False),
        ({"es": "Inundación"}, "es", True),
        ({"es": "Inundación", "en": "Flood"}, "es", True),
        ({"es": "Inundación", "en": "Flood", "fr": "Crue"}, "es", True),
        ({"en": "Flood", "ar": "فيضان"}, "en", True),
        ({"fr": "Crue", "ar": "فيضان", "en": "Flood"}, "fr", True),
    ],
)
def test_fallbacks_are_not_translations(texts: dict[str, str], original: str, english_first: bool) -> None:
    order = ("en", "fr", "es", "ar") if english_first else (original, "en", "fr", "es", "ar")
    records = {}
    for language in Language:
        text = next(texts[code] for code in (language.value, *order) if code in texts)
        records[language] = {**MINIMAL, "name": text, "translation_module_original_language": original}
    assert merge_translations(records, english_first=english_first)["name"] == texts


def test_invalid_texts_are_left_unchanged() -> None:
    record = {**MINIMAL, "name": 5, "links": [5, {"title": "x"}], "field_reports": 7}
    assert merge_translations(dict.fromkeys(Language, record)) == record
