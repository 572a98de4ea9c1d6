"""Horizontal bars."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.bars import build_bars, share_of


def test_greatest_value_fills_its_bar() -> None:
    bars = build_bars([("Flood", 200, "200", "?a"), ("Fire", 50, "50", None), ("None", 0, "0", None)])
    assert [(bar.name, bar.share, bar.href) for bar in bars] == [
        ("Flood", 1, "?a"),
        ("Fire", 0.25, None),
        ("None", 0, None),
    ]


def test_no_bars() -> None:
    assert build_bars([]) == []


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_share_is_between_nothing_and_all(part: float, whole: float) -> None:
    assert 0 <= share_of(part, whole) <= 1
