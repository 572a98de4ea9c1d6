"""Median, minimum and maximum of repeated measurements."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import msgspec

from benchmarks.load import Sample


class Spread(msgspec.Struct, frozen=True):
    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, figures: Iterable[float]) -> Self:
        ordered = sorted(figures)
        return cls(statistics.median(ordered), ordered[0], ordered[-1])


def rates(samples: Sequence[Sample]) -> Spread:
    return Spread.of(sample.rate for sample in samples)


def ratios(samples: Sequence[Sample], others: Sequence[Sample]) -> Spread:
    """Ratios within each round: a slow minute of the machine slows both sides."""
    return Spread.of(sample.rate / other.rate for sample, other in zip(samples, others, strict=True))


def format_cell(spread: Spread | None, formatter: Callable[[float], str]) -> str:
    """A table cell: the median, and the range below it."""
    if spread is None:
        return ""
    median, lowest, highest = (formatter(figure) for figure in (spread.median, spread.lowest, spread.highest))
    return f"[bold]{median}[/]\n[dim]{lowest}..{highest}[/]"


def per_second(figure: float) -> str:
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.1f}"
