"""An index, built at once or by changes, answers as a list of rows does."""

import subprocess
import sys
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from fieldgate.events.facets import EventFigures
from fieldgate.events.model import Visibility
from fieldgate.events.search.index import INT64_MAX, INT64_MIN, Index, IndexBuilder, IndexRow
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope

WORDS = ["v1", "v2", "v3", "v4", "c7", "c8", "d12"]
MEMBER_LEVELS: frozenset[int] = frozenset({Visibility.PUBLIC, Visibility.MOVEMENT})
SCOPES = [
    PUBLIC_SCOPE,
    ViewerScope(MEMBER_LEVELS),
    ViewerScope(MEMBER_LEVELS, frozenset({7})),
    ViewerScope(MEMBER_LEVELS, frozenset({7, 8, 9})),
    ViewerScope(MEMBER_LEVELS | {Visibility.SOCIETIES}, frozenset({7})),
    FULL_SCOPE,
]
times = st.integers(-2, 8)
words = st.sets(st.sampled_from(WORDS)).map(sorted).map(" ".join)
amounts = st.integers(-5, 2**53)
rows_of_events = st.builds(
    IndexRow, st.integers(1, 30), times, times, times, words, st.integers(0, 9), st.integers(0, 3), amounts, amounts
)
rows_by_id = st.lists(rows_of_events, unique_by=lambda row: row.id, max_size=20)


def built_from(*batches: Iterable[IndexRow]) -> Index:
    builder = IndexBuilder()
    for batch in batches:
        builder.add(batch)
    return builder.build()


def in_default_order(rows: Iterable[IndexRow]) -> list[int]:
    return [row.id for row in sorted(rows, key=lambda row: (-row.start, row.id))]


def is_visible(row: IndexRow, scope: ViewerScope) -> bool:
    words = row.facets.split()
    countries = tuple(int(word[1:]) for word in words if word[0] == "c")
    return any(scope.can_see(int(word[1:]), countries) for word in words if word[0] == "v")


def total_figures(rows: Iterable[IndexRow]) -> EventFigures:
    figures = [row.figures for row in rows]
    return EventFigures(*[sum(column) for column in zip(*figures, strict=True)])


def check(index: Index, rows: list[IndexRow]) -> None:
    """Compare all that an index answers with these rows."""

    def assert_same(found: BitMap, expected: Iterable[IndexRow]) -> None:
        assert index.page(found & index.live_positions, 100, 0) == in_default_order(expected)

    assert len(index) == len(rows)
    assert_same(index.live_positions, rows)
    for scope in SCOPES:
        assert_same(index.visible_to(scope), [row for row in rows if is_visible(row, scope)])
        assert index.visible_to(scope) <= index.live_positions
    for word in WORDS:
        assert_same(index.with_any_facet(word), [row for row in rows if word in row.facets.split()])
    either = [row for row in rows if {"c7", "d12"} & {*row.facets.split()}]
    assert_same(index.with_any_facet("c7", "d12", "unknown"), either)
    assert index.with_any_facet("unknown") == index.with_any_facet() == BitMap()
    for low, high in ((0, 3), (2, 2), (3, 0), (-9, 9)):
        assert_same(index.started_between(low, high), [row for row in rows if low <= row.start <= high])
        assert_same(index.in_range(index.created, low, high), [row for row in rows if low <= row.created <= high])
        assert_same(index.in_range(index.updated, low, high), [row for row in rows if low <= row.updated <= high])
    for row in rows:
        position = index.position(row.id)
        assert position is not None
        assert index.figures[position] == row.figures
    assert len(index.figures) == len(index.ids)
    assert index.figures.sums(index.live_positions, index.live_positions) == total_figures(rows)
    wanted = [1, 2, 3, 31, INT64_MIN, INT64_MAX, INT64_MIN - 1, INT64_MAX + 1]
    assert_same(index.by_ids(wanted), [row for row in rows if row.id in wanted])
    for number in range(32):
        position = index.position(number)
        assert (position is not None) == (number in {row.id for row in rows})
        assert position is None or index.ids[position] == number


@given(rows_by_id, st.integers(0, 20))
def test_built_index(rows: list[IndexRow], split: int) -> None:
    check(built_from(rows[:split], rows[split:]), rows)


@given(rows_by_id, st.integers(0, 25), st.integers(1, 25))
def test_pages(rows: list[IndexRow], offset: int, limit: int) -> None:
    index = built_from(rows)
    assert index.page(index.live_positions, limit, offset) == in_default_order(rows)[offset : offset + limit]


@given(rows_by_id, st.lists(st.tuples(rows_by_id, st.sets(st.integers(1, 32))), max_size=3))
def test_changed_index(rows: list[IndexRow], changes: list[tuple[list[IndexRow], set[int]]]) -> None:
    index = built_from(rows)
    expected = {row.id: row for row in rows}
    for rows_written, deleted in changes:
        written = [row for row in rows_written if row.id not in deleted]
        before, index = index, index.with_changes(written, deleted)
        check(before, list(expected.values()))
        expected = {id_: row for id_, row in expected.items() if id_ not in deleted}
        expected |= {row.id: row for row in written}
        check(index, list(expected.values()))


