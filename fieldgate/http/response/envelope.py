"""limit/offset paging: what is asked for, the slice that answers it, and the envelope around it."""

from collections.abc import Mapping

import msgspec

from fieldgate.http.request.page_parsing import PAGING
from fieldgate.http.response.links import encode, query_string
from fieldgate.pagination import Page, Record, Slice


def neighbours(address: str, parameters: Mapping[str, str], page: Page, count: int) -> tuple[str | None, str | None]:
    """The addresses of the next and the previous page; None where there is none."""
    following = page.offset + page.limit
    has_next, has_previous = following < count, page.offset > 0 and count > 0
    if not has_next and not has_previous:
        return None, None
    kept = [(name, value) for name, value in parameters.items() if name not in PAGING]
    first = query_string([*(pair for pair in kept if pair[0] < "offset"), ("limit", str(page.limit))])
    last = query_string([pair for pair in kept if pair[0] > "offset"])

    def at(offset: int) -> str:
        return f"{address}?{first}&offset={offset}" + (f"&{last}" if last else "")

    earlier = max(0, min(page.offset - page.limit, count - page.limit))
    return at(following) if has_next else None, at(earlier) if has_previous else None


def envelope(answer: Slice[Record], next_page: str | None, previous_page: str | None) -> bytes:
    """The list as JSON, in the order clients know: count, next, previous, results. Links are yet to resolve."""
    beginning = b'{"count":%d,"next":%s,"previous":%s,"results":[' % (
        answer.count,
        msgspec.json.encode(next_page),
        msgspec.json.encode(previous_page),
    )
    # The ends are put to the outermost records: so that the whole, which may be megabytes, is written once.
    first, *others = encoded(answer) or [b""]
    pieces = [beginning + first, *others]
    pieces[-1] += b"]}"
    return b",".join(pieces)


def encoded(answer: Slice[Record]) -> list[bytes]:
    """The records of a page as JSON, each for itself. Links are yet to resolve."""
    records = answer.records
    if isinstance(records, list) and set(map(type, records)) == {bytes}:  # as lists of events are
        return records
    return [record if isinstance(record, bytes) else encode(record) for record in records]
