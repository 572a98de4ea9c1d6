"""Parse limit and offset."""

import re
from collections.abc import Mapping

from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.pagination import DEFAULT_LIMIT, MAX_LIMIT, PageRequest

# No list is longer, and SQL takes it: an offset beyond is past the end all the same.
MAX_OFFSET = 2**62


PAGING_PARAMETERS = frozenset({"limit", "offset", "start"})


_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def parse_page(parameters: Mapping[str, str]) -> PageRequest:
    """The page of a request. Blank is absent; more than the maximum is the maximum; nonsense is refused."""
    wrong: dict[str, list[Message]] = {}
    limit, offset, clipped = DEFAULT_LIMIT, 0, False
    asked = parameters.get("limit", "")
    if asked.strip():
        number = parse_integer(asked)
        if number is None or number < 1:
            wrong["limit"] = [Message("Enter a whole number from {low} to {high}.", low=1, high=MAX_LIMIT)]
        else:
            limit, clipped = min(number, MAX_LIMIT), number > MAX_LIMIT
    # `start` is one live system's word for the offset.
    name = "offset" if parameters.get("offset", "").strip() else "start"
    asked = parameters.get(name, "")
    if asked.strip():
        number = parse_integer(asked)
        if number is None or number < 0:
            wrong[name] = [Message("Enter a whole number, {low} or more.", low=0)]
        else:
            offset = number
    if wrong:
        raise ValidationError(wrong)
    return PageRequest(limit, offset, clipped)


def parse_integer(text: str) -> int | None:
    """The integer a person wrote, in any script's digits; None if it is none. Huge ones are cut to size."""
    if text.isascii() and text.isdigit() and len(text) < 18:  # as programs write it
        return int(text)
    if not _INTEGER.fullmatch(text):
        return None
    try:
        return max(-MAX_OFFSET, min(int(text), MAX_OFFSET))
    except ValueError:  # Python refuses to convert thousands of digits
        return -MAX_OFFSET if text.strip().startswith("-") else MAX_OFFSET
