"""Parse limit and offset."""

import re
from collections.abc import Mapping

from fieldgate.errors import Invalid
from fieldgate.i18n.messages import Message
from fieldgate.pagination import DEFAULT_LIMIT, MAXIMUM_LIMIT, Page

# No list is longer, and SQL takes it: an offset beyond is past the end all the same.
FAR_PAST_THE_END = 2**62


PAGING = frozenset({"limit", "offset", "start"})


_INTEGER = re.compile(r"\s*[+-]?\d+\s*")


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
