"""Parse `limit` and `offset`, and `page` and `page_size`, which mean the same in other words."""

import re
from collections.abc import Mapping

from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT, PageRequest

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
        errors[name] = [Message("Enter a whole number from {low} to {high}.", low=1, high=MAX_LIMIT)]
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
