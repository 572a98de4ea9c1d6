"""Four languages: which one a request asks for, and how a message is said in it.

language = preferred(b"fr-CA, en;q=0.5")
language.say(Message("Enter a whole number from {low} to {high}.", low=1, high=1000))
"""

from enum import Enum
from functools import cache, lru_cache
from pathlib import Path

from babel.messages.pofile import read_po

from fieldgate.http.negotiation.quality_values import LONGEST, ranked

LOCALE = Path(__file__).parent / "locale"


class Message:
    """A sentence for people, in English, and what goes into its braces. Said in a language at the very edge."""

    __slots__ = ("text", "values")

    def __init__(self, text: str, **values: object) -> None:
        self.text = text
        self.values = values

    def __str__(self) -> str:
        return Language.ENGLISH.say(self)


class Language(Enum):
    ENGLISH = "en"
    FRENCH = "fr"
    ARABIC = "ar"
    SPANISH = "es"

    # Members are keys of every cache; hashing one must not cost a call into Python.
    __hash__ = object.__hash__

    @property
    def direction(self) -> str:
        return "rtl" if self is Language.ARABIC else "ltr"

    @property
    def own_name(self) -> str:
        return {"en": "English", "fr": "Français", "ar": "العربية", "es": "Español"}[self.value]

    def say(self, message: Message) -> str:
        """The message in this language; in English where it has no translation."""
        text = catalogue(self).get(message.text) or message.text
        if not message.values:
            return text
        values = {
            name: self.say(value) if isinstance(value, Message) else value for name, value in message.values.items()
        }
        return text.format(**values)


@cache
def catalogue(language: Language) -> dict[str, str]:
    """The translations of one language by their English text, read from its gettext catalogue."""
    path = LOCALE / language.value / "LC_MESSAGES" / "fieldgate.po"
    if language is Language.ENGLISH:
        return {}
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id and entry.string}


def preferred(header: bytes) -> Language:
    """The best language of an Accept-Language header: never an error, English where nothing fits."""
    return _preferred(header[:LONGEST])


@lru_cache(maxsize=1024)
def _preferred(header: bytes) -> Language:
    for tag, _ in ranked(header):
        primary = tag.split("-", 1)[0].lower()
        if primary == "*":
            return Language.ENGLISH
        if primary in _BY_CODE:
            return _BY_CODE[primary]
    return Language.ENGLISH


_BY_CODE = {language.value: language for language in Language}
