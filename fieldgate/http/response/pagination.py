"""limit/offset paging: what is asked for, the slice that answers it, and the envelope around it."""

import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from fieldgate.errors import Invalid
from fieldgate.http.response.links import encode, query_string
from fieldgate.i18n.messages import Message

DEFAULT_LIMIT = 50
MAXIMUM_LIMIT = 1000
# No list is longer, and SQL takes it: an offset beyond is past the end all the same.
FAR_PAST_THE_END = 2**62

PAGING = frozenset({"limit", "offset", "start"})

Record = TypeVar("Record")

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


class Page(msgspec.Struct, frozen=True):
    """Which records of a list are asked for. `clipped` tells that more than the maximum was."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0
    clipped: bool = False


class Slice(msgspec.Struct, Generic[Record], frozen=True):
    """The answer of a list: how many records match in all, and those of the page asked for.

    A record is a struct, or the bytes `links.encode` made of one, bare or as `msgspec.Raw`.
    """

    count: int
    records: Sequence[Record | msgspec.Raw | bytes]
    # Of what was answered from a state of the data that the handler knows: the versions of its topics.
    versions: tuple[int, ...] | None = None


def read_page(parameters: Mapping[str, str]) -> Page:
    """The page of a request. Blank is absent; more than the maximum is the maximum; nonsense is refused."""
    wrong: dict[str, list[Message]] = {}
    limit, offset, clipped = DEFAULT_LIMIT, 0, False
    asked = parameters.get("limit", "")
    if asked.strip():
        number = read_integer(asked)
        if number is None or number < 1:
            wrong["limit"] = [Message("Enter a whole number from {low} to {high}.", low=1, high=MAXIMUM_LIMIT)]
        else:
            limit, clipped = min(number, MAXIMUM_LIMIT), number > MAXIMUM_LIMIT
    # `start` is one live system's word for the offset.
    name = "offset" if parameters.get("offset", "").strip() else "start"
    asked = parameters.get(name, "")
    if asked.strip():
        number = read_integer(asked)
        if number is None or number < 0:
            wrong[name] = [Message("Enter a whole number, {low} or more.", low=0)]
        else:
            offset = number
    if wrong:
        raise Invalid(wrong)
    return Page(limit, offset, clipped)


def read_integer(text: str) -> int | None:
    """The integer a person wrote, in any script's digits; None if it is none. Huge ones are cut to size."""
    if text.isascii() and text.isdigit() and len(text) < 18:  # as programs write it
        return int(text)
    if not _INTEGER.fullmatch(text):
        return None
    try:
        return max(-FAR_PAST_THE_END, min(int(text), FAR_PAST_THE_END))
    except ValueError:  # Python refuses to convert thousands of digits
        return -FAR_PAST_THE_END if text.strip().startswith("-") else FAR_PAST_THE_END


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
