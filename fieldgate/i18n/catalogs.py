"""Gettext catalogues."""

from functools import cache
from pathlib import Path

from babel.messages.pofile import read_po

from fieldgate.i18n.languages import Language

LOCALE_DIR = Path(__file__).parent / "locale"


@cache
def load_catalog(language: Language) -> dict[str, str]:
    """The translations of one language by their English text, read from its gettext catalogue."""
    path = LOCALE_DIR / language.value / "LC_MESSAGES" / "fieldgate.po"
    if language is Language.ENGLISH:
        return {}
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id and entry.string}
