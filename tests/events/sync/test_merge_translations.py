"""Merging the versions of a record in several languages."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language, without_fallbacks

CODES = tuple(language.value for language in Language)
# Few texts, so that equal ones are common; an empty text is a missing one.
texts_by_language = st.fixed_dictionaries({}, optional={code: st.sampled_from(("", "a", "b", "c")) for code in CODES})
codes = st.sampled_from(CODES)


def shown_by(texts: Mapping[str, str], order: tuple[str, ...]) -> dict[str, str]:
    """What a server shows in each language: the text in that language, else the first one in the order."""
    return {code: next((texts[each] for each in (code, *order) if texts.get(each)), "") for code in CODES}


def shown_by_live_system(texts: Mapping[str, str]) -> dict[str, str]:
    return shown_by(texts, ("en", "fr", "es", "ar"))


def shown_by_fieldgate(texts: Mapping[str, str], original: str) -> dict[str, str]:
    return {code: in_language(texts, Language(code), original) for code in CODES}


@given(texts_by_language, codes, st.booleans())
def test_readers_get_the_texts_of_the_source(texts: dict[str, str], original: str, is_fieldgate: bool) -> None:
    shown = shown_by_fieldgate(texts, original) if is_fieldgate else shown_by_live_system(texts)
    stored = without_fallbacks(shown, original)
    assert shown_by_fieldgate(stored, original) == shown
    for code, text in texts.items():
        if text and text != shown[original]:
            assert stored.get(code) == text, "no translation is lost"
    assert set(stored.values()) <= set(texts.values()), "no text is invented"
    for code in stored:
        fewer = {each: text for each, text in stored.items() if each != code}
        assert len(set(shown.values())) == 1 or shown_by_fieldgate(fewer, original) != shown, "no text is superfluous"
