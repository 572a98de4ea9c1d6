"""An index that was encoded and decoded is the same."""

from array import array
from collections.abc import Sequence

import pytest
import zstandard
from hypothesis import given

from fieldgate.events.search import index_codec
from fieldgate.events.search.index import IndexRow
from fieldgate.events.search.index_codec import UndecodableIndex, decode_index, encode_index
from tests.events.search.test_index_model import built_from, check, rows_by_id


@given(rows_by_id)
def test_decoded_index(rows: list[IndexRow]) -> None:
    decoded = decode_index(list(encode_index(built_from(rows))))
    check(decoded, rows)


@given(rows_by_id, rows_by_id)
def test_decoded_index_can_be_changed(rows: list[IndexRow], others: list[IndexRow]) -> None:
    """The positions of deleted events are kept."""
    left = rows[len(others) :]
    decoded = decode_index(
        list(encode_index(built_from(rows).with_changes((), [row.id for row in rows[: len(others)]])))
    )
    check(decoded, left)
    check(decoded.with_changes((), [row.id for row in left[:1]]), left[1:])


MANY = [IndexRow(id_, id_ % 977, id_, -id_, f"v1 c{id_ % 7} #{id_} 1 {2**53}") for id_ in range(1, 3000)]


def test_columns_of_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_codec, "PART_BYTES", 1000)
    index = built_from(MANY)
    parts = list(encode_index(index))
    assert len(parts) > 100
    decoded = decode_index(parts)
    assert (decoded.ids, decoded.starts, decoded.facet_sets) == (index.ids, index.starts, index.facet_sets)
    assert (decoded.created, decoded.updated) == (index.created, index.updated)
    assert (decoded.figures.columns, decoded.figures.totals) == (index.figures.columns, index.figures.totals)


def test_totals_beyond_64_bits() -> None:
    rows = [IndexRow(id_, 0, 0, 0, f"v1 #{2**63 - 1}") for id_ in (1, 2)]
    decoded = decode_index(list(encode_index(built_from(rows))))
    assert decoded.figures.totals["v1"].num_affected == 2**64 - 2


def _other_byte_order(parts: Sequence[bytes]) -> list[bytes]:
    description = zstandard.decompress(parts[0]).replace(b'"little"', b'"other"').replace(b'"big"', b'"other"')
    return [zstandard.compress(description), *parts[1:]]


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b""],
        [b"not compressed"],
        [zstandard.compress(b"{}")],
        list(encode_index(built_from(MANY)))[:1],
        list(encode_index(built_from(MANY)))[:-1],
        list(encode_index(built_from(MANY)))[1:],
        [*encode_index(built_from(MANY)), zstandard.compress(b"more")],
        _other_byte_order(list(encode_index(built_from(MANY)))),
        [*list(encode_index(built_from(MANY)))[:-1], zstandard.compress(array("B", bytes(10)).tobytes())],
    ],
)
def test_parts_of_no_index(parts: list[bytes]) -> None:
    with pytest.raises(UndecodableIndex):
        decode_index(parts)
