"""Parse `limit` and `offset`."""

import re
from collections.abc import Mapping

from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT, PageRequest

# Larger offsets are cut to this: no list is longer, and SQL accepts it.
MAX_OFFSET = 2**62

PAGING_PARAMETERS = frozenset({"limit", "offset", "start"})

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def parse_page(parameters: Mapping[str, str]) -> PageRequest:
    """Parse the page of a request. Blank counts as absent, and a limit above the maximum as the maximum."""
    errors: dict[str, list[Message]] = {}
    limit, offset, clipped = DEFAULT_LIMIT, 0, False
    text = parameters.get("limit", "")
    if text.strip():
        number = parse_integer(text)
        if number is None or number < 1:
            errors["limit"] = [Message("Enter a whole number from {low} to {high}.", low=1, high=MAX_LIMIT)]
        else:
            limit, clipped = min(number, MAX_LIMIT), number > MAX_LIMIT
    # One live system calls the offset `start`.
    name = "offset" if parameters.get("offset", "").strip() else "start"
    text = parameters.get(name, "")
    if text.strip():
        number = parse_integer(text)
        if number is None or number < 0:
            errors[name] = [Message("Enter a whole number, {low} or more.", low=0)]
        else:
            offset = number
    if errors:
        raise ValidationError(errors)
    return PageRequest(limit, offset, clipped)


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
