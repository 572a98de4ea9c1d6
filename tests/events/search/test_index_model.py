"""An index, built at once or by changes, answers as a list of rows does."""

from collections.abc import Iterable
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from fieldgate.events.figures import FIGURES_MARK, NO_FIGURES, EventFigures, encode_figures, split_stored
from fieldgate.events.model import Visibility
from fieldgate.events.search.index import INT64_MAX, INT64_MIN, Index, IndexBuilder, IndexRow, RebuildRequired
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
some_figures = st.builds(EventFigures, st.integers(0, 9), st.integers(0, 3), st.integers(-5, 2**53), st.integers(-5, 5))
facets = words | st.builds(lambda stored, figures: f"{stored} {encode_figures(figures)}", words, some_figures)
rows_by_id = st.lists(
    st.builds(IndexRow, st.integers(1, 30), times, times, times, facets), unique_by=lambda row: row.id, max_size=20
)


def built_from(*batches: Iterable[IndexRow]) -> Index:
    builder = IndexBuilder()
    for batch in batches:
        builder.add(batch)
    return builder.build()


def in_default_order(rows: Iterable[IndexRow]) -> list[int]:
    return [row.id for row in sorted(rows, key=lambda row: (-row.start, row.id))]


def is_visible(row: IndexRow, scope: ViewerScope) -> bool:
    words = split_stored(row.facets)[0]
    countries = tuple(int(word[1:]) for word in words if word[0] == "c")
    return any(scope.can_see(int(word[1:]), countries) for word in words if word[0] == "v")


def total_figures(rows: Iterable[IndexRow]) -> EventFigures:
    return reduce(EventFigures.plus, [split_stored(row.facets)[1] for row in rows], NO_FIGURES)


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
        assert_same(index.with_any_facet(word), [row for row in rows if word in split_stored(row.facets)[0]])
    either = [row for row in rows if {"c7", "d12"} & {*split_stored(row.facets)[0]}]
    assert_same(index.with_any_facet("c7", "d12", "unknown"), either)
    assert index.with_any_facet("unknown") == index.with_any_facet() == BitMap()
    for low, high in ((0, 3), (2, 2), (3, 0), (-9, 9)):
        assert_same(index.started_between(low, high), [row for row in rows if low <= row.start <= high])
        assert_same(index.in_range(index.created, low, high), [row for row in rows if low <= row.created <= high])
        assert_same(index.in_range(index.updated, low, high), [row for row in rows if low <= row.updated <= high])
    for row in rows:
        words, figures = split_stored(row.facets)
        position = index.position(row.id)
        assert position is not None
        assert index.figures[position] == figures
        assert (position in index.with_any_facet(FIGURES_MARK)) == (FIGURES_MARK in words)
    assert len(index.figures) == len(index.ids)
    live = index.live_positions
    assert index.figures.sums(live, live) == total_figures(rows)
    assert index.figures.range_sums(0, len(index.ids)) == total_figures(rows)
    for word in (*WORDS, FIGURES_MARK):
        with_word = [row for row in rows if word in split_stored(row.facets)[0]]
        assert index.figures.totals.get(word, NO_FIGURES) == total_figures(with_word)
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


@given(rows_by_id, rows_by_id, st.sets(st.integers(1, 32)))
def test_changed_index(rows: list[IndexRow], written: list[IndexRow], deleted: set[int]) -> None:
    before = built_from(rows)
    old = {row.id: row for row in rows}
    written = [row for row in written if row.id not in deleted]
    new = [row for row in written if row.id not in old]
    moves = any(row.id in old and old[row.id].start != row.start for row in written)
    last = max(((row.start, -row.id) for row in rows), default=None)
    is_between = last is not None and any((row.start, -row.id) < last for row in new)
    if moves or is_between:
        with pytest.raises(RebuildRequired):
            before.with_changes(written, deleted)
    else:
        after = before.with_changes(written, deleted)
        expected = {number: row for number, row in old.items() if number not in deleted}
        check(after, list((expected | {row.id: row for row in written}).values()))
    check(before, rows)


@given(rows_by_id, st.data())
def test_index_with_edited_added_and_deleted_events(rows: list[IndexRow], data: st.DataObject) -> None:
    index, expected = built_from(rows), {row.id: row for row in rows}
    for turn in range(3):
        some = st.sets(st.sampled_from(sorted(expected)), max_size=5) if expected else st.just(set[int]())
        deleted = data.draw(some)
        edited = data.draw(some) - deleted
        written = [
            IndexRow(number, expected[number].start, data.draw(times), data.draw(times), data.draw(facets))
            for number in edited
        ]
        # Later than all others, with ids that were not used before.
        written += [
            IndexRow(100 * turn + number, 10 + turn, data.draw(times), data.draw(times), data.draw(facets))
            for number in data.draw(st.sets(st.integers(40, 60), max_size=3))
        ]
        index = index.with_changes(written, deleted)
        expected = {number: row for number, row in expected.items() if number not in deleted}
        expected |= {row.id: row for row in written}
        check(index, list(expected.values()))


def test_of_events_with_one_start_only_a_lower_id_can_be_appended() -> None:
    five, six, seven = (IndexRow(number, 1, 1, 1, "v3") for number in (5, 6, 7))
    check(built_from([six]).with_changes([five], []), [five, six])
    with pytest.raises(RebuildRequired):
        built_from([six]).with_changes([seven], [])


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
    assert index.with_changes([IndexRow(2, 2, 2, 3, "v3 #7")], []).figures is not index.figures
