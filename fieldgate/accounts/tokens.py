"""Access tokens: creation and hashing."""

import hashlib
import secrets

ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # no characters that look alike
TOKEN_PREFIX = "fgt_"  # noqa: S105  (lets secret scanners recognize our tokens)
INVITATION_PREFIX = "fgi_"
TOKEN_LENGTH = 40  # characters of 57 kinds: 233 bits
DISPLAY_PREFIX_LENGTH = 10  # characters shown in lists of tokens


def new_token(prefix: str = TOKEN_PREFIX) -> str:
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(TOKEN_LENGTH))


def hash_token(token: str) -> bytes:
    """Return what is stored. Tokens are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
