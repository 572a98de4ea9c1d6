"""Finds English words on pages in other languages."""

import re
from collections.abc import Iterable
from functools import cache

from babel.messages.pofile import read_po

from fieldgate.i18n.catalogs import catalog_path
from fieldgate.i18n.languages import Language

# Names that are the same in every language: products, formats, codes.
SAME_EVERYWHERE = re.compile(
    r"\b(?:Fieldgate|CSV|XLSX|XLSForm|XForm|NDJSON|GeoJSON|JSON|HXL|Atom|GLIDE|API|curl|Python|R|Power BI|Excel|HTTP"
    r"|IFRC|GO|OpenAPI|Swagger(?: UI)?|URL|XML|PDF|UTC|CHF|GET|POST|PATCH|PUT|DELETE|MB|KB|kB|GB|ODK|KoboToolbox)\b"
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_ARABIC_LETTER = re.compile(r"[\u0620-\u064a]")
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


@cache
def _unchanged_messages(language: Language) -> frozenset[str]:
    """Messages that are the same in English and in a language, such as Permissions in French."""
    with catalog_path(language).open("rb") as file:
        return frozenset(
            text
            for message in read_po(file)
            for text, translation in _pairs(message.id, message.string)
            if text == translation
        )


@cache
def _english_patterns(language: Language) -> tuple[re.Pattern[str], ...]:
    """Patterns of the messages that a language says differently. Placeholders match anything."""
    with catalog_path(language).open("rb") as file:
        return tuple(
            re.compile(".+".join(re.escape(part) for part in _PLACEHOLDER.split(text)))
            for message in read_po(file)
            for text, translation in _pairs(message.id, message.string)
            if text != translation and _LETTERS.search(_PLACEHOLDER.sub("", text))
        )


def _pairs(text: object, translation: object) -> Iterable[tuple[str, str]]:
    """Each form of a message with one of its translations."""
    if isinstance(text, str):
        return [(text, str(translation))] if text else []
    return [(form, str(tuple(translation)[-1])) for form in text]  # type: ignore[arg-type, attr-defined]


def find_untranslated(language: Language, texts: Iterable[str], english_texts: Iterable[str]) -> list[str]:
    """Return the texts of the interface that are in English, given those of the same page in English.

    A text is English if it is a message that has another translation, or if the English page has the same text and
    no catalogue says that it stays the same. In Arabic, a text without Arabic letters is enough.
    """
    same_on_english_page = set(english_texts)
    unchanged = _unchanged_messages(language)
    found = []
    for text in texts:
        words = SAME_EVERYWHERE.sub("", text)
        if not _LETTERS.search(words) or text in unchanged:
            continue
        is_latin_in_arabic = language is Language.ARABIC and not _ARABIC_LETTER.search(words)
        is_message = any(pattern.fullmatch(text) for pattern in _english_patterns(language))
        if is_latin_in_arabic or is_message or text in same_on_english_page:
            found.append(text)
    return found
