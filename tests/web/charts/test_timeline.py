"""Timelines: heights, labels and links."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.timeline import CHART_WIDTH, MAX_LABELS, TOP, TimelineValue, build_timeline

numbers = st.lists(st.integers(0, 10**12), max_size=150)


def values(counts: list[int]) -> list[TimelineValue]:
    return [
        TimelineValue(label=str(2000 + place), value=count, text=f"{count}", value_text=f"{count}", href=f"?{place}")
        for place, count in enumerate(counts)
    ]


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


@given(numbers.filter(any))
def test_greatest_value_is_written_on_its_bar(counts: list[int]) -> None:
    chart = build_timeline(values(counts))
    assert chart.peak is not None
    assert chart.peak.text == str(max(counts))
    assert 0 <= chart.peak.x <= CHART_WIDTH
    assert chart.peak_y < chart.bars[counts.index(max(counts))].y


def test_labels_at_the_edges_are_not_cut_off() -> None:
    chart = build_timeline(values([1] * 60))
    assert chart.labels[0].anchor in ("start", "middle")
    last = build_timeline([*values([1] * 59), TimelineValue(label="x", value=99, text="", value_text="1,234,567")]).peak
    assert last is not None
    assert (last.x, last.anchor) == (CHART_WIDTH, "end")


def test_nothing_is_an_empty_chart() -> None:
    chart = build_timeline([])
    assert (chart.bars, chart.labels, chart.peak) == ([], [], None)
    assert build_timeline(values([0, 0])).peak is None
