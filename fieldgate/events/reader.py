"""Lists of events: their pages, and exports.

    viewer = reader.viewer(transaction, caller, language)
    page = reader.page(transaction, filters, viewer, PageRequest(50), LIST)

Records are made from stored events when they are read, and kept by the version of the event, without absolute links.
"""

from array import array
from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Select, select

from fieldgate.db import ReadTransaction
from fieldgate.db.kept_lists import Columns, KeptLists, read_columns, slice_page
from fieldgate.events.filters import EventFilters, is_listed, matching, ordering_terms
from fieldgate.events.model import unpack
from fieldgate.events.orders import DEFAULT_ORDER, Terms, has_texts, order_by, sort_by_texts
from fieldgate.events.queries import load_contents
from fieldgate.events.record_cache import RecordCache
from fieldgate.events.records import Viewer, flat_record, list_record, mini_record
from fieldgate.events.rows import csv_row
from fieldgate.events.schemas import EventRecord
from fieldgate.events.tables import TOPIC, events
from fieldgate.events.visibility import viewer_scope
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.pagination import PageRequest
from fieldgate.reference.queries import TOPIC as REFERENCE
from fieldgate.reference.store import ReferenceStore

RECORD_CACHE_BYTES = 24 * 1024 * 1024  # about 10,000 records

_FILTER_NAMES = (
    *[name for name in EventFilters.__struct_fields__ if name != "ordering"],
    "ordering",
)


class Shape(NamedTuple):
    """What a record of a list is written as."""

    name: str
    encode: Callable[[EventRecord, Language], bytes]


_encode = msgspec.json.Encoder().encode
LIST = Shape("list", lambda record, _: _encode(record))
MINI = Shape("mini", lambda record, _: _encode(mini_record(record)))
FLAT = Shape("flat", lambda record, _: _encode(flat_record(record)))
CSV_ROW = Shape("row", csv_row)


class EventPage(msgspec.Struct, frozen=True):
    count: int  # of all events that match
    records: list[bytes]


class EventReader:
    """Reads events, and keeps what was read: the order of lists, and records. There is one in each process."""

    def __init__(
        self, reference: ReferenceStore, *, record_cache_bytes: int = RECORD_CACHE_BYTES
    ) -> None:
        self._reference = reference
        self._lists = KeptLists()
        self._records = RecordCache(record_cache_bytes)

    def viewer(self, transaction: ReadTransaction, caller: Caller, language: Language) -> Viewer:
        """Who reads, in which language."""
        reference_data = self._reference.read(transaction)
        return Viewer(language, viewer_scope(caller, reference_data), reference_data)

    def page(
        self,
        transaction: ReadTransaction,
        filters: EventFilters,
        viewer: Viewer,
        page: PageRequest,
        shape: Shape = LIST,
    ) -> EventPage:
        """A page of the events that match."""
        terms = ordering_terms(filters.ordering) or DEFAULT_ORDER
        key = self._key(transaction, filters, viewer)
        if has_texts(terms):
            columns = self._lists.columns(
                key, lambda: self._read_list(transaction, filters, viewer)
            )
            listed = slice_page(columns, page)
        else:
            listed = self._lists.page(
                transaction, key, lambda: list_query(filters, viewer, terms), page
            )
        records = self._encoded(transaction, listed.rows, viewer, shape)
        return EventPage(listed.count, records)

    def ids(
        self, transaction: ReadTransaction, filters: EventFilters, viewer: Viewer
    ) -> "array[int]":
        """The ids of all events that match, in order."""
        key = self._key(transaction, filters, viewer)
        return self._lists.columns(key, lambda: self._read_list(transaction, filters, viewer))[0]

    def _read_list(
        self, transaction: ReadTransaction, filters: EventFilters, viewer: Viewer
    ) -> Columns:
        """The ids and versions of all events that match, in order.

        To sort by texts takes much longer than a filter, so all events are sorted, once for all filters.
        """
        terms = ordering_terms(filters.ordering) or DEFAULT_ORDER
        if not has_texts(terms):
            return read_columns(transaction, list_query(filters, viewer, terms))
        everything = EventFilters(ordering=filters.ordering)
        ids, versions = self._lists.columns(
            ("sorted", self._key(transaction, everything, viewer)),
            lambda: sort_by_texts(transaction, is_listed(viewer.scope), terms, viewer),
        )
        if filter_key(filters) == filter_key(everything):
            return ids, versions
        matching_ids, _ = read_columns(transaction, list_query(filters, viewer, DEFAULT_ORDER))
        chosen = set(matching_ids)
        rows = [row for row in zip(ids, versions, strict=True) if row[0] in chosen]
        return array("q", [id_ for id_, _ in rows]), array("q", [version for _, version in rows])

    def batch(
        self, transaction: ReadTransaction, ids: Sequence[int], viewer: Viewer, shape: Shape
    ) -> list[bytes]:
        """Those of these events that the viewer still sees in lists."""
        query = select(events.c.id, events.c.version).where(
            events.c.id.in_(ids), is_listed(viewer.scope)
        )
        versions = dict(map(tuple, transaction.execute(query)))
        rows = [(id_, versions[id_]) for id_ in ids if id_ in versions]
        return self._encoded(transaction, rows, viewer, shape, keeps=False)

    def _key(self, transaction: ReadTransaction, filters: EventFilters, viewer: Viewer) -> Hashable:
        """What the order of a list depends on."""
        language = viewer.language if filters.ordering else None  # other orders are the same in all
        versions = transaction.versions(TOPIC, REFERENCE)
        return versions, filter_key(filters), viewer.scope, language

    def _encoded(
        self,
        transaction: ReadTransaction,
        rows: Sequence[Sequence[int]],
        viewer: Viewer,
        shape: Shape,
        *,
        keeps: bool = True,
    ) -> list[bytes]:
        """The records of events that are given by id and version."""
        keys = [(row[0], row[1]) for row in rows]
        variant = self._variant(transaction, viewer, shape)
        kept = self._records.get(variant, keys)
        missing = [key for key, record in zip(keys, kept, strict=True) if record is None]
        if not missing:
            return [record for record in kept if record is not None]
        contents = load_contents(transaction, [id_ for id_, _ in missing])
        made: dict[tuple[int, int], bytes] = {}
        for key in missing:
            record = list_record(unpack(contents[key[0]]), viewer)
            made[key] = shape.encode(record, viewer.language)
        if keeps:
            self._records.put(variant, made)
        return [record or made[key] for key, record in zip(keys, kept, strict=True)]

    def _variant(self, transaction: ReadTransaction, viewer: Viewer, shape: Shape) -> Hashable:
        """What the record of an event depends on beside the event."""
        (reference_version,) = transaction.versions(REFERENCE)
        return viewer.language, viewer.scope, reference_version, shape.name


def list_query(filters: EventFilters, viewer: Viewer, terms: Terms) -> Select[Any]:
    """The ids and versions of the events that match, in an order without texts."""
    condition = matching(filters, viewer.scope, viewer.reference_data)
    return select(events.c.id, events.c.version).where(condition).order_by(*order_by(terms, viewer))


def filter_key(filters: EventFilters, *, with_ordering: bool = True) -> bytes:
    """What a list of events depends on, as the key of what is kept of it.

    It is short, however many values a filter has. Subclasses have fields that do not matter.
    """
    names = _FILTER_NAMES if with_ordering else _FILTER_NAMES[:-1]
    values = [getattr(filters, name) for name in names]
    return blake2b(_encode(values), digest_size=16).digest()
