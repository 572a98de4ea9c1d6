"""Stored documents of events, which are built with each write, and what is rendered from them for a caller.

A document is the list template of an event and, after a mark, its row template.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache, partial
from typing import Any

import msgspec

from fieldgate.events.csv_rows import (
    ESCAPE,
    build_row_template,
    join_report_cells,
    join_values,
    text_cells,
)
from fieldgate.events.document_templates import (
    CODE_END,
    CONDITION_END,
    COUNTRIES,
    DISASTER_TYPE,
    LABELS,
    MAX_CACHED_TEXTS,
    PERSONS_END,
    PERSONS_START,
    REGIONS,
    REPORT_SEPARATOR,
    REPORTS_END,
    REPORTS_START,
    SEVERITY_NAMES,
    TEXT_END,
    TEXT_SEPARATOR,
    TEXT_START,
    build_list_template,
)
from fieldgate.events.model import Event
from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.schemas import FlatEvent, MiniEvent
from fieldgate.events.visibility import ViewerScope
from fieldgate.http.response.csv_safe import encode_cells
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.regions import REGION_NAMES

RECORD_OVERHEAD_BYTES = 256  # of memory per record, beside its own bytes

_escaped_mark = re.compile(rb"\x1a(.)")
_ROW_MARK = b"\x1c"  # list templates are JSON, which never contains it unescaped


class RecordShape(Enum):
    """What documents are rendered as."""

    RECORD = "record"  # JSON
    ROW = "row"  # CSV


def build_document(event: Event) -> bytes:
    return build_list_template(event) + _ROW_MARK + build_row_template(event)


class TemplateRenderer:
    """Renders templates in one language, with one state of the reference data.

    `look_up` encodes reference data and labels, `join_reports` the field reports that a caller sees.
    """

    def __init__(
        self,
        reference_data: ReferenceData,
        language: Language,
        look_up: Callable[[ReferenceData, Language, bytes], bytes] | None = None,
        join_reports: Callable[[Sequence[bytes]], bytes] = lambda records: (
            b"[" + b",".join(records) + b"]"
        ),
    ) -> None:
        self._language_mark = TEXT_SEPARATOR + language.value.encode() + CODE_END
        self._look_up = lru_cache(MAX_CACHED_TEXTS)(
            partial(look_up or _look_up, reference_data, language)
        )
        self._join_reports = join_reports

    def render(self, template: bytes, scope: ViewerScope) -> bytes:
        """The record as a caller may see it."""
        template = _replace_between(
            template,
            REPORTS_START,
            REPORTS_END,
            lambda guarded: self._visible_reports(guarded, scope),
        )
        if not scope.can_see_contacts:
            template = _replace_between(template, PERSONS_START, PERSONS_END, lambda _: b"[]")
        elif PERSONS_START in template:
            template = template.translate(None, PERSONS_START + PERSONS_END)
        return _replace_between(template, TEXT_START, TEXT_END, self._localize)

    def _visible_reports(self, guarded: bytes, scope: ViewerScope) -> bytes:
        seen = []
        for item in guarded.split(REPORT_SEPARATOR):
            condition, _, record = item.partition(CONDITION_END)
            visibility, _, countries = condition.decode().partition(":")
            if scope.can_see(int(visibility), tuple(map(int, filter(None, countries.split(","))))):
                seen.append(record)
        return self._join_reports(seen)

    def _localize(self, key: bytes) -> bytes:
        if not key.startswith(TEXT_SEPARATOR):
            return self._look_up(key)
        _, found, rest = key.partition(self._language_mark)
        if not found:  # the first translation is the fallback
            rest = key.partition(CODE_END)[2]
        return rest.partition(TEXT_SEPARATOR)[0]


def _look_up(reference_data: ReferenceData, language: Language, key: bytes) -> bytes:
    kind, value = chr(key[0]), key[1:].decode()
    if kind == COUNTRIES:
        return reference_data.country_records.json_array(language, map(int, value.split(",")))
    if kind == DISASTER_TYPE:
        return reference_data.type_records.json(language, int(value))
    return msgspec.json.encode(translate(LABELS[kind][int(value)], language))


def _replace_between(
    template: bytes, begin: bytes, end: bytes, replace: Callable[[bytes], bytes]
) -> bytes:
    """Replace everything between two marks; several times faster than a regular expression."""
    if begin not in template:  # much faster than splitting
        return template
    first, *rest = template.split(begin)
    pieces = [first]
    for each in rest:
        inside, _, after = each.partition(end)
        pieces += replace(inside), after
    return b"".join(pieces)


class CountryFields(msgspec.Struct):
    id: int
    iso: str | None
    iso3: str | None
    name: str
    society_name: str


class TypeFields(msgspec.Struct):
    id: int
    name: str
    summary: str
    translation_module_original_language: str


_decode_countries = msgspec.json.Decoder(list[CountryFields]).decode
_decode_type = msgspec.json.Decoder(TypeFields).decode


def _look_up_cells(reference_data: ReferenceData, language: Language, key: bytes) -> bytes:
    """The cells that a placeholder stands for."""
    kind, value = chr(key[0]), key[1:].decode()
    if kind == COUNTRIES:
        countries = _decode_countries(
            reference_data.country_records.json_array(language, map(int, value.split(",")))
        )
        columns = [
            [getattr(each, name) for each in countries] for name in CountryFields.__struct_fields__
        ]
        return text_cells(*map(join_values, columns))
    if kind == REGIONS:
        known = [reference_data.countries.get(int(id_)) for id_ in value.split(",")]
        regions = sorted(
            {country.region for country in known if country and country.region in REGION_NAMES}
        )
        return text_cells(
            join_values(regions),
            join_values(translate(REGION_NAMES[id_], language) for id_ in regions),
        )
    if kind == DISASTER_TYPE:
        dtype = _decode_type(reference_data.type_records.json(language, int(value)))
        original = dtype.translation_module_original_language
        return text_cells(dtype.id, dtype.name, to_plain_text(dtype.summary), original)
    return encode_cells(translate(SEVERITY_NAMES[int(value)], language))


class DocumentRenderer:
    """Renders documents in one language, with one state of the reference data."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self.templates = TemplateRenderer(reference_data, language)
        self._rows = TemplateRenderer(reference_data, language, _look_up_cells, join_report_cells)

    def render(
        self, documents: Iterable[bytes], scope: ViewerScope, shape: RecordShape
    ) -> list[bytes]:
        """The records or rows of events, as a caller may see them."""
        if shape is RecordShape.ROW:
            return [self.render_joined_rows([document], scope) for document in documents]
        return [
            self.templates.render(document.partition(_ROW_MARK)[0], scope) for document in documents
        ]

    def render_joined_rows(self, documents: Sequence[bytes], scope: ViewerScope) -> bytes:
        """The rows of events, one after the other: faster than each by itself."""
        rows = self._rows.render(
            b"".join([document.partition(_ROW_MARK)[2] for document in documents]), scope
        )
        return (
            _escaped_mark.sub(lambda found: bytes([found[1][0] - 0x40]), rows)
            if ESCAPE in rows
            else rows
        )


