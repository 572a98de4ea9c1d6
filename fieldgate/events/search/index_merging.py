"""Changes of an index that move events: it is merged with an index of those events, without reading the others."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pyroaring import BitMap

from fieldgate.events.search import int_arrays
from fieldgate.events.search.index import IdLookup, Index, IndexBuilder, IndexRow, RebuildRequired, union
from fieldgate.events.search.int_arrays import UInt32Array


def apply_changes(index: Index, rows: Sequence[IndexRow], deleted_ids: Iterable[int]) -> Index:
    """The index after any changes. Those of events whose positions stay the same take less time."""
    with suppress(RebuildRequired):
        return index.with_changes(rows, deleted_ids)
    in_place: list[IndexRow] = []
    moved: list[IndexRow] = []
    for row in rows:
        position = index.position(row.id)
        (in_place if position is not None and index.starts[position] == row.start else moved).append(row)
    builder = IndexBuilder()
    builder.add(moved)
    return _merge(index.with_changes(in_place, {*deleted_ids, *(row.id for row in moved)}), builder.build())


def _merge(index: Index, other: Index) -> Index:
    """The index of the events of both, which have different ids. Positions of deleted events stay."""
    ids, starts = index.ids + other.ids, index.starts + other.starts
    order = int_arrays.argsort_with_tiebreak(starts, tiebreak_desc=ids)
    positions = int_arrays.inverse_permutation(order)
    first, second = positions[: len(index.ids)], positions[len(index.ids) :]
    ids = int_arrays.take(ids, order)
    live = _move(first, index.live_positions) | _move(second, other.live_positions)
    return Index(
        ids,
        int_arrays.take(starts, order),
        int_arrays.take(index.created + other.created, order),
        int_arrays.take(index.updated + other.updated, order),
        _merge_sets(_move_all(first, index.facet_sets), _move_all(second, other.facet_sets)),
        live,
        IdLookup.from_ids(ids, live),
        index.figures.merged(other.figures, order),
    )


def _merge_sets(sets: Mapping[str, BitMap], others: Mapping[str, BitMap]) -> dict[str, BitMap]:
    words = dict.fromkeys((*sets, *others))
    return {word: union([each[word] for each in (sets, others) if word in each]) for word in words}


def _move_all(positions: UInt32Array, facet_sets: Mapping[str, BitMap]) -> dict[str, BitMap]:
    return {word: _move(positions, chosen) for word, chosen in facet_sets.items()}


def _move(positions: UInt32Array, chosen: BitMap) -> BitMap:
    return BitMap(int_arrays.take(positions, chosen.to_array()))
