"""Row templates: the CSV row of an event, encoded when the event is written.

As a document template (`document_templates.py`) it is the same for all callers, with placeholders where callers differ.
The same mark is before and after each, so that a split at the mark gives text and placeholders in turn:

    ␃c14,27␃           cells of reference data or labels: the kind, and ids
    ␄␅en:…␅fr:…␄       a cell by language; the first one is the fallback for all other languages
    ␆3:14␋7␈1:␋9␆      ids of field reports, each after the condition for seeing it

Several rows one after the other are rendered as one template. CSV does not escape control characters: an event with a
mark in its texts has no row template, and its row is made from its list record.

A change of what `build_row_template` returns needs a new `EVENT_FORMAT` (`derived.py`).
"""

import re
from collections.abc import Callable

import msgspec

from fieldgate.events.document_templates import (
    SEVERITY_NAMES,
    appeals_newest_first,
    reports_newest_first,
    translations_in_order,
)
from fieldgate.events.model import Event, Visibility
from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.record_shapes import country_cells, join_values, type_cells
from fieldgate.events.visibility import ViewerScope
from fieldgate.http.response.csv_safe import encode_cells
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.i18n.messages import translate
from fieldgate.reference.reference_data import ReferenceData

MAX_SHARED_CELLS = 5_000  # placeholders that one renderer remembers

_SHARED, _TEXT, _REPORTS = b"\x03", b"\x04", b"\x06"
_TRANSLATION, _CODE_END = b"\x05", b":"
_REPORT_SEPARATOR, _CONDITION_END = b"\x08", b"\x0b"
_has_mark = re.compile(r"[\x03\x04\x05\x06\x08\x0b]").search

# The first character of a shared placeholder. Part of the stored format.
_COUNTRIES, _TYPE, _SEVERITY = "c", "d", "s"

NO_TEMPLATE = b""


def build_row_template(event: Event) -> bytes:
    """The template of the row with `COLUMNS` and the end of the line; empty if the texts of the event have marks."""
    names = translations_in_order(event.name, event.original_language)
    summaries = translations_in_order(event.summary, event.original_language)
    plain_summaries = {code: to_plain_text(text) for code, text in summaries.items()}
    if any(map(_has_mark, (*names.values(), *plain_summaries.values(), event.glide, event.slug or ""))):
        return NO_TEMPLATE
    cells = (
        encode_cells(join_values(appeal.id for appeal in appeals_newest_first(event)), str(event.auto_generated)),
        _shared(_COUNTRIES, ",".join(map(str, sorted(event.countries)))),
        encode_cells(_timestamp(event.created_at), _timestamp(event.disaster_start_date)),
        encode_cells(*type_cells(None)) if event.dtype is None else _shared(_TYPE, str(event.dtype)),
        _report_ids(event),
        encode_cells(event.glide, event.id, event.ifrc_severity_level),
        _shared(_SEVERITY, str(event.ifrc_severity_level)),
        encode_cells(
            _timestamp(event.ifrc_severity_level_update_date), str(event.is_featured), str(event.is_featured_region)
        ),
        _localized(names),
        encode_cells(event.num_affected, event.parent_event, event.slug),
        _localized(plain_summaries),
        encode_cells(_timestamp(event.updated_at)),
    )
    return b",".join(cells) + b"\r\n"


def _timestamp(moment: object) -> str | None:
    """A timestamp as in JSON."""
    text: str | None = msgspec.to_builtins(moment)
    return text


def _shared(kind: str, key: str) -> bytes:
    return _SHARED + f"{kind}{key}".encode() + _SHARED


def _localized(translations: LocalizedText) -> bytes:
    if len(set(translations.values())) <= 1:
        return encode_cells(next(iter(translations.values()), ""))
    parts = [_TRANSLATION + code.encode() + _CODE_END + encode_cells(text) for code, text in translations.items()]
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
        # Reference data may contain marks, so it comes last.
        template = _replace_placeholders(template, _REPORTS, lambda guarded: _visible_ids(guarded, scope))
        template = _replace_placeholders(template, _TEXT, self._translation)
        return _replace_placeholders(template, _SHARED, self._shared_cells.__getitem__)

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
            return encode_cells(*country_cells(self._reference_data.countries_json(self._language, ids)))
        if kind == _TYPE:
            return encode_cells(*type_cells(self._reference_data.type_json(self._language, int(key))))
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
