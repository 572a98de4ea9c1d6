"""Orderings of events: whatever is asked for, nulls come last and the id breaks ties, so that every order is total."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from fieldgate.events.search.index import Index
from fieldgate.events.search.int_arrays import NOT_FOUND, Int64Array, int64_array, to_uint32_array
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language
from fieldgate.reference.reference_data import ReferenceData, sort_key

Ranks = npt.NDArray[np.int32]  # a number by position
Terms = Sequence[tuple[str, bool]]  # a field, and whether it descends

UNINDEXED_FIELDS = frozenset({"name", "summary", "num_affected", "glide"})  # fields the index does not hold
NULL_RANK = -1  # the rank of what is not known


class OrderingFields(msgspec.Struct):
    """What of an event's record orderings need; the rest is skipped over."""

    name: LocalizedText = {}
    summary: LocalizedText = {}
    num_affected: int | None = None
    glide: str = ""
    original_language: str = "en"


class EventOrder:
    """All events in another order than the usual."""

    def __init__(self, positions: npt.NDArray[np.intp]) -> None:
        self._positions = positions.astype(np.uint32)
        self._ordinals = np.empty(len(positions), dtype=np.uint32)
        self._ordinals[positions] = np.arange(len(positions), dtype=np.uint32)

    def ordinals(self, selection: BitMap) -> BitMap:
        """Where the chosen events stand in this order."""
        return (
            BitMap(to_uint32_array(np.sort(self._ordinals[np.asarray(selection.to_array())])))
            if selection
            else BitMap()
        )

    def page(self, index: Index, ordinals: BitMap, limit: int, offset: int) -> list[int]:
        """The ids of one page."""
        wanted = ordinals[offset : offset + limit].to_array()
        return list(map(index.ids.__getitem__, self._positions[wanted].tolist()))


def build_order(terms: Terms, ranks: Mapping[str, Ranks], ids: Int64Array) -> EventOrder:
    """The order by several fields; `ranks` has, for each of them, a number by position, `NOTHING` for null."""
    keys: list[npt.NDArray[Any]] = []
    for field, descends in terms:
        rank = ranks[field]
        keys += [rank == NULL_RANK, -rank if descends else rank]
    return EventOrder(np.lexsort((np.asarray(ids), *reversed(keys))))


def indexed_ranks(field: str, index: Index, reference_data: ReferenceData, language: Language) -> Ranks:
    """The ranks of a field the index holds."""
    if field == "disaster_start_date":
        return _dense_ranks(index.starts)
    if field == "created_at":
        return _dense_ranks(index.created)
    if field == "updated_at":
        return _dense_ranks(index.updated)
    if field == "id":
        return _dense_ranks(index.ids)
    ranks = np.full(len(index.ids), NULL_RANK, dtype=np.int32)
    if field == "ifrc_severity_level":
        words = [f"s{level}" for level in range(3)]
    else:  # types of disaster, by name
        words = [f"d{number}" for number in reference_data.types_by_name(language)]
    for rank, word in enumerate(words):
        ranks[np.asarray(index.with_any_facet(word).to_array())] = rank
    return ranks


class RankBuilder:
    """Ranks of a field that only the records hold, made while these are read, a batch at a time."""

    def __init__(self, field: str, index: Index, language: Language) -> None:
        self._field = field
        self._index = index
        self._language = language
        self._positions: list[npt.NDArray[np.int64]] = []
        self._values: list[Any] = []
        self._decode = msgspec.json.Decoder(OrderingFields).decode

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Take events as they are kept."""
        positions = np.asarray(self._index.positions(int64_array([number for number, _ in rows])))
        values = [_sort_value(self._field, self._decode(packed), self._language) for _, packed in rows]
        is_known = np.array([value not in ("", None) for value in values], dtype=bool) & (positions != NOT_FOUND)
        self._positions.append(positions[is_known])
        self._values += [value for value, known in zip(values, is_known.tolist(), strict=True) if known]

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


def _sort_value(field: str, fields: OrderingFields, language: Language) -> str | int | None:
    if field == "num_affected":
        return fields.num_affected
    if field == "glide":
        return fields.glide
    return sort_key(in_language(getattr(fields, field), language, fields.original_language))


def _dense_ranks(column: Int64Array) -> Ranks:
    return np.unique(np.asarray(column), return_inverse=True)[1].astype(np.int32)
