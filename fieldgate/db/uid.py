"""Identifiers people can read out: a letter that tells the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # nothing that looks like something else
UID_LENGTH = 22

# A random byte as a letter. The last bytes would give some letters an extra chance, and are left out.
_UNBIASED_LIMIT = 256 - 256 % len(ALPHABET)
_BYTE_TO_LETTER = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_BIASED_BYTES = bytes(range(_UNBIASED_LIMIT, 256))


def new_uid(kind: str) -> str:
    """`a` for an asset, `i` for an import, `p` for an assignment, `v` for a version, followed by 122 bits of chance."""
    letters = ""
    while len(letters) < UID_LENGTH - 1:
        letters += secrets.token_bytes(2 * UID_LENGTH).translate(_BYTE_TO_LETTER, _BIASED_BYTES).decode()
    return kind + letters[: UID_LENGTH - 1]


def uid_from_int(kind: str, number: int) -> str:
    """A number as a uid."""
    letters = [kind]
    for _ in range(UID_LENGTH - 1):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)
