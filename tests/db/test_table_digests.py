"""Digests of tables."""

import random

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.db.table_digests import REBUILT_TABLES, TableDigest, database_digest

values = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
rows = st.lists(st.tuples(st.integers(), values).map(lambda row: (row[0] % 2**63, row[1])), max_size=8)


@given(rows, st.randoms(use_true_random=False), st.integers(0, 8))
def test_order_and_parts_do_not_matter(found: list[tuple[object, ...]], source: random.Random, part: int) -> None:
    shuffled = source.sample(found, len(found))
    assert TableDigest().with_rows(found) == TableDigest().with_rows(shuffled[:part]).with_rows(shuffled[part:])


@given(rows, rows)
def test_other_rows_have_another_digest(first: list[tuple[object, ...]], second: list[tuple[object, ...]]) -> None:
    same = sorted(map(repr, first)) == sorted(map(repr, second))
    assert (TableDigest().with_rows(first) == TableDigest().with_rows(second)) == same


def test_types_matter() -> None:
    kinds = (1, 1.0, "1", b"1", None, "")
    assert len({TableDigest().with_rows([(value,)]) for value in kinds}) == len(kinds)


def test_tables_matter() -> None:
    one = TableDigest().with_rows([(1,)])
    assert database_digest({"a": one}) != database_digest({"b": one})
    assert database_digest({"a": one}) == database_digest({"a": one, "empty": TableDigest()})
    assert database_digest({"a": one}) == database_digest({"a": one, **dict.fromkeys(REBUILT_TABLES, one)})
    assert database_digest({"a": one}) == database_digest({"a": one, "name_orders": one})
