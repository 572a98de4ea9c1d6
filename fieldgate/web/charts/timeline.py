"""Bars over time: one per month or year, each a link."""

from collections.abc import Sequence

import msgspec

from fieldgate.web.charts.scales import label_places

CHART_WIDTH, CHART_HEIGHT = 400.0, 150.0
TOP, BOTTOM = 18.0, 22.0  # for the label of the greatest value, and for the axis
MAX_LABELS = 6
GAP = 0.15  # between bars, as a share of their distance
MIN_BAR_HEIGHT = 1.5  # of a value above 0
MAX_BAR_WIDTH = 60.0
CHARACTER_WIDTH = 7.0  # of labels, on average and with some space


class TimelineValue(msgspec.Struct, frozen=True, kw_only=True):
    """A month or a year. `label` is for the axis, `text` the tooltip, `value_text` the value as people write it."""

    label: str
    value: float
    text: str
    value_text: str = ""
    href: str | None = None
    is_start: bool = False  # a good place for a label, such as January


class TimelineBar(msgspec.Struct, frozen=True, kw_only=True):
    x: float
    y: float
    width: float
    height: float
    slot_x: float  # the whole column: easier to click than a low bar
    slot_width: float
    text: str
    href: str | None


class AxisLabel(msgspec.Struct, frozen=True):
    x: float
    text: str
    anchor: str


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What the macro `timeline` draws."""

    width: float
    height: float
    axis_y: float
    bars: Sequence[TimelineBar]
    shape: str  # of all bars, as SVG path data: one element instead of one for each
    labels: Sequence[AxisLabel]
    peak: AxisLabel | None
    peak_y: float


def build_timeline(values: Sequence[TimelineValue]) -> Timeline:
    """Make a timeline. Time goes from left to right in all languages."""
    axis_y = CHART_HEIGHT - BOTTOM
    greatest = max((value.value for value in values), default=0)
    slot = CHART_WIDTH / max(len(values), 1)
    width = min(slot * (1 - GAP), MAX_BAR_WIDTH)
    bars = []
    for place, value in enumerate(values):
        height = _bar_height(value.value, greatest, axis_y - TOP)
        bars.append(
            TimelineBar(
                x=round(slot * place + (slot - width) / 2, 2),
                y=round(axis_y - height, 2),
                width=round(width, 2),
                height=round(height, 2),
                slot_x=round(slot * place, 2),
                slot_width=round(slot, 2),
                text=value.text,
                href=value.href,
            )
        )
    places = label_places(len(values), MAX_LABELS, [value.is_start for value in values])
    peak, peak_y = None, 0.0
    if greatest > 0:
        at = max(range(len(values)), key=lambda place: values[place].value)
        peak = _label(slot, at, values[at].value_text or f"{greatest:g}")
        peak_y = bars[at].y - 5
    return Timeline(
        width=CHART_WIDTH,
        height=CHART_HEIGHT,
        axis_y=axis_y,
        bars=bars,
        shape="".join(
            f"M{bar.x:g} {axis_y:g}v-{bar.height:g}h{bar.width:g}v{bar.height:g}z"
            for bar in bars
            if bar.height
        ),
        labels=_without_collisions([_label(slot, place, values[place].label) for place in places]),
        peak=peak,
        peak_y=peak_y,
    )


def _bar_height(value: float, greatest: float, available: float) -> float:
    if value <= 0 or greatest <= 0:
        return 0.0
    return max(value / greatest * available, MIN_BAR_HEIGHT)


def _without_collisions(labels: Sequence[AxisLabel]) -> list[AxisLabel]:
    """Leave out labels that would begin before the one on their left ends."""
    kept: list[AxisLabel] = []
    end = 0.0
    for label in labels:
        width = len(label.text) * CHARACTER_WIDTH
        start = label.x - width * {"start": 0, "middle": 0.5, "end": 1}[label.anchor]
        if not kept or start >= end:
            kept.append(label)
            end = start + width
    return kept


def _label(slot: float, place: int, text: str) -> AxisLabel:
    """A label at a bar. Near an edge it is aligned with it, so that it is not cut off."""
    x = slot * (place + 0.5)
    half = len(text) * CHARACTER_WIDTH / 2
    if x < half:
        return AxisLabel(0.0, text, "start")
    if x > CHART_WIDTH - half:
        return AxisLabel(CHART_WIDTH, text, "end")
    return AxisLabel(round(x, 2), text, "middle")
