"""Bodies over 1 KB travel as gzip, br or zstd where the client takes one of them."""

import gzip
from collections.abc import Callable
from functools import lru_cache

import brotli
import zstandard

from fieldgate.http.negotiation.quality_values import LONGEST, weighed

LONG = 64 * 1024  # bytes; above, compressing takes milliseconds
SMALLEST = 1024  # bytes; below, compressing costs more than it saves

_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=4),
    "zstd": lambda body: zstandard.compress(body, 3),
    "gzip": lambda body: gzip.compress(body, compresslevel=5, mtime=0),
}


def coding(accept_encoding: bytes) -> str:
    """The content coding to use, or "" for none. Our order decides between codings the client likes equally."""
    return _coding(accept_encoding[:LONGEST])


@lru_cache(maxsize=1024)
def _coding(accept_encoding: bytes) -> str:
    wanted = {name.lower(): quality for name, quality in weighed(accept_encoding)}
    best, chosen = 0.0, ""
    for name in _COMPRESSORS:
        quality = wanted.get(name, wanted.get("*", 0.0))
        if quality > best:
            best, chosen = quality, name
    return chosen


def compress(body: bytes, name: str) -> bytes:
    return _COMPRESSORS[name](body)
