"""Links in records. A record holds a path; the base URL is filled in when the response is built.

    class PermissionRecord(msgspec.Struct):
        url: Link

Records are encoded without knowing the caller: a link becomes `"␁/api/v2/permissions/view_asset/␂"`, and
`resolve_links` replaces the two marks by the base URL and by the query that keeps `format=`, if there is one. The marks
are control characters, which JSON text must escape, so nothing else can match.
"""

import re
from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

BASE_URL_MARK = b"\x01"
FORMAT_QUERY_MARK = b"\x02"

# Most paths and queries need no quoting.
_is_plain = re.compile(r"[A-Za-z0-9/_.-]*").fullmatch
_is_plain_value = re.compile(r"[A-Za-z0-9_.~,-]*").fullmatch


class Link:
    """The path of another resource of this service, such as `/api/v2/permissions/view_asset/`."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


def encode_path(path: str) -> bytes:
    """Encode a link with this path as JSON, as `encode` does."""
    return _marked(path).encode()


def _marked(path: str) -> str:
    return f'"\x01{path if _is_plain(path) else quote_path(path)}\x02"'


def _encode_link(value: Any) -> msgspec.Raw:
    if isinstance(value, Link):
        return msgspec.Raw(_marked(value.path))
    raise TypeError(f"{type(value).__name__} cannot be part of a record")


_encoder = msgspec.json.Encoder(enc_hook=_encode_link)


def encode(record: object) -> bytes:
    """Encode a record as JSON with unresolved links."""
    return _encoder.encode(record)


def resolve_links(prepared: bytes, base_url: bytes, format_query: bytes) -> bytes:
    """Make the links in encoded JSON absolute."""
    return prepared.replace(BASE_URL_MARK, base_url).replace(FORMAT_QUERY_MARK, format_query)


def quote_path(path: str, safe: str = "") -> str:
    """Percent-encode a path."""
    return path if _is_plain(path) else quote(path, safe="/:@!$&'()*+,;=~-._" + safe)


def encode_query(parameters: Iterable[tuple[str, str]]) -> str:
    """Encode a query string, sorted by name as in the URLs that clients of both live systems store."""
    pairs = sorted(parameters, key=itemgetter(0))
    is_plain = all(map(_is_plain_value, chain.from_iterable(pairs)))
    return ("&".join(map("=".join, pairs)) if is_plain else urlencode(pairs, safe=",")).replace(
        ",", "%2C"
    )
