"""The list envelope: count, next, previous and results."""

from collections.abc import Mapping

import msgspec

from fieldgate.http.request.page_parsing import PAGING_PARAMETERS
from fieldgate.http.response.links import encode, encode_query
from fieldgate.pagination import ListResult, PageRequest, Record


def page_links(url: str, parameters: Mapping[str, str], page: PageRequest, count: int) -> tuple[str | None, str | None]:
    """The URLs of the next and the previous page, or None."""
    following = page.offset + page.limit
    has_next, has_previous = following < count, page.offset > 0 and count > 0
    if not has_next and not has_previous:
        return None, None
    others = [(name, value) for name, value in parameters.items() if name not in PAGING_PARAMETERS]
    first, last = f"limit={page.limit}", ""
    if others:
        first = encode_query([*(pair for pair in others if pair[0] < "offset"), ("limit", str(page.limit))])
        last = encode_query([pair for pair in others if pair[0] > "offset"])

    def at(offset: int) -> str:
        return f"{url}?{first}&offset={offset}" + (f"&{last}" if last else "")

    earlier = max(0, min(page.offset - page.limit, count - page.limit))
    return at(following) if has_next else None, at(earlier) if has_previous else None


def encode_envelope(result: ListResult[Record], next_page: str | None, previous_page: str | None) -> bytes:
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
