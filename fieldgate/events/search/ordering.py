"""Orderings of events. Nulls come last and the id breaks ties, so that every order is total."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from fieldgate.events.search.index import NOT_FOUND, Index, Int64Array, to_array, to_bitmap
from fieldgate.events.search.ordering_fields import (
    ColumnOrdering,
    FacetOrdering,
    SourceFields,
    SourceOrdering,
)
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

Ranks = npt.NDArray[np.int32]  # by position
Terms = Sequence[tuple[str, bool]]  # a field, and whether descending

NULL_RANK = -1


class EventOrder:
    """All events in an order other than the default."""

    def __init__(self, positions: npt.NDArray[np.intp]) -> None:
        self._positions = positions.astype(np.uint32)
        self._ordinals = np.empty(len(positions), dtype=np.uint32)
        self._ordinals[positions] = np.arange(len(positions), dtype=np.uint32)

    def ordinals(self, selection: BitMap) -> BitMap:
        """The places of the selected events in this order."""
        return to_bitmap(np.sort(self._ordinals[to_array(selection)]))

    def page(self, index: Index, ordinals: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page."""
        found: list[int] = index.ids[
            self._positions[to_array(ordinals[offset : offset + limit])]
        ].tolist()
        return found


def build_order(terms: Terms, ranks: Mapping[str, Ranks], ids: Int64Array) -> EventOrder:
    """The order by several fields; `ranks` has a number by position for each of them, `NULL_RANK` for null."""
    keys: list[npt.NDArray[Any]] = []
    for field, descends in terms:
        rank = ranks[field]
        keys += [rank == NULL_RANK, -rank if descends else rank]
    return EventOrder(np.lexsort((ids, *reversed(keys))))


def indexed_ranks(
    ordering: ColumnOrdering | FacetOrdering,
    index: Index,
    reference_data: ReferenceData,
    language: Language,
) -> Ranks:
    """The ranks of a field that the index holds."""
    if isinstance(ordering, ColumnOrdering):
        return np.unique(getattr(index, ordering.column), return_inverse=True)[1].astype(np.int32)
    ranks = np.full(len(index.ids), NULL_RANK, dtype=np.int32)
    for rank, value in enumerate(ordering.values(reference_data, language)):
        ranks[to_array(index.with_any_facet(ordering.facet.word(value)))] = rank
    return ranks


class RankBuilder:
    """Ranks of a field that only the packed events hold, built while they are read in batches."""

    def __init__(self, ordering: SourceOrdering, index: Index, language: Language) -> None:
        self._ordering = ordering
        self._index = index
        self._language = language
        self._positions: list[npt.NDArray[np.int64]] = []
        self._values: list[Any] = []
        self._decode = msgspec.json.Decoder(SourceFields).decode

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Add packed events."""
        positions = self._index.positions([number for number, _ in rows])
        values = [self._ordering.value(self._decode(packed), self._language) for _, packed in rows]
        is_known = np.array([value not in ("", None) for value in values], dtype=bool) & (
            positions != NOT_FOUND
        )
        self._positions.append(positions[is_known])
        self._values += [
            value for value, known in zip(values, is_known.tolist(), strict=True) if known
        ]

    def build(self) -> Ranks:
        values = self._values
        ranks = np.full(len(self._index.ids), NULL_RANK, dtype=np.int32)
        if not values:
            return ranks
        positions = np.concatenate(self._positions)
        in_order = sorted(range(len(values)), key=values.__getitem__)
        steps = [0, *(values[one] != values[next_] for one, next_ in pairwise(in_order))]
        ranks[positions[in_order]] = np.cumsum(steps)
        return ranks
