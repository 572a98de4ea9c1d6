"""Texts of the demo events, from `texts.json`. Each is a list in the order of `LANGUAGE_CODES`.

Names of countries and disaster types stand before a colon, so that no language needs to inflect them.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from fieldgate.i18n.languages import LanguageCode

LANGUAGE_CODES: tuple[LanguageCode, ...] = ("en", "fr", "ar", "es")
TextByLanguage = tuple[str, str, str, str]


class DemoTexts(msgspec.Struct, frozen=True):
    colon: TextByLanguage
    comma: TextByLanguage
    and_others: TextByLanguage
    thousands_separator: TextByLanguage
    affected_sentences: tuple[TextByLanguage, ...]
    response_sentences: dict[str, tuple[TextByLanguage, ...]]  # by `DisasterProfile.response_kind`
    volunteers_label: TextByLanguage
    map_title: TextByLanguage
    first_names: tuple[str, ...]  # of fictitious persons, as the last names
    last_names: tuple[str, ...]
    contact_roles: tuple[tuple[str, str], ...]  # kind of contact, title
    districts: tuple[str, ...]


TEXTS = msgspec.json.decode((Path(__file__).parent / "texts.json").read_bytes(), type=DemoTexts)


def text_tuple(texts: Iterable[str]) -> TextByLanguage:
    en, fr, ar, es = texts
    return en, fr, ar, es
