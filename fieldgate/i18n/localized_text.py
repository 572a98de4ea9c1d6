"""Text in up to four languages, and which of them a reader gets."""

from collections.abc import Mapping

from fieldgate.i18n.languages import Language

LocalizedText = dict[str, str]  # by the code of the language; what is missing or empty has no translation

FALLBACK_LANGUAGES = ("en", "fr", "es", "ar")
_LANGUAGE_CODES = tuple(language.value for language in Language)


def in_language(texts: Mapping[str, str], language: Language, original: str) -> str:
    """The text in the reader's language, else in the one it was written in, else in the first there is."""
    return next(filter(None, (texts.get(code) for code in (language.value, original, *FALLBACK_LANGUAGES))), "")


def in_all_languages(texts: Mapping[str, str], original: str) -> list[str]:
    """The same for readers of every language, in the order of `Language`."""
    otherwise = next(filter(None, map(texts.get, (original, *FALLBACK_LANGUAGES))), "")
    return [texts.get(code) or otherwise for code in _LANGUAGE_CODES]


def without_fallbacks(shown: Mapping[str, str | None], original: str, *, english_first: bool = False) -> LocalizedText:
    """What a server showed in each language, without what it only fell back to.

    `english_first`: where it has no translation it shows English, then French, Spanish and Arabic, as IFRC GO does;
    else what the text was written in, as we do.
    """
    written = shown.get(original)
    own = {original: written} if written else {}
    for code in FALLBACK_LANGUAGES:
        text = shown.get(code)
        if code == original or not text or text == own.get(original):
            continue
        fallback = next((own[other] for other in FALLBACK_LANGUAGES if other in own and other != code), None)
        if not (english_first and text == fallback):
            own[code] = text
    return own
