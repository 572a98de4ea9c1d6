"""Text in up to four languages, and which of them a reader gets."""

from collections.abc import Mapping

from fieldgate.http.language import Language

Texts = dict[str, str]  # by the code of the language; what is missing or empty has no translation

FALLBACK = ("en", "fr", "es", "ar")


def in_language(texts: Mapping[str, str], language: Language, original: str) -> str:
    """The text in the reader's language, else in the one it was written in, else in the first there is."""
    return next(filter(None, (texts.get(code) for code in (language.value, original, *FALLBACK))), "")
