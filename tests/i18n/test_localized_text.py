"""Which language a reader gets where her own is missing."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_all_languages, in_language

CODES = ("en", "fr", "es", "ar")

texts = st.dictionaries(st.sampled_from(CODES), st.sampled_from(["", "one", "two", "three", "four"]))


@given(texts, st.sampled_from(list(Language)), st.sampled_from([*CODES, "", "pt"]))
def test_the_first_text_there_is_in_the_order_of_the_interface(
    texts: dict[str, str], language: Language, original: str
) -> None:
    said = in_language(texts, language, original)
    for code in (language.value, original, "en", "fr", "es", "ar"):
        if texts.get(code):
            assert said == texts[code]
            return
    assert said == ""


@given(texts, st.sampled_from([*CODES, "", "pt"]))
def test_all_languages_at_once(texts: dict[str, str], original: str) -> None:
    assert in_all_languages(texts, original) == [in_language(texts, language, original) for language in Language]


def test_the_language_it_was_written_in_comes_before_english() -> None:
    texts = {"en": "Flood", "es": "Inundación", "fr": ""}
    assert in_language(texts, Language.FRENCH, "es") == "Inundación"
    assert in_language(texts, Language.FRENCH, "ar") == "Flood"
    assert in_language(texts, Language.SPANISH, "en") == "Inundación"
