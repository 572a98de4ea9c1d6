"""Pages of lists: parse `limit` and `offset`, links to the next and previous page, the envelope of a list."""

import re
from collections.abc import Mapping

import msgspec

from fieldgate.errors import ValidationError
from fieldgate.http.links import encode, encode_query
from fieldgate.i18n.messages import Message
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT, ListResult, PageRequest, Record

# Larger offsets are cut to this: no list is longer, and SQL accepts it.
MAX_OFFSET = 2**62

PAGING_PARAMETERS = frozenset({"limit", "offset", "start", "page", "page_size"})

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def parse_page(parameters: Mapping[str, str]) -> PageRequest:
    """Parse the page of a request. Blank counts as absent, and a limit above the maximum as the maximum.

    `offset` wins over `start`, and both over `page`; `limit` wins over `page_size`.
    """
    errors: dict[str, list[Message]] = {}
    limit, offset, clipped = DEFAULT_LIMIT, 0, False
    text = parameters.get("limit", "")
    has_limit = bool(text.strip())
    if has_limit:
        limit, clipped = _parse_limit("limit", text, errors)
    page_offset = 0
    if "page" in parameters or "page_size" in parameters:
        size, size_clipped = limit, False
        if parameters.get("page_size", "").strip():
            size, size_clipped = _parse_limit("page_size", parameters["page_size"], errors)
        page_offset = (_parse_page_number(parameters.get("page", ""), errors) - 1) * size
        if not has_limit:
            limit, clipped = size, size_clipped
    # One live system calls the offset `start`.
    name = "offset" if parameters.get("offset", "").strip() else "start"
    text = parameters.get(name, "")
    if text.strip():
        number = parse_integer(text)
        if number is None or number < 0:
            errors[name] = [Message("Enter a whole number, {low} or more.", low=0)]
        else:
            offset = number
    else:
        offset = min(page_offset, MAX_OFFSET)
    if errors:
        raise ValidationError(errors)
    return PageRequest(limit, offset, clipped)


def _parse_limit(name: str, text: str, errors: dict[str, list[Message]]) -> tuple[int, bool]:
    """Return the limit and whether it was cut to the maximum."""
    number = parse_integer(text)
    if number is None or number < 1:
        errors[name] = [
            Message("Enter a whole number from {low} to {high}.", low=1, high=MAX_LIMIT)
        ]
        return DEFAULT_LIMIT, False
    return min(number, MAX_LIMIT), number > MAX_LIMIT


def _parse_page_number(text: str, errors: dict[str, list[Message]]) -> int:
    """Return the number of a page, starting at 1."""
    if not text.strip():
        return 1
    number = parse_integer(text)
    if number is None or number < 1:
        errors["page"] = [Message("Enter a whole number, {low} or more.", low=1)]
        return 1
    return number


def parse_integer(text: str) -> int | None:
    """Parse an integer in the digits of any script; None if it is not one. Huge ones are cut to `MAX_OFFSET`."""
    if text.isascii() and text.isdigit() and len(text) < 18:  # the usual case, fast
        return int(text)
    if not _INTEGER.fullmatch(text):
        return None
    try:
        return max(-MAX_OFFSET, min(int(text), MAX_OFFSET))
    except ValueError:  # Python does not convert thousands of digits
        return -MAX_OFFSET if text.strip().startswith("-") else MAX_OFFSET


def page_links(
    url: str, parameters: Mapping[str, str], page: PageRequest, count: int
) -> tuple[str | None, str | None]:
    """The URLs of the next and the previous page, or None."""
    following = page.offset + page.limit
    has_next, has_previous = following < count, page.offset > 0 and count > 0
    if not has_next and not has_previous:
        return None, None
    others = [(name, value) for name, value in parameters.items() if name not in PAGING_PARAMETERS]
    first, last = f"limit={page.limit}", ""
    if others:
        first = encode_query(
            [*(pair for pair in others if pair[0] < "offset"), ("limit", str(page.limit))]
        )
        last = encode_query([pair for pair in others if pair[0] > "offset"])

    def at(offset: int) -> str:
        return f"{url}?{first}&offset={offset}" + (f"&{last}" if last else "")

    earlier = max(0, min(page.offset - page.limit, count - page.limit))
    return at(following) if has_next else None, at(earlier) if has_previous else None


def encode_envelope(
    result: ListResult[Record], next_page: str | None, previous_page: str | None
) -> bytes:
    """Encode a list as JSON, in the order that clients know. Links are resolved later."""
    beginning = b'{"count":%d,"next":%s,"previous":%s,"results":[' % (
        result.count,
        msgspec.json.encode(next_page),
        msgspec.json.encode(previous_page),
    )
    # Start and end are added to the outer records, so that the whole, which may be megabytes, is copied only once.
    first, *others = encode_records(result) or [b""]
    pieces = [beginning + first, *others]
    pieces[-1] += b"]}"
    return b",".join(pieces)


def encode_records(result: ListResult[Record]) -> list[bytes]:
    """Encode each record of a page as JSON. Links are resolved later."""
    records = result.records
    if isinstance(records, list) and set(map(type, records)) == {bytes}:  # lists of events
        return records
    return [record if isinstance(record, bytes) else encode(record) for record in records]
