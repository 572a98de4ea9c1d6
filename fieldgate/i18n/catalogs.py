"""Gettext catalogues."""

import io
from functools import cache
from gettext import GNUTranslations, NullTranslations
from pathlib import Path

from fieldgate.i18n.languages import SOURCE_LANGUAGE, Language

LOCALE_DIR = Path(__file__).parent / "locale"


def catalog_path(language: Language) -> Path:
    return LOCALE_DIR / language.value / "LC_MESSAGES" / "fieldgate.po"


@cache
def load_catalog(language: Language) -> NullTranslations:
    """Return the translations of a language, with its plural rule; for English, the texts as they are."""
    if language is SOURCE_LANGUAGE:
        return NullTranslations()
    from babel.messages.mofile import write_mo  # not needed where English is enough
    from babel.messages.pofile import read_po

    with catalog_path(language).open("rb") as file:
        catalog = read_po(file)
    for message in list(catalog):
        if message.id and message.pluralizable and not all(message.string or ()):
            catalog.delete(message.id)  # gettext would take an empty form as a translation
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return GNUTranslations(compiled)
