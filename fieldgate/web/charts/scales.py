"""Scales of charts: classes of values for colours, and which labels of an axis to write."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

MAX_CLASSES = 4  # as many as the stylesheet has colours


class ValueClass(msgspec.Struct, frozen=True):
    """Values that have the same colour. `low` and `high` are the least and the greatest value in it."""

    number: int  # 1 to MAX_CLASSES
    low: float
    high: float


def classify(values: Sequence[float], max_classes: int = MAX_CLASSES) -> list[ValueClass]:
    """Group positive values into classes of about equal size (quantiles). Equal values are in the same class.

    Few classes use the ends of the range of colours, so that they are easy to tell apart.
    """
    ordered = sorted(value for value in values if value > 0)
    distinct = sorted(set(ordered))
    count = min(max_classes, len(distinct))
    if not count:
        return []
    if len(distinct) <= max_classes:
        lows = distinct
    else:
        lows = sorted({ordered[len(ordered) * place // count] for place in range(count)})
    numbers = _spread(len(lows), max_classes)
    classes = []
    for place, low in enumerate(lows):
        below = lows[place + 1] if place + 1 < len(lows) else float("inf")
        high = max(value for value in distinct if value < below)
        classes.append(ValueClass(numbers[place], low, high))
    return classes


def class_of(value: float, classes: Sequence[ValueClass]) -> int:
    """The number of the class of a value; 0 if it has none."""
    place = bisect_right([each.low for each in classes], value) - 1
    return classes[place].number if place >= 0 else 0


def _spread(count: int, max_classes: int) -> list[int]:
    if count == 1:
        return [max_classes]
    return [1 + round(place * (max_classes - 1) / (count - 1)) for place in range(count)]


def label_places(count: int, max_labels: int, is_start: Sequence[bool] = ()) -> list[int]:
    """The places of an axis to label, evenly: at most `max_labels` of `count`.

    `is_start` marks places that are better than others, such as January. If there are two of them, only such are used.
    """
    starts = [place for place, good in enumerate(is_start) if good]
    if len(starts) >= 2:
        return starts[:: -(-len(starts) // max_labels)]
    step = -(-count // max_labels) if count else 1
    return list(range(step // 2 if step > 2 else 0, count, step))
