"""The supported languages: the only list of them.

To add a language, add a member here and run `make messages`, which creates its catalogue in `locale/`. Everything else
that depends on the languages is derived from `Language`.
"""

from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from babel import Locale


class Language(Enum):
    """A language. Its value is its two-letter code (ISO 639-1); its names and direction come from CLDR."""

    ENGLISH = "en"
    FRENCH = "fr"
    ARABIC = "ar"
    SPANISH = "es"

    # Members are keys of every cache; hashing one must not cost a call into Python.
    __hash__ = object.__hash__

    @cached_property
    def english_name(self) -> str:
        return Locale(self.value).get_display_name("en") or self.value

    @cached_property
    def native_name(self) -> str:
        """The name of the language in the language itself, with a capital letter where its script has them."""
        name = Locale(self.value).get_display_name(self.value) or self.value
        return name[0].upper() + name[1:]

    @cached_property
    def direction(self) -> str:
        """`ltr` or `rtl`."""
        return Locale(self.value).text_direction


SOURCE_LANGUAGE = Language.ENGLISH  # messages are written in it, and it needs no catalogue
TRANSLATED_LANGUAGES = tuple(language for language in Language if language is not SOURCE_LANGUAGE)

# Where a text has no translation, the interface fixes the order of these four. Other languages follow.
_FIRST_FALLBACKS = (Language.ENGLISH, Language.FRENCH, Language.SPANISH, Language.ARABIC)
FALLBACK_ORDER = (
    *_FIRST_FALLBACKS,
    *(language for language in Language if language not in _FIRST_FALLBACKS),
)

LANGUAGES_BY_CODE: dict[str, Language] = {language.value: language for language in Language}

if TYPE_CHECKING:
    LanguageCode = str
else:
    LanguageCode = Literal[tuple(LANGUAGES_BY_CODE)]  # for fields that msgspec validates


def codes_in_english(languages: Iterable[Language] = Language) -> str:
    """The codes as a list in a sentence: `en, fr, ar or es`."""
    return _join_with_or([language.value for language in languages])


def names_in_english(languages: Iterable[Language] = Language) -> str:
    """The names as a list in a sentence: `English, French, Arabic or Spanish`."""
    return _join_with_or([language.english_name for language in languages])


def _join_with_or(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]])
