"""Identifiers people can read out: a letter that tells the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # nothing that looks like something else
LENGTH = 22


def new_uid(kind: str) -> str:
    """`a` for an asset, `i` for an import, `p` for an assignment, `v` for a version, followed by 122 bits of chance."""
    return spelled(kind, secrets.randbelow(len(ALPHABET) ** (LENGTH - 1)))


def spelled(kind: str, number: int) -> str:
    """A number as a uid."""
    letters = [kind]
    for _ in range(LENGTH - 1):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)
