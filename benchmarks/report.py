"""The table of the results, in Markdown."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Figures
from benchmarks.rows import Target

WIDTH = 250  # columns, so that no row is broken
UNITS = {"peer": "times the peer", "floor": "of the floor", "baseline": "times the baseline"}
COMPARED = {
    "peer": "times the peer",
    "floor": "share of the floor",
    "baseline": "times the baseline",
}


@dataclass(frozen=True)
class Result:
    """All rounds of a row, by server. Ratios are computed within each round."""

    name: str
    unit: str
    target: Target | None
    figures: Figures

    def ratios(self, other: str) -> list[float]:
        """Our figures by those of another server; our figures themselves by `ours`; none if there is no such server."""
        if other == "ours" or other not in self.figures:
            return self.figures.get(other, [])
        return [
            ours / theirs
            for ours, theirs in zip(self.figures["ours"], self.figures[other], strict=True)
        ]

    @property
    def is_met(self) -> str:
        if self.target is None:
            return ""
        found = self.ratios(self.target.compared)
        if not found:
            return "needs --baseline"
        reached, limit = median(found), self.target.limit
        return (
            "yes" if (reached <= limit if self.target.is_most else reached >= limit) else "**no**"
        )

    @property
    def target_text(self) -> str:
        if self.target is None:
            return ""
        limit = _number(self.target.limit, self.target.compared)
        unit = UNITS.get(self.target.compared, self.unit)
        return f"at {'most' if self.target.is_most else 'least'} {limit} {unit}"


def print_results(results: list[Result], console: Console) -> None:
    """Medians of all rows, with the lowest and the highest round."""
    machine = f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}"
    console.print(f"{datetime.now(UTC):%Y-%m-%d}, {machine}\n")
    table = Table("work", "ours", *COMPARED.values(), "target", "met", box=box.MARKDOWN)
    for result in results:
        ratios = [_cell(result.ratios(each), each) for each in COMPARED]
        ours = f"{_cell(result.figures['ours'], 'ours')} {result.unit}"
        table.add_row(result.name, ours, *ratios, result.target_text, result.is_met)
    console.print(table)


def _cell(figures: list[float], compared: str) -> str:
    if not figures:
        return ""
    low, high = (_number(figure, compared) for figure in (min(figures), max(figures)))
    return f"{_number(median(figures), compared)} ({low} to {high})"


def _number(figure: float, compared: str) -> str:
    if compared == "floor":
        return f"{figure:.1%}"
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
