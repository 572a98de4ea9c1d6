"""Timelines: heights, labels and links."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.timeline import (
    CHART_WIDTH,
    MAX_LABELS,
    TOP,
    TimelineValue,
    build_timeline,
)

numbers = st.lists(st.integers(0, 10**12), max_size=150)


def values(counts: list[int]) -> list[TimelineValue]:
    return [
        TimelineValue(
            label=str(2000 + place),
            value=count,
            text=f"{count}",
            value_text=f"{count}",
            href=f"?{place}",
        )
        for place, count in enumerate(counts)
    ]


def test_labels_do_not_collide() -> None:
    """A chart that begins in January has its first label at the edge, next to that of the second January."""
    months = [(year, month) for year in range(2021, 2031) for month in range(1, 13)]
    values = [
        TimelineValue(label=f"Jan {year}", value=1, text="", is_start=month == 1)
        for year, month in [*months[11:12], *months[12:14], *months[24:26], *months[36:]]
    ]
    chart = build_timeline(values)
    ends = [0.0]
    for label in chart.labels:
        width = len(label.text) * 6
        start = label.x - {"start": 0, "middle": width / 2, "end": width}[label.anchor]
        assert start >= ends[-1]
        ends.append(start + width)
    assert len(chart.labels) >= 2


@given(numbers)
def test_bars_are_in_proportion_and_inside(counts: list[int]) -> None:
    chart = build_timeline(values(counts))
    assert len(chart.bars) == len(counts)
    full = chart.axis_y - TOP
    for count, bar in zip(counts, chart.bars, strict=True):
        assert bar.x >= 0
        assert bar.x + bar.width <= CHART_WIDTH + 0.1
        assert TOP - 0.1 <= bar.y <= chart.axis_y
        assert bool(bar.height) == bool(count), "what is there can be seen"
        assert abs(bar.height - full * count / max(max(counts), 1)) <= 1.51
    assert len(chart.labels) <= MAX_LABELS
    assert chart.shape.count("M") == sum(map(bool, counts))
