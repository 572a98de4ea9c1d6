"""Bodies over 1 KB travel as gzip, br or zstd where the client takes one of them."""

import gzip
from collections.abc import Callable
from functools import lru_cache

import brotli
import zstandard

from fieldgate.http.negotiation.quality_values import MAX_HEADER_BYTES, parse_quality_values

COMPRESS_IN_THREAD_THRESHOLD_BYTES = 64 * 1024  # bytes; above, compressing takes milliseconds
MIN_COMPRESS_BYTES = 1024  # bytes; below, compressing costs more than it saves

_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=4),
    "zstd": lambda body: zstandard.compress(body, 3),
    "gzip": lambda body: gzip.compress(body, compresslevel=5, mtime=0),
}


def negotiate_encoding(accept_encoding: bytes) -> str:
    """The content coding to use, or "" for none. Our order decides between codings the client likes equally."""
    return _negotiate_cached(accept_encoding[:MAX_HEADER_BYTES])


@lru_cache(maxsize=1024)
def _negotiate_cached(accept_encoding: bytes) -> str:
    wanted = {name.lower(): quality for name, quality in parse_quality_values(accept_encoding)}
    best, chosen = 0.0, ""
    for name in _COMPRESSORS:
        quality = wanted.get(name, wanted.get("*", 0.0))
        if quality > best:
            best, chosen = quality, name
    return chosen


def compress(body: bytes, encoding: str) -> bytes:
    return _COMPRESSORS[encoding](body)
