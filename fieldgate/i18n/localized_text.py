"""Texts that data has in several languages, and which of them a reader gets."""

from collections.abc import Mapping

from fieldgate.i18n.languages import FALLBACK_ORDER, Language

LocalizedText = dict[str, str]  # by language code; an empty text counts as missing

FALLBACK_LANGUAGES: tuple[str, ...] = tuple(language.value for language in FALLBACK_ORDER)


def in_language(texts: Mapping[str, str], language: Language, original: str) -> str:
    """Return the text in the reader's language, else in its original language, else in the first fallback it has."""
    return next(
        filter(None, (texts.get(code) for code in (language.value, original, *FALLBACK_LANGUAGES))),
        "",
    )


def without_fallbacks(
    shown: Mapping[str, str | None], original: str, *, english_first: bool = False
) -> LocalizedText:
    """Return only the real translations among the texts that a server showed in each language.

    Where a server has no translation it shows a fallback. With `english_first` that is the first text in the order of
    `FALLBACK_ORDER`, as in IFRC GO; otherwise it is the text in the original language, as in Fieldgate.
    """
    written = shown.get(original)
    own = {original: written} if written else {}
    for code in FALLBACK_LANGUAGES:
        text = shown.get(code)
        if code == original or not text or text == own.get(original):
            continue
        fallback = next(
            (own[other] for other in FALLBACK_LANGUAGES if other in own and other != code), None
        )
        if not (english_first and text == fallback):
            own[code] = text
    return own
