"""Identifiers that people can read aloud: a letter for the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # no characters that look alike
UID_LENGTH = 22

# Maps random bytes to letters. The highest bytes are dropped, as they would make some letters more likely.
_UNBIASED_LIMIT = 256 - 256 % len(ALPHABET)
_BYTE_TO_LETTER = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_BIASED_BYTES = bytes(range(_UNBIASED_LIMIT, 256))


def new_uid(kind: str) -> str:
    """Return a new uid with 122 random bits. Kinds: `a` asset, `i` import, `p` assignment, `v` version."""
    return new_uids(kind, 1)[0]


def new_uids(kind: str, count: int) -> list[str]:
    """Return some new uids."""
    length = UID_LENGTH - 1
    letters = ""
    while len(letters) < count * length:
        needed = count * length - len(letters)
        letters += secrets.token_bytes(needed + needed // 4 + 8).translate(_BYTE_TO_LETTER, _BIASED_BYTES).decode()
    return [kind + letters[start : start + length] for start in range(0, count * length, length)]


# A uid from a number has two letters at a time, of small numbers: one letter at a time takes three times as long.
_PAIRS = [first + second for second in ALPHABET for first in ALPHABET]
_TEN_LETTERS = len(_PAIRS) ** 5
_ALL_LETTERS = len(ALPHABET) ** (UID_LENGTH - 1)


def uid_from_int(kind: str, number: int) -> str:
    """Return the uid that encodes a number."""
    number, low = divmod(number % _ALL_LETTERS, _TEN_LETTERS)
    high, middle = divmod(number, _TEN_LETTERS)
    return kind + _ten_letters(low) + _ten_letters(middle) + ALPHABET[high]


def _ten_letters(number: int, base: int = len(_PAIRS)) -> str:
    number, first = divmod(number, base)
    number, second = divmod(number, base)
    number, third = divmod(number, base)
    fifth, fourth = divmod(number, base)
    return _PAIRS[first] + _PAIRS[second] + _PAIRS[third] + _PAIRS[fourth] + _PAIRS[fifth]
