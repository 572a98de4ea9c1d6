"""Limit/offset pagination: the requested page and the returned list."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000

Record = TypeVar("Record")
# Encodes the records of a page, given the URLs of the next and the previous page.
PageEncoder = Callable[[Sequence[bytes], str | None, str | None], bytes]


class PageRequest(msgspec.Struct, frozen=True):
    """The requested part of a list. `is_clipped`: a larger limit than the maximum was requested."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0
    is_clipped: bool = False


class ListResult(msgspec.Struct, Generic[Record], frozen=True):
    """The number of all matching records, and the records of the requested page.

    A record is a struct, or its JSON from `links.encode` as bytes or `msgspec.Raw`.
    """

    count: int
    records: Sequence[Record | msgspec.Raw | bytes]
    # The data versions the records were read at, if the handler knows them.
    versions: tuple[int, ...] | None = None
    # How to write the page in the requested format, if that is neither JSON nor HTML. It gets the records as they are:
    # links in them are not resolved.
    encode_page: PageEncoder | None = None
