"""Identifiers people can read out: a letter that tells the kind, and 21 random characters."""

import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # nothing that looks like something else
LENGTH = 22


def new_uid(kind: str) -> str:
    """`a` for an asset, `i` for an import, `v` for a version, followed by 122 bits of chance."""
    return kind + "".join(secrets.choice(ALPHABET) for _ in range(LENGTH - 1))
