"""The list of languages, and what is derived from it."""

import pytest

from fieldgate.i18n.languages import (
    FALLBACK_ORDER,
    Language,
)


@pytest.mark.parametrize(
    ("language", "english_name", "native_name", "direction"),
    [
        (Language.ENGLISH, "English", "English", "ltr"),
        (Language.FRENCH, "French", "Français", "ltr"),
        (Language.ARABIC, "Arabic", "العربية", "rtl"),
        (Language.SPANISH, "Spanish", "Español", "ltr"),
    ],
)
def test_names_and_direction_come_from_cldr(
    language: Language, english_name: str, native_name: str, direction: str
) -> None:
    assert (language.english_name, language.native_name, language.direction) == (english_name, native_name, direction)


def test_fallback_order_starts_as_the_interface_says_and_has_every_language() -> None:
    assert [language.value for language in FALLBACK_ORDER[:4]] == ["en", "fr", "es", "ar"]
    assert sorted(FALLBACK_ORDER, key=list(Language).index) == list(Language)
