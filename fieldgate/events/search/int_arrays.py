"""Columns of numbers, and what is asked of many of them at once.

They are arrays of the standard library, and loops do for ten thousand numbers. For many more numpy is many times
faster. It is loaded for no less: its 16 MB are more than all events of a small service take.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt

Numbers: TypeAlias = "array[int]"  # ids and moments, of 64 bits
Places: TypeAlias = "array[int]"  # of numbers in a column, of 32 bits

MANY = 20_000  # numbers in a column: from here on numpy is worth loading
NOWHERE = -1


def numbers(values: Sequence[int] = ()) -> Numbers:
    return array("q", values)


def get_ready(column: Numbers) -> None:
    """Load what a column of this length is asked with, in the thread that made it: that takes a tenth of a second."""
    if len(column) >= MANY:
        import numpy  # noqa: F401


def in_order(column: Numbers) -> Places:
    """The places of a column from its lowest number."""
    if len(column) < MANY:
        return array("I", sorted(range(len(column)), key=column.__getitem__))
    import numpy as np

    return packed(np.argsort(np.asarray(column), kind="stable"))


def in_order_of_both(column: Numbers, then: Numbers) -> Places:
    """The places of a column from its lowest number; of equal ones, those with the highest number in `then` first."""
    if len(column) < MANY:
        by_the_other = sorted(range(len(column)), key=then.__getitem__, reverse=True)
        return array("I", sorted(by_the_other, key=column.__getitem__))
    import numpy as np

    return packed(np.lexsort((-np.asarray(then), np.asarray(column))))


def inverse(order: Places) -> Places:
    """Where each place comes in an order."""
    if len(order) < MANY:
        found = array("I", bytes(4 * len(order)))
        for turn, place in enumerate(order):
            found[place] = turn
        return found
    import numpy as np

    turns = np.empty(len(order), dtype=np.uint32)
    turns[np.asarray(order)] = np.arange(len(order), dtype=np.uint32)
    return packed(turns)


def taken(column: Numbers, places: Places) -> Numbers:
    """The numbers at some places of a column, in the order of these."""
    if len(column) < MANY:
        return array(column.typecode, map(column.__getitem__, places))
    import numpy as np

    return array(column.typecode, np.asarray(column)[np.asarray(places)].tobytes())


def within(column: Numbers, low: int, high: int) -> Places:
    """The places of all numbers in [low, high]."""
    if len(column) < MANY:
        return array("I", [place for place, number in enumerate(column) if low <= number <= high])
    import numpy as np

    held = np.asarray(column)
    return packed(np.nonzero((held >= low) & (held <= high))[0])


def found(ordered: Numbers, places: Places, wanted: Numbers) -> Numbers:
    """For each number that is wanted, the place that goes with it in a column in order; `NOWHERE` for others."""
    if len(ordered) < MANY:
        return array("q", [_found(ordered, places, number) for number in wanted])
    import numpy as np

    held, sought = np.asarray(ordered), np.asarray(wanted)
    turns_of_all = np.minimum(np.searchsorted(held, sought), len(held) - 1)
    at = np.where(held[turns_of_all] == sought, np.asarray(places)[turns_of_all].astype(np.int64), NOWHERE)
    return array("q", at.tobytes())


def _found(ordered: Numbers, places: Places, number: int) -> int:
    turn = bisect_left(ordered, number)
    return places[turn] if turn < len(ordered) and ordered[turn] == number else NOWHERE


def common(column: Numbers, other: Numbers) -> Numbers:
    """The numbers of a column that are in another too, in their order."""
    if max(len(column), len(other)) < MANY:
        return array("q", filter(frozenset(other).__contains__, column))
    import numpy as np

    held = np.asarray(column)
    return array("q", held[np.isin(held, np.asarray(other))].tobytes())


def packed(places: "npt.NDArray[Any]") -> Places:
    """Places as numpy tells them, as a column."""
    import numpy as np

    return array("I", places.astype(np.uint32, copy=False).tobytes())
