"""Identifiers people can read out: a letter that tells the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # nothing that looks like something else
LENGTH = 22

# A random byte as a letter. The last bytes would give some letters an extra chance, and are left out.
_FAIR = 256 - 256 % len(ALPHABET)
_LETTERS = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_UNFAIR = bytes(range(_FAIR, 256))


def new_uid(kind: str) -> str:
    """`a` for an asset, `i` for an import, `p` for an assignment, `v` for a version, followed by 122 bits of chance."""
    letters = ""
    while len(letters) < LENGTH - 1:
        letters += secrets.token_bytes(2 * LENGTH).translate(_LETTERS, _UNFAIR).decode()
    return kind + letters[: LENGTH - 1]


def spelled(kind: str, number: int) -> str:
    """A number as a uid."""
    letters = [kind]
    for _ in range(LENGTH - 1):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)
