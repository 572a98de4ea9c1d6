"""One page of a list, as the servers send it: the envelope with `count`, `next` and `results`, or a bare array."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING
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


class NotAList(DamagedPage, msgspec.ValidationError):
    """The body is JSON, but neither an envelope nor an array."""


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


class _KeyEnvelope(msgspec.Struct):
    results: list[_RecordKey]


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_keys = msgspec.json.Decoder(_KeyEnvelope).decode
_decode_array_keys = msgspec.json.Decoder(list[_RecordKey]).decode
_decode_key = msgspec.json.Decoder(_RecordKey).decode


def parse_page(body: bytes, headers: Mapping[str, str], offset: int, limit: int) -> Page:
    """Parse the answer to a request for this offset and limit.

    Raises `DamagedPage`, and `NotAList` for JSON that is something else.
    """
    is_array = body[:1] == b"["
    try:
        if not body.isascii():
            str(body, "utf-8")  # records stay as they are and are not decoded below
        envelope = _Envelope(_decode_array(body)) if is_array else _decode_envelope(body)
        keys = _record_keys(body, envelope.results, is_array=is_array)
    except msgspec.ValidationError as error:
        raise NotAList(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise DamagedPage(str(error)) from None
    received = len(envelope.results)
    if is_array:  # the whole list, whatever was asked for
        envelope.results, keys = envelope.results[offset:], keys[offset:]
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
        found = [_one_record_key(record) for record in records]
    keys: list[Key] = []
    for each, record in zip(found, records, strict=True):
        if each.id is not None:
            keys.append(each.id)
        elif each.submission_id is not None:
            keys.append(each.submission_id)
        else:
            keys.append(each.uid or each.codename or each.url or _content_key(record))
    return keys


def _one_record_key(record: msgspec.Raw) -> _RecordKey:
    """The key of a record on a page where some record has an unusual one: of each record the same on every page."""
    try:
        return _decode_key(record)
    except msgspec.ValidationError:
        return _RecordKey()


def _content_key(record: msgspec.Raw) -> str:
    """For records without an identifier: equal records count as one."""
    return "content " + blake2b(bytes(record), digest_size=16).hexdigest()
