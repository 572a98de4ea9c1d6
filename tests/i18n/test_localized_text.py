"""Fallbacks of texts that are not translated."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import FALLBACK_ORDER, Language
from fieldgate.i18n.localized_text import in_language

CODES = tuple(language.value for language in FALLBACK_ORDER)

texts = st.dictionaries(
    st.sampled_from(CODES), st.sampled_from(["", "one", "two", "three", "four"])
)


@given(texts, st.sampled_from(list(Language)), st.sampled_from([*CODES, "", "xx"]))
def test_first_text_in_fallback_order(
    texts: dict[str, str], language: Language, original: str
) -> None:
    said = in_language(texts, language, original)
    for code in (language.value, original, *CODES):
        if texts.get(code):
            assert said == texts[code]
            return
    assert said == ""


def test_fallback_order_starts_as_the_interface_says_and_has_every_language() -> None:
    assert CODES[:4] == ("en", "fr", "es", "ar")
    assert sorted(FALLBACK_ORDER, key=list(Language).index) == list(Language)
