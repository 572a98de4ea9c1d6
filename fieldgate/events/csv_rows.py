"""CSV rows of events. They are also what workbooks are made from.

The row of an event is encoded when the event is written. As a document template (`document_templates.py`) it is the
same for all callers, with placeholders where callers differ. The same mark is before and after each, so that a split at
the mark gives text and placeholders in turn:

    ␃c14,27␃           cells of reference data or labels: the kind, and ids
    ␄␅en:…␅fr:…␄       a cell by language; the first one is the fallback for all other languages
    ␆3:14␋7␈1:␋9␆      ids of field reports, each after the condition for seeing it

Several rows one after the other are rendered as one template. CSV does not escape control characters, so marks within
texts are escaped with ␚, until everything is replaced.

A change of what `build_row_template` returns needs a new `EVENT_FORMAT` (`facets.py`).
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from fieldgate.events.document_templates import (
    SEVERITY_NAMES,
    appeals_newest_first,
    reports_newest_first,
    translations_in_order,
)
from fieldgate.events.model import Event, Visibility
from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.visibility import ViewerScope
from fieldgate.http.response.csv_safe import CSVCell, encode_cells
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.i18n.messages import translate
from fieldgate.reference.reference_data import ReferenceData

# Columns of CSV and XLSX files, in alphabetical order as in the live system.
COLUMNS = (
    "appeals.id",
    "auto_generated",
    "countries.id",
    "countries.iso",
    "countries.iso3",
    "countries.name",
    "countries.society_name",
    "created_at",
    "disaster_start_date",
    "dtype.id",
    "dtype.name",
    "dtype.summary",
    "dtype.translation_module_original_language",
    "field_reports.id",
    "glide",
    "id",
    "ifrc_severity_level",
    "ifrc_severity_level_display",
    "ifrc_severity_level_update_date",
    "is_featured",
    "is_featured_region",
    "name",
    "num_affected",
    "parent_event",
    "slug",
    "summary",
    "updated_at",
)
NUMBER_COLUMNS = frozenset(("dtype.id", "id", "ifrc_severity_level", "num_affected", "parent_event"))

MAX_SHARED_CELLS = 5_000  # placeholders that one renderer remembers

_SHARED, _TEXT, _REPORTS = b"\x03", b"\x04", b"\x06"
_TRANSLATION, _CODE_END = b"\x05", b":"
_REPORT_SEPARATOR, _CONDITION_END = b"\x08", b"\x0b"
_ESCAPE = b"\x1a"
_mark = re.compile(rb"[\x03\x04\x05\x06\x08\x0b\x1a]")
_escaped_mark = re.compile(rb"\x1a(.)")

# The first character of a shared placeholder. Part of the stored format.
_COUNTRIES, _TYPE, _SEVERITY = "c", "d", "s"


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


def build_row_template(event: Event) -> bytes:
    """The template of the row with `COLUMNS` and the end of the line."""
    names = translations_in_order(event.name, event.original_language)
    summaries = translations_in_order(event.summary, event.original_language)
    cells = (
        encode_cells(join_values(appeal.id for appeal in appeals_newest_first(event)), str(event.auto_generated)),
        _shared(_COUNTRIES, ",".join(map(str, sorted(event.countries)))),
        encode_cells(_timestamp(event.created_at), _timestamp(event.disaster_start_date)),
        encode_cells(None, None, None, None) if event.dtype is None else _shared(_TYPE, str(event.dtype)),
        _report_ids(event),
        _text_cells(event.glide, event.id, event.ifrc_severity_level),
        _shared(_SEVERITY, str(event.ifrc_severity_level)),
        encode_cells(
            _timestamp(event.ifrc_severity_level_update_date), str(event.is_featured), str(event.is_featured_region)
        ),
        _localized(names),
        _text_cells(event.num_affected, event.parent_event, event.slug),
        _localized({code: to_plain_text(text) for code, text in summaries.items()}),
        encode_cells(_timestamp(event.updated_at)),
    )
    return b",".join(cells) + b"\r\n"


def join_values(values: Iterable[Any]) -> str:
    """Values in one cell."""
    return ", ".join([str(value) for value in values if value not in (None, "")])


def _timestamp(moment: object) -> str | None:
    """A timestamp as in JSON."""
    text: str | None = msgspec.to_builtins(moment)
    return text


def _text_cells(*cells: CSVCell) -> bytes:
    """Cells whose texts can have marks."""
    return _mark.sub(lambda found: _ESCAPE + bytes([found[0][0] + 0x40]), encode_cells(*cells))


def _shared(kind: str, key: str) -> bytes:
    return _SHARED + f"{kind}{key}".encode() + _SHARED


def _localized(translations: LocalizedText) -> bytes:
    if len(set(translations.values())) <= 1:
        return _text_cells(next(iter(translations.values()), ""))
    parts = [_TRANSLATION + code.encode() + _CODE_END + _text_cells(text) for code, text in translations.items()]
    return _TEXT + b"".join(parts) + _TEXT


def _report_ids(event: Event) -> bytes:
    reports = reports_newest_first(event.field_reports)
    if all(report.visibility == Visibility.PUBLIC for report in reports):
        return encode_cells(join_values(report.id for report in reports))
    guarded = [
        b"%d:%s%s%d" % (report.visibility, ",".join(map(str, report.countries)).encode(), _CONDITION_END, report.id)
        for report in reports
    ]
    return _REPORTS + _REPORT_SEPARATOR.join(guarded) + _REPORTS


class RowRenderer:
    """Renders row templates in one language, with one state of the reference data."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        self._language_mark = _TRANSLATION + language.value.encode() + _CODE_END
        self._shared_cells = _SharedCells(reference_data, language)

    def render(self, template: bytes, scope: ViewerScope) -> bytes:
        """The row, or rows, as a caller may see them."""
        template = _replace_placeholders(template, _REPORTS, lambda guarded: _visible_ids(guarded, scope))
        template = _replace_placeholders(template, _TEXT, self._translation)
        row = _replace_placeholders(template, _SHARED, self._shared_cells.__getitem__)
        return _escaped_mark.sub(lambda found: bytes([found[1][0] - 0x40]), row) if _ESCAPE in row else row

    def _translation(self, translations: bytes) -> bytes:
        _, found, rest = translations.partition(self._language_mark)
        if not found:  # the first translation is the fallback
            rest = translations.partition(_CODE_END)[2]
        return rest.partition(_TRANSLATION)[0]


