"""Access tokens: creation and hashing."""

import hashlib
import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # nothing that looks like something else


TOKEN_PREFIX = "fgt_"  # noqa: S105  (lets scanners for leaked secrets recognise ours)


TOKEN_LENGTH = 40  # of 57 characters: 233 bits


DISPLAY_PREFIX_LENGTH = 10  # shown to people, to tell tokens apart


def new_token() -> str:
    return TOKEN_PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(TOKEN_LENGTH))


def hash_token(token: str) -> bytes:
    """What is stored of a token. It is long and random, so one round of SHA-256 keeps it safe."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
