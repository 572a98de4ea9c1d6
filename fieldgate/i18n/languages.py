"""The supported languages: the one list of them."""

from enum import Enum


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
