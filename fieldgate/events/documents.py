"""Stored documents of events, which are built with each write, and what is rendered from them for a caller.

A document is the list template of an event and, after a mark, its row template.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from enum import Enum
from typing import Any

import msgspec

from fieldgate.events.csv_rows import RowRenderer, build_row_template, join_values
from fieldgate.events.document_templates import TemplateRenderer, build_list_template
from fieldgate.events.model import Event
from fieldgate.events.schemas import FlatEvent, MiniEvent
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

RECORD_OVERHEAD_BYTES = 256  # of memory per record, beside its own bytes

_ROW_MARK = b"\x1c"  # list templates are JSON, which never contains it unescaped


class RecordShape(Enum):
    """What documents are rendered as."""

    RECORD = "record"  # JSON
    ROW = "row"  # CSV


def build_document(event: Event) -> bytes:
    return build_list_template(event) + _ROW_MARK + build_row_template(event)


class DocumentRenderer:
    """Renders documents in one language, with one state of the reference data."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self.templates = TemplateRenderer(reference_data, language)
        self._rows = RowRenderer(reference_data, language)

    def render(self, documents: Iterable[bytes], scope: ViewerScope, shape: RecordShape) -> list[bytes]:
        """The records or rows of events, as a caller may see them."""
        if shape is RecordShape.ROW:
            return [self._rows.render(document.partition(_ROW_MARK)[2], scope) for document in documents]
        return [self.templates.render(document.partition(_ROW_MARK)[0], scope) for document in documents]

    def render_joined_rows(self, documents: Sequence[bytes], scope: ViewerScope) -> bytes:
        """The rows of events, one after the other: faster than each by itself."""
        return self._rows.render(b"".join([document.partition(_ROW_MARK)[2] for document in documents]), scope)


# The fields of list records that other shapes have; the decoder skips the rest.
_MiniFields = msgspec.defstruct(
    "_MiniFields", [(name, msgspec.Raw, msgspec.Raw()) for name in ("countries", *MiniEvent.__struct_fields__)]
)
_FlatFields = msgspec.defstruct("_FlatFields", [(name, Any) for name in sorted(FlatEvent.__struct_fields__)])
_decode_mini = msgspec.json.Decoder(_MiniFields).decode
_decode_flat = msgspec.json.Decoder(_FlatFields).decode


def to_mini(record: bytes) -> bytes:
    """Convert a list record to a mini record."""
    fields = msgspec.structs.asdict(_decode_mini(record))
    countries = fields.pop("countries")
    fields["countries_for_preview"] = fields["countries_for_preview"] or countries  # absent if they are the same
    return msgspec.json.encode(fields)


def to_flat(record: bytes) -> bytes:
    """Convert a list record to a flat one for tables: nested lists become strings joined by commas."""
    fields = msgspec.structs.asdict(_decode_flat(record))
    for name, nested in (("appeals", ("id",)), ("countries", ("id", "name")), ("field_reports", ("id",))):
        fields[name] = {each: join_values(item[each] for item in fields[name]) for each in nested}
    if fields["dtype"] is not None:
        fields["dtype"] = dict(sorted(fields["dtype"].items()))
    return msgspec.json.encode(fields)


class RecordCache:
    """Rendered records by variant (language, scope and shape) and id, within a memory limit.

    It belongs to one state of the index. The next state takes over the records that did not change.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0
        # Variants are in LRU order, records in FIFO order: moving each of fifty records takes as long as finding them.
        self._variants: OrderedDict[Hashable, OrderedDict[int, bytes]] = OrderedDict()

    @property
    def used_bytes(self) -> int:
        """Bytes in use."""
        return self._used_bytes

    def get(self, variant: Hashable, ids: Sequence[int]) -> list[bytes | None]:
        """The records of these ids, None for those not cached."""
        records_by_id = self._variants.get(variant)
        if records_by_id is None:
            return [None] * len(ids)
        self._variants.move_to_end(variant)
        return list(map(records_by_id.get, ids))

    def put(self, variant: Hashable, records: Mapping[int, bytes]) -> None:
        """Add records. Evicts the oldest records of the least recently used variants over the limit."""
        records_by_id = self._variants.setdefault(variant, OrderedDict())
        self._variants.move_to_end(variant)
        for number, record in records.items():
            self._used_bytes += _entry_bytes(record) - _entry_bytes(records_by_id.get(number))
            records_by_id[number] = record
        while self._used_bytes > self._max_bytes:
            oldest = next(iter(self._variants.values()))
            if oldest:
                self._used_bytes -= _entry_bytes(oldest.popitem(last=False)[1])
            else:
                self._variants.popitem(last=False)

    def transfer_unchanged(self, changed_ids: Set[int]) -> "RecordCache":
        """Move all but the changed records to a cache for the next state. This one is empty then, and stays so:
        readers of the earlier state must not add to the later one."""
        following = RecordCache(self._max_bytes)
        following._used_bytes, following._variants = self._used_bytes, self._variants
        self._max_bytes, self._used_bytes, self._variants = 0, 0, OrderedDict()
        for variant, records_by_id in list(following._variants.items()):
            for number in records_by_id.keys() & changed_ids:
                following._used_bytes -= _entry_bytes(records_by_id.pop(number))
            if not records_by_id:
                del following._variants[variant]
        return following


def _entry_bytes(record: bytes | None) -> int:
    return 0 if record is None else len(record) + RECORD_OVERHEAD_BYTES