# The fields of list records that other shapes have; the decoder skips the rest.
_MiniFields = msgspec.defstruct(
    "_MiniFields",
    [(name, msgspec.Raw, msgspec.Raw()) for name in ("countries", *MiniEvent.__struct_fields__)],
)
_FlatFields = msgspec.defstruct(
    "_FlatFields", [(name, Any) for name in sorted(FlatEvent.__struct_fields__)]
)
_decode_mini = msgspec.json.Decoder(_MiniFields).decode
_decode_flat = msgspec.json.Decoder(_FlatFields).decode


def to_mini(record: bytes) -> bytes:
    """Convert a list record to a mini record."""
    fields = msgspec.structs.asdict(_decode_mini(record))
    countries = fields.pop("countries")
    fields["countries_for_preview"] = (
        fields["countries_for_preview"] or countries
    )  # absent if they are the same
    return msgspec.json.encode(fields)


def to_flat(record: bytes) -> bytes:
    """Convert a list record to a flat one for tables: nested lists become strings joined by commas."""
    fields = msgspec.structs.asdict(_decode_flat(record))
    for name, nested in (
        ("appeals", ("id",)),
        ("countries", ("id", "name")),
        ("field_reports", ("id",)),
    ):
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
        self.used_bytes = 0
        # Variants are in LRU order, records in FIFO order: moving each of fifty records takes as long as finding them.
        self._variants: OrderedDict[Hashable, OrderedDict[int, bytes]] = OrderedDict()

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
            self.used_bytes += _entry_bytes(record) - _entry_bytes(records_by_id.get(number))
            records_by_id[number] = record
        while self.used_bytes > self._max_bytes:
            oldest = next(iter(self._variants.values()))
            if oldest:
                self.used_bytes -= _entry_bytes(oldest.popitem(last=False)[1])
            else:
                self._variants.popitem(last=False)

    def transfer_unchanged(self, changed_ids: Set[int]) -> "RecordCache":
        """Move all but the changed records to a cache for the next state. This one is empty then, and stays so:
        readers of the earlier state must not add to the later one."""
        following = RecordCache(self._max_bytes)
        following.used_bytes, following._variants = self.used_bytes, self._variants
        self._max_bytes, self.used_bytes, self._variants = 0, 0, OrderedDict()
        for variant, records_by_id in list(following._variants.items()):
            for number in records_by_id.keys() & changed_ids:
                following.used_bytes -= _entry_bytes(records_by_id.pop(number))
            if not records_by_id:
                del following._variants[variant]
        return following


def _entry_bytes(record: bytes | None) -> int:
    return 0 if record is None else len(record) + RECORD_OVERHEAD_BYTES
