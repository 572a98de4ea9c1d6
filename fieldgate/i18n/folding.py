"""Text as a search compares it, on both sides: what was written, and what a person types.

fold_text("Côte d’Ivoire") == fold_text("COTE D'IVOIRE") == "cote d'ivoire"

Keyboards have no ’, people leave out accents, and Arabic is written with more than one alef, yeh and kaf. Text is
folded in Python when it is written, so that no database needs an extension.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

MAX_CACHED_CHARACTERS = 10_000  # more than the texts of a service usually have

# What Unicode does not decompose, in lower case.
_REPLACEMENTS: Mapping[str, str] = {
    **dict.fromkeys("`´‘’‛′ʹʻʼʾʿ", "'"),
    **dict.fromkeys("“”„‟«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    # Letters with a stroke, and ligatures.
    "æ": "ae", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "œ": "oe", "þ": "th", "ŧ": "t",
    # Letters of African languages: Hausa, Fula, Ewe, Bambara.
    "ɓ": "b", "ɖ": "d", "ɗ": "d", "ɛ": "e", "ƒ": "f", "ƙ": "k", "ɲ": "n", "ŋ": "n", "ɔ": "o", "ƴ": "y",
    # Arabic. The other forms of alef, and hamza on yeh and waw, decompose.
    "ٱ": "ا", "ى": "ي", "ی": "ي", "ة": "ه", "ک": "ك",
    "ـ": "",  # tatweel, which only makes a word longer
}  # fmt: skip


def fold_text(text: str) -> str:
    """Return a text without case, accents, and variants of letters, digits and apostrophes.

    Each character is folded by itself. So the time grows with the length only, a part of a text is folded as it is in
    the whole, and a folded text stays as it is.
    """
    if text.isascii():
        return text.lower().replace("`", "'")
    return "".join(map(_fold_character, text))


@lru_cache(maxsize=MAX_CACHED_CHARACTERS)
def _fold_character(character: str) -> str:
    replacement = _REPLACEMENTS.get(character)
    if replacement is not None:
        return replacement
    simpler = unicodedata.normalize("NFKD", character.casefold())
    if simpler != character:
        return "".join(map(_fold_character, simpler))
    if _is_ignored(character):
        return ""
    digit = unicodedata.decimal(character, None)
    return character if digit is None else str(digit)


def _is_ignored(character: str) -> bool:
    """Whether a character is an accent, a vowel mark, or invisible, as marks of direction and soft hyphens are.

    Other combining marks stay, as without them it would be another word: nukta, virama and the voicing of kana, vowels
    and tones of Thai, Lao, Tibetan and Telugu.
    """
    if unicodedata.category(character) == "Cf":
        return True
    combining_class = unicodedata.combining(character)
    is_vowel_mark = 10 <= combining_class <= 36  # of Hebrew, Arabic and Syriac
    is_accent = combining_class >= 200
    return is_vowel_mark or is_accent
