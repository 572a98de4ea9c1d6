"""Operations give the same results by loops and by numpy."""

from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.search import int_arrays
from fieldgate.events.search.index import INT64_MAX, INT64_MIN
from fieldgate.events.search.int_arrays import NOT_FOUND, int64_array

ALWAYS, NEVER = 1, 10**9  # how many are too many for loops

number = st.integers(INT64_MIN + 1, INT64_MAX)
small = st.integers(-3, 3)
column = st.lists(small | number, max_size=30)


@pytest.fixture(params=[NEVER, ALWAYS], ids=["loops", "numpy"], autouse=True, scope="module")
def many(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(int_arrays, "NUMPY_THRESHOLD", request.param)
        yield


@given(column)
def test_argsort(values: list[int]) -> None:
    found = int_arrays.argsort(int64_array(values))
    assert found == array("I", sorted(range(len(values)), key=values.__getitem__))
    assert int_arrays.take(int64_array(values), found) == int64_array(sorted(values))


@given(st.lists(st.tuples(small | number, number), max_size=30, unique_by=lambda both: both[1]))
def test_argsort_with_tiebreak(values: list[tuple[int, int]]) -> None:
    found = int_arrays.argsort_with_tiebreak(
        int64_array([one for one, _ in values]), int64_array([other for _, other in values])
    )
    assert [values[place] for place in found] == sorted(values, key=lambda both: (both[0], -both[1]))


@given(st.integers(0, 30).flatmap(lambda count: st.permutations(range(count))))
def test_inverse_permutation(order: list[int]) -> None:
    turns = int_arrays.inverse_permutation(array("I", order), len(order))
    assert [order[turn] for turn in turns] == list(range(len(order)))


@given(column, small | number, small | number)
def test_indices_in_range(values: list[int], low: int, high: int) -> None:
    found = int_arrays.indices_in_range(int64_array(values), low, high)
    assert list(found) == [place for place, value in enumerate(values) if low <= value <= high]


@given(st.lists(small | number, max_size=30, unique=True), column)
def test_find_positions(values: list[int], wanted: list[int]) -> None:
    in_order = int_arrays.argsort(int64_array(values))
    found = int_arrays.find_positions(int_arrays.take(int64_array(values), in_order), in_order, int64_array(wanted))
    assert list(found) == [values.index(each) if each in values else NOT_FOUND for each in wanted]


@given(st.lists(small | st.integers(-(2**53), 2**53), min_size=1, max_size=30), st.data())
def test_sums_at(values: list[int], data: st.DataObject) -> None:
    indices = sorted(data.draw(st.sets(st.integers(0, len(values) - 1))))
    columns = int64_array(values), array("H", range(len(values)))
    expected = [sum(values[index] for index in indices), sum(indices)]
    assert int_arrays.sums_at(columns, array("I", indices)) == expected


@given(column)
def test_largest_magnitude(values: list[int]) -> None:
    assert int_arrays.largest_magnitude(int64_array(values)) == max(map(abs, values), default=0)
