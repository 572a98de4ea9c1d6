"""Limit/offset pagination: the page requested and the list returned."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import msgspec

DEFAULT_LIMIT = 50


MAX_LIMIT = 1000


Record = TypeVar("Record")


class PageRequest(msgspec.Struct, frozen=True):
    """Which records of a list are asked for. `clipped` tells that more than the maximum was."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0
    is_clipped: bool = False


class ListResult(msgspec.Struct, Generic[Record], frozen=True):
    """The answer of a list: how many records match in all, and those of the page asked for.

    A record is a struct, or the bytes `links.encode` made of one, bare or as `msgspec.Raw`.
    """

    count: int
    records: Sequence[Record | msgspec.Raw | bytes]
    # Of what was answered from a state of the data that the handler knows: the versions of its topics.
    versions: tuple[int, ...] | None = None
