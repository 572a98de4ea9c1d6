"""Charts of the results, as self-contained SVG files."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.plotting import CleanStyle, pygal
from benchmarks.report import Report, Summary, describe_machine

Points = Sequence[tuple[float, float]]

_STYLE = CleanStyle(
    background="white",
    plot_background="white",
    font_family="sans-serif",
    title_font_size=16,
    value_font_size=11,
    label_font_size=12,
    major_label_font_size=12,
    legend_font_size=13,
)
_COMMON: dict[str, Any] = {
    "js": (),
    "style": _STYLE,
    "legend_at_bottom": True,
    "legend_at_bottom_columns": 4,
    "truncate_legend": -1,
}


def draw_rates(report: Report, file: Path) -> None:
    """Requests per second of all works, on a logarithmic axis because the peer is far slower."""
    chart = pygal.HorizontalBar(
        **_COMMON,
        title=f"Requests per second on one core\n{describe_machine(report.machine)}",
        logarithmic=True,
        width=1000,
        height=150 + 60 * len(report.summaries),
        print_values=True,
        print_values_position="top",
        value_formatter=lambda figure: f"{figure:,.0f}" if figure >= 10 else f"{figure:.1f}",
    )
    downward = report.summaries[::-1]  # the chart starts at the bottom
    chart.x_labels = [each.work for each in downward]
    chart.y_labels = [0.1, 1, 10, 100, 1000, 10_000, 100_000]
    chart.add("ours", [each.ours.median for each in downward])
    chart.add(f"peer ({report.peer_server})", [each.peer and each.peer.median for each in downward])
    chart.add("floor", [each.floor.median for each in downward])
    _write(chart, file)


def draw_targets(report: Report, file: Path) -> None:
    """The share of each target that was reached: 1 is the target."""
    reached = [pair for each in report.summaries for pair in _target_ratios(each)]
    reached += [
        (check.what, check.found / check.limit if check.side == "at least" else check.limit / check.found)
        for check in report.checks
    ]
    chart = pygal.HorizontalBar(
        **_COMMON,
        title=f"Measured by target: 1 and more is met\n{describe_machine(report.machine)}",
        show_legend=False,
        width=1000,
        height=150 + 28 * len(reached),
        print_values=True,
        value_formatter=lambda figure: f"{figure:.2f}",
    )
    downward = reached[::-1]
    chart.x_labels = [what for what, _ in downward]
    chart.add("", [{"value": share, "color": "#2e7d32" if share >= 1 else "#c62828"} for _, share in downward])
    _write(chart, file)


def draw_growth(title: str, x_label: str, y_label: str, lines: Mapping[str, Points], file: Path) -> None:
    """Lines over a growing quantity. Both axes are logarithmic, so constant costs are flat."""
    chart = pygal.XY(
        **{**_COMMON, "legend_at_bottom_columns": 2},  # names are long
        title=title,
        x_title=x_label,
        y_title=y_label,
        logarithmic=True,
        width=900,
        height=600,
        margin_right=50,  # for the end of the last label
        margin_bottom=40,
        dots_size=4,
        value_formatter=lambda figure: f"{figure:,.3g}",
        x_value_formatter=lambda place: f"{place:,.0f}",
    )
    chart.x_labels = sorted({place for points in lines.values() for place, _ in points})
    chart.xrange = (chart.x_labels[0], chart.x_labels[-1])
    figures = [figure for points in lines.values() for _, figure in points]
    lowest, highest = (math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures))))
    chart.y_labels = [10.0**power for power in range(lowest, max(highest, lowest + 1) + 1)]
    chart.range = (chart.y_labels[0], chart.y_labels[-1])
    for name, points in lines.items():
        chart.add(name, points)
    _write(chart, file)


def draw_timeline(title: str, y_label: str, lines: Mapping[str, Points], file: Path, *, dots: bool = False) -> None:
    """Figures over time in seconds, on a logarithmic axis. With `dots` they are not joined by lines."""
    chart = pygal.XY(
        **_COMMON,
        title=title,
        x_title="seconds",
        y_title=y_label,
        logarithmic=True,
        width=1000,
        height=480,
        stroke=not dots,
        show_dots=dots,
        dots_size=2,
        value_formatter=lambda figure: f"{figure:,.3g}",
        x_value_formatter=lambda seconds: f"{seconds:,.0f}",
    )
    figures = [max(figure, 0.01) for points in lines.values() for _, figure in points] or [1.0]
    lowest, highest = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)))
    chart.y_labels = [10.0**power for power in range(lowest, max(highest, lowest + 1) + 1)]
    chart.range = (chart.y_labels[0], chart.y_labels[-1])
    for name, points in lines.items():
        if points:
            chart.add(name, [(at, max(figure, 0.01)) for at, figure in points])
    _write(chart, file)


def _target_ratios(summary: Summary) -> list[tuple[str, float]]:
    pairs = []
    if summary.target.times_the_peer and summary.times_the_peer:
        pairs.append((f"{summary.work}: the peer", summary.times_the_peer.median / summary.target.times_the_peer))
    if summary.target.share_of_floor:
        pairs.append((f"{summary.work}: the floor", summary.share_of_floor.median / summary.target.share_of_floor))
    return pairs


def _write(chart: Any, file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(chart.render())
