"""The search for English words finds them, and nothing else."""

import pytest

from fieldgate.i18n.languages import Language
from tests.browser.untranslated import find_untranslated


@pytest.mark.parametrize(
    ("language", "text", "is_english"),
    [
        (Language.FRENCH, "Log in", True),
        (Language.FRENCH, "Se connecter", False),
        (Language.FRENCH, "Permissions", False),
        (Language.SPANISH, "Permissions", True),
        (Language.ARABIC, "Permissions", True),
        (Language.ARABIC, "Something that is no message", True),
        (Language.ARABIC, "الاسم name مستخدم", False),
        (Language.ARABIC, "CSV, XLSX", False),
        (Language.SPANISH, "2026-05-04", False),
        (Language.SPANISH, "✗ No", False),
        (Language.SPANISH, "Enter a whole number from 1 to 5.", True),
    ],
)
def test_english_text_is_found(language: Language, text: str, is_english: bool) -> None:
    assert bool(find_untranslated(language, [text], [])) == is_english


def test_text_that_is_the_same_on_the_english_page_is_found() -> None:
    assert find_untranslated(Language.FRENCH, ["Somewhere", "Ailleurs"], ["Somewhere"]) == ["Somewhere"]


def test_names_in_the_language_are_not_english() -> None:
    assert find_untranslated(Language.FRENCH, [": Kenya", "Page 3"], [": Kenya", "Page 3"], {"Kenya"}) == []
