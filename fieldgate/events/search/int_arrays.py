"""Operations on arrays of integers (`array.array`), with numpy from a certain length on.

Loops are fast enough for ten thousand numbers. Numpy is many times faster for more, but a small service does without
its 16 MB.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt

Int64Array: TypeAlias = "array[int]"  # ids and timestamps
UInt32Array: TypeAlias = "array[int]"  # positions

NUMPY_THRESHOLD = 20_000  # values in an array
NOT_FOUND = -1
SUM_BLOCK = 16_384  # values that are added at a time: blocks of this size are not returned to the system and back


def int64_array(values: Sequence[int] = ()) -> Int64Array:
    return array("q", values)


def preload_numpy(column: Int64Array) -> None:
    """Load numpy if a column of this length needs it. Call it in a thread: loading takes a tenth of a second."""
    if len(column) >= NUMPY_THRESHOLD:
        import numpy  # noqa: F401


def argsort(column: Int64Array) -> UInt32Array:
    """The indices that sort a column."""
    if len(column) < NUMPY_THRESHOLD:
        return array("I", sorted(range(len(column)), key=column.__getitem__))
    import numpy as np

    return to_uint32_array(np.argsort(np.asarray(column), kind="stable"))


def argsort_with_tiebreak(column: Int64Array, tiebreak_desc: Int64Array) -> UInt32Array:
    """The indices that sort a column; ties by `tiebreak_desc`, descending."""
    if len(column) < NUMPY_THRESHOLD:
        by_tiebreak = sorted(range(len(column)), key=tiebreak_desc.__getitem__, reverse=True)
        return array("I", sorted(by_tiebreak, key=column.__getitem__))
    import numpy as np

    return to_uint32_array(np.lexsort((-np.asarray(tiebreak_desc), np.asarray(column))))


def inverse_permutation(order: UInt32Array, size: int) -> UInt32Array:
    """The place of each of `size` indices in an order, which may leave some of them out: theirs is 0."""
    if size < NUMPY_THRESHOLD:
        found = array("I", bytes(4 * size))
        for turn, place in enumerate(order):
            found[place] = turn
        return found
    import numpy as np

    turns = np.zeros(size, dtype=np.uint32)
    turns[np.asarray(order)] = np.arange(len(order), dtype=np.uint32)
    return to_uint32_array(turns)


def take(column: Int64Array, indices: UInt32Array) -> Int64Array:
    """The values at these indices."""
    if len(column) < NUMPY_THRESHOLD:
        return array(column.typecode, map(column.__getitem__, indices))
    import numpy as np

    return array(column.typecode, np.asarray(column)[np.asarray(indices)].tobytes())


def indices_in_range(column: Int64Array, low: int, high: int) -> UInt32Array:
    """The indices of all values in [low, high]."""
    if len(column) < NUMPY_THRESHOLD:
        return array("I", [place for place, number in enumerate(column) if low <= number <= high])
    import numpy as np

    held = np.asarray(column)
    return to_uint32_array(np.nonzero((held >= low) & (held <= high))[0])


def find_positions(sorted_values: Int64Array, positions: UInt32Array, targets: Int64Array) -> Int64Array:
    """The position that belongs to each target in a sorted column; `NOT_FOUND` for others."""
    if len(sorted_values) < NUMPY_THRESHOLD:
        return array("q", [_find_position(sorted_values, positions, number) for number in targets])
    import numpy as np

    held, sought = np.asarray(sorted_values), np.asarray(targets)
    turns_of_all = np.minimum(np.searchsorted(held, sought), len(held) - 1)
    at = np.where(held[turns_of_all] == sought, np.asarray(positions)[turns_of_all].astype(np.int64), NOT_FOUND)
    return array("q", at.tobytes())


def _find_position(sorted_values: Int64Array, positions: UInt32Array, target: int) -> int:
    turn = bisect_left(sorted_values, target)
    return positions[turn] if turn < len(sorted_values) and sorted_values[turn] == target else NOT_FOUND


def largest_magnitude(column: Int64Array) -> int:
    """The largest absolute value; 0 for an empty column."""
    if len(column) < NUMPY_THRESHOLD:
        return max(map(abs, column), default=0)
    import numpy as np

    held = np.asarray(column)
    return max(abs(int(held.max())), abs(int(held.min())))


def sums_at(columns: Sequence[Int64Array], indices: UInt32Array) -> list[int]:
    """The sum of each column over these indices. The sums must be below 2**63."""
    if not indices or len(columns[0]) < NUMPY_THRESHOLD:
        return exact_sums_at(columns, indices)
    import numpy as np

    found = [0] * len(columns)
    for start in range(0, len(indices), SUM_BLOCK):
        # Converted once: otherwise numpy does it for each column. "clip" is the mode without a check of bounds.
        at = np.asarray(indices[start : start + SUM_BLOCK]).astype(np.intp)
        for number, column in enumerate(columns):
            found[number] += int(np.asarray(column).take(at, mode="clip").sum(dtype=np.int64))
    return found


def exact_sums_at(columns: Sequence[Sequence[int]], indices: UInt32Array) -> list[int]:
    """The sum of each column over these indices, by a loop."""
    if len(indices) < 2:
        return [sum(column[index] for index in indices) for column in columns]
    values_at = itemgetter(*indices)
    return [sum(values_at(column)) for column in columns]


def to_uint32_array(indices: "npt.NDArray[Any]") -> UInt32Array:
    """Numpy indices as an array."""
    import numpy as np

    return array("I", indices.astype(np.uint32, copy=False).tobytes())
