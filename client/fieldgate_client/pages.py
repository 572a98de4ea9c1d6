"""One page of a list, as the servers send it: the envelope with `count`, `next` and `results`, or a bare array."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, get_origin
from urllib.parse import parse_qs, urlsplit

import msgspec

from fieldgate_client.retries import parse_http_date
from fieldgate_client.seen_keys import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

NO_VERSION = "none"
Record = TypeVar("Record")
# A request has both, as lists of KoboToolbox know one of them or both. Its links have the server's own name with the
# new position, and keep the other one as it was asked for.
OFFSET_NAMES = ("offset", "start")
MAX_COUNT = 2**53
MAX_PAGE_RECORDS = 200_000  # some servers send all records at once


class DamagedPage(ValueError):
    """The body is not the page that was asked for: cut off, or the answer to another request."""


class NotAList(DamagedPage, msgspec.ValidationError):
    """The body is JSON, but neither an envelope nor an array, or the records are of another type."""


class Page(msgspec.Struct, frozen=True):
    offset: int
    records: list[Any]  # as JSON (`msgspec.Raw`), or decoded
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


class _Envelope(msgspec.Struct, Generic[Record]):
    results: list[Record]
    count: int | None = None
    next: str | None = None
    previous: str | None = None


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


_decode_keys = msgspec.json.Decoder(_KeyEnvelope).decode
_decode_line = msgspec.json.Decoder(_RecordLine).decode
_decode_array_keys = msgspec.json.Decoder(list[_RecordKey]).decode
_decode_key = msgspec.json.Decoder(_RecordKey).decode


def parse_page(
    body: bytes, headers: Mapping[str, str], offset: int, limit: int, record_type: Any = msgspec.Raw
) -> Page:
    """Parse the answer to a request for this offset and limit.

    The records are decoded to `record_type` with the page: one pass over the body instead of three.
    Raises `DamagedPage`, and `NotAList` for JSON that is something else.
    """
    is_array = body[:1] == b"["
    try:
        envelope = _decode(body, record_type, is_array=is_array)
        if (received := len(envelope.results)) > MAX_PAGE_RECORDS:
            raise NotAList(f"it has {received} records, more than can be meant")
        if record_type is msgspec.Raw and not body.isascii():
            for record in envelope.results:  # which are not decoded, so they could be anything
                str(record, "utf-8")
        keys = _record_keys(body, envelope.results, record_type, is_array=is_array)
    except msgspec.ValidationError as error:
        raise NotAList(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise DamagedPage(str(error)) from None
    if is_array:  # the whole list, whatever was asked for
        envelope.results, keys = envelope.results[offset:], keys[offset:]
    version = headers.get("fieldgate-data-version")
    count = received if is_array else envelope.count
    if count is not None and not 0 <= count <= MAX_COUNT:
        raise NotAList(f"{count} is not a number of records")
    step = received
    if envelope.next:
        positions, link_limit = _link_numbers(envelope.next)
        if positions:
            following = max(positions)
            if following == offset or not positions <= {offset, offset + received, offset + (link_limit or limit)}:
                raise DamagedPage(f"the next page begins at {following}, so this is not the page at {offset}")
            step = following - offset
    if envelope.previous and envelope.results:
        positions, link_limit = _link_numbers(envelope.previous)
        if not positions <= {offset, max(0, offset - (link_limit or limit))}:
            raise DamagedPage(f"the previous page begins at {min(positions)}, so this is not the page at {offset}")
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


def _link_numbers(link: str) -> tuple[set[int], int | None]:
    """Offsets and limit in the link to a page. Only the query counts: scheme and host may be those of a proxy."""
    query = parse_qs(urlsplit(link).query)

    def number(name: str) -> int | None:
        text = query.get(name, [""])[-1]
        return int(text[:18]) if text.isascii() and text.isdigit() else None

    positions = {position for name in OFFSET_NAMES if (position := number(name)) is not None}
    return positions, number("limit")


def _decode(body: bytes, record_type: Any, *, is_array: bool) -> _Envelope[Any]:
    decode_envelope, decode_array = _decoders(record_type)
    return _Envelope(decode_array(body)) if is_array else decode_envelope(body)


@lru_cache(maxsize=32)
def _decoders(record_type: Any) -> tuple[Callable[[bytes], _Envelope[Any]], Callable[[bytes], list[Any]]]:
    is_strict = record_type is msgspec.Raw  # some servers send numbers as text
    return (
        msgspec.json.Decoder(_Envelope[record_type], strict=is_strict).decode,
        msgspec.json.Decoder(list[record_type], strict=is_strict).decode,
    )


def _record_keys(body: bytes, records: list[Any], record_type: Any, *, is_array: bool) -> list[Key]:
    ids = _decoded_ids(records, record_type)
    if None not in ids:
        return ids
    raw_keys = _raw_keys(body, is_array=is_array)
    return [raw_key if key is None else key for key, raw_key in zip(ids, raw_keys, strict=True)]


def _decoded_ids(records: list[Any], record_type: Any) -> list[Any]:
    """The ids of decoded records. None for a record without one."""
    if "id" in getattr(record_type, "__struct_fields__", ()):
        ids = [record.id for record in records]
    elif get_origin(record_type) is dict:
        ids = [record.get("id") for record in records]
    else:
        return [None] * len(records)
    return ids if {*map(type, ids)} <= {int, str} else [each if type(each) in (int, str) else None for each in ids]


def _raw_keys(body: bytes, *, is_array: bool) -> list[Key]:
    records: list[msgspec.Raw] = []
    try:
        found = _decode_array_keys(body) if is_array else _decode_keys(body).results
    except msgspec.ValidationError:
        records = _decode(body, msgspec.Raw, is_array=is_array).results
        found = [_one_record_key(record) for record in records]
    keys: list[Any] = [each.id if each.id is not None else _other_key(each) for each in found]
    if None in keys:
        records = records or _decode(body, msgspec.Raw, is_array=is_array).results
        keys = [_key(each, record) for each, record in zip(found, records, strict=True)]
    return keys


def _key(fields: _RecordKey, record: msgspec.Raw | bytes) -> Key:
    key = fields.id if fields.id is not None else _other_key(fields)
    return _content_key(record) if key is None else key


def _other_key(fields: _RecordKey) -> Key | None:
    """The key of a record without an id."""
    if fields.submission_id is not None:
        return fields.submission_id
    return fields.uid or fields.codename or fields.url or None


def _one_record_key(record: msgspec.Raw) -> _RecordKey:
    """The key of a record on a page where some record has an unusual one: of each record the same on every page."""
    try:
        return _decode_key(record)
    except msgspec.ValidationError:
        return _RecordKey()


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
