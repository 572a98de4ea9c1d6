"""The header that makes a browser save a response as a file."""

import re
from urllib.parse import quote

from fieldgate.errors import Header

MAX_NAME_CHARS = 100  # before the suffix; file systems allow 255 bytes

# Separators of paths, what Windows refuses, control characters, and those that reverse the order of text: a name could
# seem to have another suffix.
_UNSAFE = re.compile(r'[<>:"/\\|?*%\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ._()-]")


def attachment(name: str, suffix: str, fallback: str) -> Header:
    """Content-Disposition for any name (RFC 6266). `fallback` is a plain name, for old clients and for blank names."""
    safe = _UNSAFE.sub("_", name)[:MAX_NAME_CHARS].strip(" ._") or fallback
    plain = fallback if _NOT_PLAIN.search(safe) else safe
    value = f"attachment; filename=\"{plain}{suffix}\"; filename*=UTF-8''{quote(safe + suffix, safe='')}"
    return b"content-disposition", value.encode()