class _SharedCells(dict[bytes, bytes]):
    """Cells of reference data and labels by placeholder. They are made when they are needed."""

    def __init__(self, reference_data: ReferenceData, language: Language) -> None:
        super().__init__()
        self._reference_data = reference_data
        self._language = language

    def __missing__(self, placeholder: bytes) -> bytes:
        kind, key = chr(placeholder[0]), placeholder[1:].decode()
        cells = self._make(kind, key)
        if len(self) < MAX_SHARED_CELLS:
            self[placeholder] = cells
        return cells

    def _make(self, kind: str, key: str) -> bytes:
        if kind == _COUNTRIES:
            ids = map(int, filter(None, key.split(",")))
            countries = _decode_countries(self._reference_data.countries_json(self._language, ids))
            columns = [[getattr(each, name) for each in countries] for name in CountryFields.__struct_fields__]
            return _text_cells(*map(join_values, columns))
        if kind == _TYPE:
            dtype = _decode_type(self._reference_data.type_json(self._language, int(key)))
            original = dtype.translation_module_original_language
            return _text_cells(dtype.id, dtype.name, to_plain_text(dtype.summary), original)
        return encode_cells(translate(SEVERITY_NAMES[int(key)], self._language))


def _visible_ids(guarded: bytes, scope: ViewerScope) -> bytes:
    seen = []
    for item in guarded.split(_REPORT_SEPARATOR):
        condition, _, id_ = item.partition(_CONDITION_END)
        visibility, _, countries = condition.decode().partition(":")
        if scope.can_see(int(visibility), tuple(map(int, filter(None, countries.split(","))))):
            seen.append(id_.decode())
    return encode_cells(join_values(seen))


def _replace_placeholders(template: bytes, mark: bytes, replace: Callable[[bytes], bytes]) -> bytes:
    pieces = template.split(mark)
    if len(pieces) == 1:
        return template
    pieces[1::2] = map(replace, pieces[1::2])
    return b"".join(pieces)
