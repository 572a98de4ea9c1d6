"""An index after any changes answers as one that was built from the rows."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.search.index import IndexRow
from fieldgate.events.search.index_merging import apply_changes
from tests.events.search.test_index_model import built_from, check, rows_by_id


@given(rows_by_id, st.lists(st.tuples(rows_by_id, st.sets(st.integers(1, 32))), max_size=3))
def test_any_changes(rows: list[IndexRow], changes: list[tuple[list[IndexRow], set[int]]]) -> None:
    index = built_from(rows)
    expected = {row.id: row for row in rows}
    for rows_written, deleted in changes:
        written = [row for row in rows_written if row.id not in deleted]
        index = apply_changes(index, written, deleted)
        expected = {id_: row for id_, row in expected.items() if id_ not in deleted}
        expected |= {row.id: row for row in written}
        check(index, list(expected.values()))


def test_many_events_with_numpy() -> None:
    """Above the length from which on arrays are sorted by numpy."""
    rows = [IndexRow(id_, id_ * 7 % 1000, id_, id_, f"v1 c{id_ % 5} #{id_}") for id_ in range(1, 25_001)]
    moved = [row._replace(start=row.start + 1, facets="v2 c7 #1") for row in rows[100:200]]
    new = [IndexRow(id_, 500, 0, 0, "v1 d12 #5") for id_ in range(30_000, 30_100)]
    index = apply_changes(built_from(rows), [*moved, *new], range(1, 51))
    expected = built_from([*rows[50:100], *moved, *rows[200:], *new])
    assert index.page(index.live_positions, 30_000, 0) == expected.page(expected.live_positions, 30_000, 0)
    assert index.figures.totals == expected.figures.totals
    for word in expected.facet_sets:
        page = index.page(index.with_any_facet(word), 30_000, 0)
        assert page == expected.page(expected.with_any_facet(word), 30_000, 0)
