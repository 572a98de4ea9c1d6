"""One page of a list, as the servers send it: the envelope with `count`, `next` and `results`, or a bare array."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from urllib.parse import parse_qs, urlsplit

import msgspec

from fieldgate_client.retries import parse_http_date

NO_VERSION = "none"
# A request has both, as lists of KoboToolbox know one of them or both. Its links have the server's own name with the
# new position, and keep the other one as it was asked for.
OFFSET_NAMES = ("offset", "start")
MAX_COUNT = 2**53
MAX_PAGE_RECORDS = 200_000  # some servers send all records at once

Key = int | str


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
    data_version: str = (
        ""  # equal on two pages: nothing changed in between. Only some lists of Fieldgate have it.
    )
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
    previous: str | None = None


class _RecordKey(msgspec.Struct, gc=False):
    """The fields that identify a record, in the order in which they are looked for."""

    id: int | str | None = None
    submission_id: int | str | None = msgspec.field(default=None, name="_id")
    uid: str | None = None
    codename: str | None = None
    url: str | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_key = msgspec.json.Decoder(_RecordKey).decode


def parse_page(body: bytes, headers: Mapping[str, str], offset: int, limit: int) -> Page:
    """Parse the answer to a request for this offset and limit.

    Raises `DamagedPage`, and `NotAList` for JSON that is something else.
    """
    is_array = body[:1] == b"["
    try:
        envelope = _Envelope(_decode_array(body)) if is_array else _decode_envelope(body)
        if (received := len(envelope.results)) > MAX_PAGE_RECORDS:
            raise NotAList(f"it has {received} records, more than can be meant")
        if not body.isascii():
            for record in envelope.results:  # which are not decoded, so they could be anything
                str(record, "utf-8")
        if is_array:  # the whole list, whatever was asked for
            envelope.count = received
            envelope.results = envelope.results[offset:]
        keys = [*map(record_key, envelope.results)]
    except msgspec.ValidationError as error:
        raise NotAList(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise DamagedPage(str(error)) from None
    if envelope.count is not None and not 0 <= envelope.count <= MAX_COUNT:
        raise NotAList(f"{envelope.count} is not a number of records")
    version = headers.get("fieldgate-data-version")
    return Page(
        offset,
        envelope.results,
        keys,
        envelope.count,
        bool(envelope.next),
        max(_checked_step(envelope, received, offset, limit), 1),
        version is not None,
        "" if version in (None, NO_VERSION) else version,
        parse_http_date(headers.get("date", "")),
        tuple(
            name.strip() for name in headers.get("fieldgate-ignored", "").split(",") if name.strip()
        ),
    )


def _checked_step(envelope: _Envelope, received: int, offset: int, limit: int) -> int:
    """By how much the server advances. Raises `DamagedPage` if the links are those of another page."""
    step = received
    if envelope.next:
        positions, link_limit = _link_numbers(envelope.next)
        if positions:
            following = max(positions)
            if following == offset or not positions <= {
                offset,
                offset + received,
                offset + (link_limit or limit),
            }:
                raise DamagedPage(
                    f"the next page begins at {following}, so this is not the page at {offset}"
                )
            step = following - offset
    if envelope.previous and envelope.results:
        positions, link_limit = _link_numbers(envelope.previous)
        if not positions <= {offset, max(0, offset - (link_limit or limit))}:
            raise DamagedPage(
                f"the previous page begins at {min(positions)}, so this is not the page at {offset}"
            )
    return step


def _link_numbers(link: str) -> tuple[set[int], int | None]:
    """Offsets and limit in the link to a page. Only the query counts: scheme and host may be those of a proxy."""
    query = parse_qs(urlsplit(link).query)

    def number(name: str) -> int | None:
        text = query.get(name, [""])[-1]
        return int(text[:18]) if text.isascii() and text.isdigit() else None

    positions = {position for name in OFFSET_NAMES if (position := number(name)) is not None}
    return positions, number("limit")


def record_key(record: msgspec.Raw) -> Key:
    """What identifies a record. Records without an identifier are known by their content: equal ones count as one."""
    try:
        fields = _decode_key(record)
    except msgspec.ValidationError:
        fields = _RecordKey()
    for number in (fields.id, fields.submission_id):
        if number is not None:
            return number
    known = fields.uid or fields.codename or fields.url
    return known or "content " + blake2b(bytes(record), digest_size=16).hexdigest()
