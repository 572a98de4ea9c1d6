"""Links inside records. A record names the path; the address of the service is filled in when it is answered.

    class PermissionRecord(msgspec.Struct):
        url: Link

Records are encoded without knowing who asks: a link becomes `"␁/api/v2/permissions/view_asset/␂"`, and
`resolve` replaces the two marks by the caller's base address and, when `format=` was given, by the query that
keeps the format. The marks are control characters, which JSON text never holds bare, so nothing else can match.
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

# Most paths and queries are plain, and need no look at each character.
_is_plain = re.compile(r"[A-Za-z0-9/_.-]*").fullmatch
_is_plain_value = re.compile(r"[A-Za-z0-9_.~,-]*").fullmatch


class Link:
    """The path of another resource of this service, such as `/api/v2/permissions/view_asset/`."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


def _encode_link(value: Any) -> msgspec.Raw:
    if isinstance(value, Link):
        return msgspec.Raw(b'"' + BASE_URL_MARK + quote_path(value.path).encode() + FORMAT_QUERY_MARK + b'"')
    raise TypeError(f"{type(value).__name__} has no place in a record")


_encoder = msgspec.json.Encoder(enc_hook=_encode_link)


def encode(record: object) -> bytes:
    """A record as JSON whose links still wait for the caller's address."""
    return _encoder.encode(record)


def resolve_links(prepared: bytes, base_url: bytes, format_query: bytes) -> bytes:
    """Prepared JSON with its links made absolute for one caller."""
    return prepared.replace(BASE_URL_MARK, base_url).replace(FORMAT_QUERY_MARK, format_query)


def quote_path(path: str, safe: str = "") -> str:
    """A path as it stands in an address."""
    return path if _is_plain(path) else quote(path, safe="/:@!$&'()*+,;=~-._" + safe)


def encode_query(parameters: Iterable[tuple[str, str]]) -> str:
    """Parameters as a query, keys in alphabetical order as clients of both live systems record them."""
    pairs = sorted(parameters, key=itemgetter(0))
    is_plain = all(map(_is_plain_value, chain.from_iterable(pairs)))
    return ("&".join(map("=".join, pairs)) if is_plain else urlencode(pairs, safe=",")).replace(",", "%2C")
