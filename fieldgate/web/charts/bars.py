"""Horizontal bars, and rows of the tables behind charts."""

from collections.abc import Iterable

import msgspec


class HorizontalBar(msgspec.Struct, frozen=True):
    """A name, its value as people write it, and the length of its bar from 0 to 1."""

    name: str
    text: str
    share: float
    href: str | None = None


class ChartLink(msgspec.Struct, frozen=True):
    """A cell of a table that is a link."""

    text: str
    href: str | None


def build_bars(values: Iterable[tuple[str, float, str, str | None]]) -> list[HorizontalBar]:
    """Make bars of (name, value, value as text, link). The greatest value fills its bar."""
    rows = list(values)
    greatest = max((value for _, value, _, _ in rows), default=0)
    return [HorizontalBar(name, text, share_of(value, greatest), href) for name, value, text, href in rows]


def share_of(part: float, whole: float) -> float:
    """The share of a whole, from 0 to 1. Nothing, or more than all, is possible in funding."""
    if whole <= 0:
        return 0.0
    return round(min(max(part / whole, 0.0), 1.0), 4)