@given(rows_by_id, st.data())
def test_index_with_edited_and_appended_events(rows: list[IndexRow], data: st.DataObject) -> None:
    index, expected = built_from(rows), {row.id: row for row in rows}
    for turn in range(3):
        some = st.sets(st.sampled_from(sorted(expected)), max_size=5) if expected else st.just(set[int]())
        deleted = data.draw(some)
        written = [
            data.draw(rows_of_events)._replace(id=id_, start=expected[id_].start) for id_ in data.draw(some) - deleted
        ]
        # Later than all others, with ids that were not used before.
        new_ids = data.draw(st.sets(st.integers(40, 60), max_size=3))
        written += [data.draw(rows_of_events)._replace(id=100 * turn + id_, start=10 + turn) for id_ in new_ids]
        index = index.with_changes(written, deleted)
        expected = {number: row for number, row in expected.items() if number not in deleted}
        expected |= {row.id: row for row in written}
        check(index, list(expected.values()))


def test_moved_events_leave_no_positions_behind() -> None:
    rows = [IndexRow(id_, id_, 0, 0, "v3") for id_ in range(1, 11)]
    index = built_from(rows)
    for turn in range(5):
        index = index.with_changes([row._replace(start=-row.id * (turn + 1)) for row in rows], [])
    assert len(index.ids) < 2 * len(rows)


def test_many_events_with_numpy() -> None:
    """Above the length from which on arrays are sorted by numpy."""
    rows = [IndexRow(id_, id_ * 7 % 1000, id_, id_, f"v1 c{id_ % 5}", id_) for id_ in range(1, 25_001)]
    moved = [row._replace(start=row.start + 1, facets="v2 c7", num_affected=1) for row in rows[100:200]]
    new = [IndexRow(id_, 500, 0, 0, "v1 d12", 5) for id_ in range(30_000, 30_100)]
    index = built_from(rows).with_changes([*moved, *new], range(1, 51))
    expected = built_from([*rows[50:100], *moved, *rows[200:], *new])
    assert index.page(index.live_positions, 30_000, 0) == expected.page(expected.live_positions, 30_000, 0)
    for word, positions in expected.facet_sets.items():
        found = index.with_any_facet(word)
        assert index.page(found, 30_000, 0) == expected.page(positions, 30_000, 0)
        assert index.figures.sums(found, found) == expected.figures.sums(positions, positions)


# In a process of its own: this one has numpy already.
GROWING = """
import sys
from fieldgate.events.search import int_arrays
from fieldgate.events.search.index import IndexBuilder, IndexRow

int_arrays.NUMPY_THRESHOLD = 3
builder = IndexBuilder()
builder.add([IndexRow(1, 1, 1, 1, "v3"), IndexRow(2, 2, 2, 2, "v3")])
index = builder.build()
print(len(index), "numpy" in sys.modules)
index = index.with_changes([IndexRow(3, 3, 3, 3, "v3")], [])
print(len(index), "numpy" in sys.modules)
"""


def test_growing_index_loads_numpy() -> None:
    """It grows in a thread; queries run on the event loop, which loading numpy would block."""
    told = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.splitlines() == ["2 False", "3 True"]


def test_largest_and_smallest_ids_are_found() -> None:
    index = built_from([IndexRow(2**63 - 1, 1, 1, 1, "v3"), IndexRow(-(2**63), 2, 2, 2, "v3")])
    assert [index.position(2**63 - 1), index.position(-(2**63))] == [0, 1]
    assert index.by_ids([2**63 - 1, -(2**63)]) == BitMap([0, 1])


def test_edited_event_loses_facets() -> None:
    index = built_from([IndexRow(1, 1, 1, 1, "v3 c7 c8"), IndexRow(2, 2, 2, 2, "v3")])
    edited = IndexRow(1, 1, 1, 5, "v4 c8")
    check(index.with_changes([edited], []), [edited, IndexRow(2, 2, 2, 2, "v3")])


def test_deleted_event_comes_back_at_the_end() -> None:
    index = built_from([IndexRow(1, 1, 1, 1, "v3 c7"), IndexRow(2, 2, 2, 2, "v3")])
    index = index.with_changes([], [1])
    check(index, [IndexRow(2, 2, 2, 2, "v3")])
    index = index.with_changes([IndexRow(1, 5, 6, 7, "v4 c8")], [])
    check(index, [IndexRow(1, 5, 6, 7, "v4 c8"), IndexRow(2, 2, 2, 2, "v3")])


def test_unchanged_parts_are_shared() -> None:
    index = built_from([IndexRow(1, 1, 1, 1, "v3 c7"), IndexRow(2, 2, 2, 2, "v3")])
    edited = index.with_changes([IndexRow(2, 2, 2, 3, "v3")], [])
    assert edited.ids is index.ids
    assert edited.starts is index.starts
    assert edited.with_any_facet("c7") is index.with_any_facet("c7")
    assert edited.figures is index.figures
    assert index.with_changes([IndexRow(2, 2, 2, 3, "v3", 7)], []).figures is not index.figures
