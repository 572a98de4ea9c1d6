"""Scales: classes of colours, and labels of an axis."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.charts.scales import MAX_CLASSES, class_of, classify, label_places

values = st.lists(st.integers(-5, 10**9).map(float), max_size=200)


@given(values)
def test_every_positive_value_has_a_class_that_contains_it(numbers: list[float]) -> None:
    classes = classify(numbers)
    assert len(classes) <= MAX_CLASSES
    for value in numbers:
        number = class_of(value, classes) if value > 0 else 0
        if value > 0:
            [own] = [each for each in classes if each.number == number]
            assert own.low <= value <= own.high


@given(values)
def test_greater_values_have_stronger_colours(numbers: list[float]) -> None:
    classes = classify(numbers)
    assert [each.number for each in classes] == sorted({each.number for each in classes})
    assert all(each.low <= each.high for each in classes)
    assert all(one.high < other.low for one, other in pairwise(classes))


@given(st.integers(0, 200), st.integers(1, 10))
def test_labels_are_few_and_on_the_axis(count: int, most: int) -> None:
    places = label_places(count, most)
    assert len(places) <= most
    assert bool(places) == bool(count)
    assert all(0 <= place < count for place in places)
