"""An index, built at once or by changes, answers as a list of rows does."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from fieldgate.events.facets import MAX_CENTS, EventFigures
from fieldgate.events.model import Visibility
from fieldgate.events.search.index import (
    INT64_MAX,
    INT64_MIN,
    NOT_FOUND,
    Index,
    IndexBuilder,
    IndexRow,
)
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
    IndexRow,
    st.integers(1, 30),
    times,
    times,
    times,
    words,
    st.integers(0, 9),
    st.integers(0, 3),
    amounts,
    amounts,
)
rows_by_id = st.lists(rows_of_events, unique_by=lambda row: row.id, max_size=20)


def built_from(*batches: Iterable[IndexRow]) -> Index:
    builder = IndexBuilder()
    for batch in batches:
        builder.add(list(batch))
    return builder.build()


def in_default_order(rows: Iterable[IndexRow]) -> list[int]:
    return [row.id for row in sorted(rows, key=lambda row: (-row.start, row.id))]


def is_visible(row: IndexRow, scope: ViewerScope) -> bool:
    words = row.facets.split()
    countries = tuple(int(word[1:]) for word in words if word[0] == "c")
    return any(scope.can_see(int(word[1:]), countries) for word in words if word[0] == "v")


def total_figures(rows: Iterable[IndexRow]) -> EventFigures:
    figures = [EventFigures(*row[5:]) for row in rows]
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
        assert_same(
            index.started_between(low, high), [row for row in rows if low <= row.start <= high]
        )
        assert_same(
            index.in_range(index.created, low, high),
            [row for row in rows if low <= row.created <= high],
        )
        assert_same(
            index.in_range(index.updated, low, high),
            [row for row in rows if low <= row.updated <= high],
        )
    for row, position in zip(rows, index.positions([row.id for row in rows]), strict=True):
        assert tuple(index.table[:, position]) == row.numbers
    assert index.sums(index.live_positions, index.live_positions) == total_figures(rows)
    wanted = [1, 2, 3, 31, INT64_MIN, INT64_MAX, INT64_MIN - 1, INT64_MAX + 1]
    assert_same(index.by_ids(wanted), [row for row in rows if row.id in wanted])
    for number, position in enumerate(index.positions(range(32)).tolist()):
        assert (position != NOT_FOUND) == (number in {row.id for row in rows})
        assert position == NOT_FOUND or index.ids[position] == number


@given(rows_by_id, st.integers(0, 20))
def test_built_index(rows: list[IndexRow], split: int) -> None:
    check(built_from(rows[:split], rows[split:]), rows)


@given(rows_by_id, st.integers(0, 25), st.integers(1, 25))
def test_pages(rows: list[IndexRow], offset: int, limit: int) -> None:
    index = built_from(rows)
    assert (
        index.page(index.live_positions, limit, offset)
        == in_default_order(rows)[offset : offset + limit]
    )


@given(rows_by_id, st.lists(st.tuples(rows_by_id, st.sets(st.integers(1, 32))), max_size=3))
def test_changed_index(
    rows: list[IndexRow], changes: list[tuple[list[IndexRow], set[int]]]
) -> None:
    index = built_from(rows)
    expected = {row.id: row for row in rows}
    for rows_written, deleted in changes:
        written = [row for row in rows_written if row.id not in deleted]
        before, index = index, index.with_changes(written, deleted)
        check(before, list(expected.values()))
        expected = {id_: row for id_, row in expected.items() if id_ not in deleted}
        expected |= {row.id: row for row in written}
        check(index, list(expected.values()))


ABSURD = EventFigures(2**53, 2**16 - 1, MAX_CENTS, -MAX_CENTS)


def test_sums_of_absurd_figures_do_not_overflow() -> None:
    count = 2**11
    absurd = [IndexRow(number, 0, 0, 0, "", *ABSURD) for number in range(count)]
    usual = built_from([IndexRow(number, 0, 0, 0, "", 1) for number in range(count)])
    for index in (built_from(absurd), usual.with_changes(absurd, [])):
        expected = (2**53 * count, (2**16 - 1) * count, MAX_CENTS * count, -MAX_CENTS * count)
        assert index.sums(index.live_positions, index.live_positions) == expected
