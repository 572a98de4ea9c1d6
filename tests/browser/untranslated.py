"""Finds English words on pages in other languages."""

import re
from collections.abc import Collection, Iterable
from functools import cache

from babel.messages.pofile import read_po

from fieldgate.i18n.catalogs import catalog_path
from fieldgate.i18n.languages import Language

# Names that are the same in every language: products, formats, codes.
SAME_EVERYWHERE = re.compile(
    r"\b(?:Fieldgate|CSV|XLSX|XLSForm|XForm|NDJSON|GeoJSON|JSON|HXL|Atom|GLIDE|API|curl|Python|R|Power BI|Excel|HTTP"
    r"|IFRC|GO|OpenAPI|Swagger(?: UI)?|URL|XML|PDF|UTC|CHF|GET|POST|PATCH|PUT|DELETE|MB|KB|kB|GB|ODK|KoboToolbox)\b"
    r"|\d million\b"  # CLDR says the same in French
    r"|\d bytes\b"  # and this in Spanish
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_ARABIC_LETTER = re.compile(r"[\u0620-\u064a]")
_AROUND = re.compile(
    r"^[^\w(“«]+|[\s:]+$|: [\d.,\s\u202f\u00a0]+$"
)  # signs before a text, and a number after it
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


@cache
def _messages(language: Language) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """The forms of each message in English and in a language."""
    with catalog_path(language).open("rb") as file:
        return tuple(
            (_forms(message.id), _forms(message.string)) for message in read_po(file) if message.id
        )


def _forms(text: object) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)  # type: ignore[arg-type]


@cache
def _translated_pattern(language: Language) -> re.Pattern[str]:
    """Matches what the interface says in a language. Placeholders match anything."""
    return _pattern({form for _, translations in _messages(language) for form in translations})


@cache
def _english_pattern(language: Language) -> re.Pattern[str]:
    """Matches messages in English that a language says differently."""
    return _pattern(
        {
            form
            for texts, translations in _messages(language)
            for form in texts
            if form not in translations
        }
    )


def _pattern(texts: Iterable[str]) -> re.Pattern[str]:
    with_words = [text for text in texts if _LETTERS.search(_PLACEHOLDER.sub("", text))]
    return re.compile(
        "|".join(".+".join(map(re.escape, _PLACEHOLDER.split(text))) for text in sorted(with_words))
    )


def find_untranslated(
    language: Language,
    texts: Iterable[str],
    english_texts: Iterable[str],
    names: Collection[str] = (),
) -> list[str]:
    """Return the texts of the interface that are in English, given those of the same page in English.

    A text is English if it is a message that has another translation, or if the English page has the same text. It is
    not if a translation reads like this (Permissions in French), or if it is a name in the language, such as that of a
    country. In Arabic, a text without Arabic letters is enough.
    """
    same_on_english_page = set(english_texts)
    found = []
    for text in texts:
        words = SAME_EVERYWHERE.sub("", text)
        core = _AROUND.sub("", text)
        is_translated = core in names or _translated_pattern(language).fullmatch(core)
        if not _LETTERS.search(words) or is_translated:
            continue
        is_latin_in_arabic = language is Language.ARABIC and not _ARABIC_LETTER.search(words)
        if (
            is_latin_in_arabic
            or _english_pattern(language).fullmatch(core)
            or text in same_on_english_page
        ):
            found.append(text)
    return found
