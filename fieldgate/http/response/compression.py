"""Compress response bodies with Brotli, zstd or gzip."""

import gzip
from collections.abc import Callable
from functools import lru_cache

import brotli
import zstandard

from fieldgate.http.negotiation.quality_values import MAX_HEADER_BYTES, parse_quality_values

COMPRESS_IN_THREAD_THRESHOLD_BYTES = 64 * 1024  # compressing takes milliseconds from here on
MIN_COMPRESS_BYTES = 1024  # smaller bodies are not worth it

_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "br": lambda body: brotli.compress(body, quality=4),
    "zstd": lambda body: zstandard.compress(body, 3),
    "gzip": lambda body: gzip.compress(body, compresslevel=5, mtime=0),
}


def negotiate_encoding(accept_encoding: bytes) -> str:
    """Choose the content encoding, "" for none. Our order decides between equal q-values."""
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
