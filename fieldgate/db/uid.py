"""Identifiers that people can read aloud: a letter for the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # no characters that look alike
UID_LENGTH = 22

# Maps random bytes to letters. The highest bytes are dropped, as they would make some letters more likely.
_UNBIASED_LIMIT = 256 - 256 % len(ALPHABET)
_BYTE_TO_LETTER = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_BIASED_BYTES = bytes(range(_UNBIASED_LIMIT, 256))


def new_uid(kind: str) -> str:
    """Return a new uid with 122 random bits. Kinds: `a` asset, `i` import, `p` assignment, `u` user, `v` version."""
    return new_uids(kind, 1)[0]


def new_uids(kind: str, count: int) -> list[str]:
    """Return some new uids."""
    length = UID_LENGTH - 1
    letters = ""
    while len(letters) < count * length:
        needed = count * length - len(letters)
        letters += secrets.token_bytes(needed + needed // 4 + 8).translate(_BYTE_TO_LETTER, _BIASED_BYTES).decode()
    return [kind + letters[start : start + length] for start in range(0, count * length, length)]


def uid_from_int(kind: str, number: int) -> str:
    """Return the uid that encodes a number, the last digits first."""
    letters = []
    for _ in range(UID_LENGTH - 1):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return kind + "".join(letters)
