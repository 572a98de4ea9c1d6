"""One page of a list, as the servers send it: the envelope with `count`, `next` and `results`, or a bare array."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec

from fieldgate_client.retries import parse_http_date
from fieldgate_client.seen_keys import Key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

NO_VERSION = "none"
OFFSET_NAMES = ("offset", "start")  # KoboToolbox writes `start` in its links


class DamagedPage(ValueError):
    """The body is not the page that was asked for: cut off, or the answer to another request."""


class Page(msgspec.Struct, frozen=True):
    offset: int
    records: list[msgspec.Raw]
    keys: list[Key]
    count: int | None  # None: the server does not say
    has_next: bool
    step: int  # by how much the server advances: the page size that it really uses
    is_fieldgate: bool = False
    data_version: str = ""  # equal on two pages: nothing changed in between. Only some lists of Fieldgate have it.
    timestamp: datetime | None = None  # of the server's clock
    ignored_parameters: tuple[str, ...] = ()  # only Fieldgate says

    @property
    def end(self) -> int:
        """The offset of the next page, or of the end of the list."""
        return self.offset + (self.step if self.has_next else len(self.records))


class _Envelope(msgspec.Struct):
    results: list[msgspec.Raw]
    count: int | None = None
    next: str | None = None


class _RecordKey(msgspec.Struct, gc=False):
    """The fields that identify a record, in the order in which they are looked for."""

    id: int | str | None = None
    submission_id: int | str | None = msgspec.field(default=None, name="_id")
    uid: str | None = None
    codename: str | None = None
    url: str | None = None


class _RecordLine(_RecordKey, gc=False):
    updated_at: Any = None
    num_affected: Any = None


class RecordFields(NamedTuple):
    key: Key
    updated_at: str = ""
    num_affected: int | None = None


class _KeyEnvelope(msgspec.Struct):
    results: list[_RecordKey]


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_keys = msgspec.json.Decoder(_KeyEnvelope).decode
_decode_line = msgspec.json.Decoder(_RecordLine).decode
_decode_array_keys = msgspec.json.Decoder(list[_RecordKey]).decode


def parse_page(body: bytes, headers: Mapping[str, str], offset: int, limit: int) -> Page:
    """Parse the answer to a request for this offset and limit. Raises `DamagedPage`."""
    is_array = body[:1] == b"["
    try:
        if not body.isascii():
            str(body, "utf-8")  # records stay as they are and are not decoded below
        envelope = _Envelope(_decode_array(body)) if is_array else _decode_envelope(body)
        keys = _record_keys(body, envelope.results, is_array=is_array)
    except (ValueError, RecursionError) as error:
        raise DamagedPage(str(error)) from None
    received = len(envelope.results)
    version = headers.get("fieldgate-data-version")
    count = received if is_array else envelope.count
    step = received
    if envelope.next:
        next_offset, next_limit = _link_numbers(envelope.next)
        if next_offset is not None:
            if next_offset not in (offset + received, offset + (next_limit or limit)):
                raise DamagedPage(f"the next page begins at {next_offset}, so this is not the page at {offset}")
            step = next_offset - offset
    return Page(
        offset,
        envelope.results,
        keys,
        count,
        bool(envelope.next),
        max(step, 1),
        version is not None,
        "" if version in (None, NO_VERSION) else version,
        parse_http_date(headers.get("date", "")),
        tuple(name.strip() for name in headers.get("fieldgate-ignored", "").split(",") if name.strip()),
    )


def _link_numbers(link: str) -> tuple[int | None, int | None]:
    """Offset and limit in the link to a page. Only the query counts: scheme and host may be those of a proxy."""
    query = parse_qs(urlsplit(link).query)

    def number(*names: str) -> int | None:
        for name in names:
            text = query.get(name, [""])[-1]
            if text.isascii() and text.isdigit():
                return int(text[:18])
        return None

    return number(*OFFSET_NAMES), number("limit")


def _record_keys(body: bytes, records: list[msgspec.Raw], *, is_array: bool) -> list[Key]:
    try:
        found = _decode_array_keys(body) if is_array else _decode_keys(body).results
    except msgspec.ValidationError:
        return [_content_key(record) for record in records]
    return [_key(each, record) for each, record in zip(found, records, strict=True)]


def _key(fields: _RecordKey, record: msgspec.Raw | bytes) -> Key:
    if fields.id is not None:
        return fields.id
    if fields.submission_id is not None:
        return fields.submission_id
    return fields.uid or fields.codename or fields.url or _content_key(record)


def read_fields(record: bytes) -> RecordFields:
    """The key of one record, and what tells copies apart. Raises ValueError if it is not JSON."""
    try:
        fields = _decode_line(record)
    except msgspec.ValidationError:
        return RecordFields(_content_key(record))
    date, number = fields.updated_at, fields.num_affected
    return RecordFields(
        _key(fields, record), date if isinstance(date, str) else "", number if isinstance(number, int) else None
    )


def _content_key(record: msgspec.Raw | bytes) -> str:
    """For records without an identifier: equal records count as one."""
    return "content " + blake2b(bytes(record), digest_size=16).hexdigest()
