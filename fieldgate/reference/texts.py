"""Text in up to four languages, and which of them a reader gets."""

from collections.abc import Mapping

from fieldgate.http.language import Language

Texts = dict[str, str]  # by the code of the language; what is missing or empty has no translation

FALLBACK = ("en", "fr", "es", "ar")
_CODES = tuple(language.value for language in Language)


def in_language(texts: Mapping[str, str], language: Language, original: str) -> str:
    """The text in the reader's language, else in the one it was written in, else in the first there is."""
    return next(filter(None, (texts.get(code) for code in (language.value, original, *FALLBACK))), "")


def in_languages(texts: Mapping[str, str], original: str) -> list[str]:
    """The same for readers of every language, in the order of `Language`."""
    otherwise = next(filter(None, map(texts.get, (original, *FALLBACK))), "")
    return [texts.get(code) or otherwise for code in _CODES]
