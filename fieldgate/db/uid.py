"""Identifiers that people can read aloud: a letter for the kind, and 21 random characters."""

import re
import secrets

ALPHABET = (
    "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"  # no characters that look alike
)
UID_LENGTH = 22
is_asset_uid = re.compile(rf"a[{ALPHABET}]{{{UID_LENGTH - 1}}}").fullmatch

# Maps random bytes to letters. The highest bytes are dropped, as they would make some letters more likely.
_UNBIASED_LIMIT = 256 - 256 % len(ALPHABET)
_BYTE_TO_LETTER = bytes(ord(ALPHABET[byte % len(ALPHABET)]) for byte in range(256))
_BIASED_BYTES = bytes(range(_UNBIASED_LIMIT, 256))


def new_uid(kind: str) -> str:
    """Return a new uid with 122 random bits. Kinds: `a` asset, `i` import, `p` assignment, `u` user, `v` version."""
    return uid_from_bytes(kind, secrets.token_bytes(64))


def uid_from_bytes(kind: str, data: bytes) -> str:
    """Return the uid that 64 random bytes, or those of a digest, give. A tenth is dropped: enough are left."""
    return kind + data.translate(_BYTE_TO_LETTER, _BIASED_BYTES)[: UID_LENGTH - 1].decode()
