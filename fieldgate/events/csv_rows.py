"""CSV rows of events. They are also what workbooks are made from.

The row of an event is encoded when the event is written, as a template with the placeholders of
`document_templates.py`. Several rows one after the other are rendered as one template. CSV does not escape control
characters, so the marks of placeholders within texts are escaped with ␚, until everything is replaced.

A change of what `build_row_template` returns needs a new `EVENT_FORMAT` (`facets.py`).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fieldgate.events.document_templates import (
    COUNTRIES,
    DISASTER_TYPE,
    SEVERITY,
    appeals_newest_first,
    key_placeholder,
    reports_newest_first,
    reports_placeholder,
    text_placeholder,
    translations_in_order,
)
from fieldgate.events.model import Event, Visibility
from fieldgate.events.plain_text import to_plain_text
from fieldgate.http.response.csv_safe import CSVCell, encode_cells
from fieldgate.i18n.localized_text import LocalizedText

# Columns of CSV and XLSX files, in alphabetical order as in the live system, with their HXL hashtags (Humanitarian
# Exchange Language 1.1). An event is a `#crisis`, its type the `#cause`. `+list` marks cells with several values.
HXL_HASHTAGS = {
    "appeals.id": "#meta+appeal+id+list",
    "auto_generated": "#meta+auto",
    "countries.id": "#country+id+list",
    "countries.iso": "#country+code+list+v_iso2",
    "countries.iso3": "#country+code+list+v_iso3",
    "countries.name": "#country+list+name",
    "countries.society_name": "#org+list+name",
    "created_at": "#date+created",
    "disaster_start_date": "#date+start",
    "dtype.id": "#cause+id",
    "dtype.name": "#cause+name",
    "dtype.summary": "#description+cause",
    "dtype.translation_module_original_language": "#meta+cause+lang",
    "field_reports.id": "#meta+id+list+report",
    "glide": "#crisis+code+v_glide",
    "id": "#crisis+id",
    "ifrc_severity_level": "#severity+level+num",
    "ifrc_severity_level_display": "#severity+name",
    "ifrc_severity_level_update_date": "#date+severity+updated",
    "is_featured": "#meta+featured",
    "is_featured_region": "#meta+featured+region",
    "name": "#crisis+name",
    "num_affected": "#affected",
    "parent_event": "#crisis+id+parent",
    "slug": "#meta+slug",
    "summary": "#description+crisis",
    "updated_at": "#date+updated",
}
COLUMNS = tuple(HXL_HASHTAGS)
HASHTAG_ROW = tuple(HXL_HASHTAGS.values())
NUMBER_COLUMNS = frozenset(("dtype.id", "id", "ifrc_severity_level", "num_affected", "parent_event"))

ESCAPE = b"\x1a"
_mark = re.compile(rb"[\x03-\x08\x0b\x0e\x0f\x1a]")
_NO_COUNTRIES, _NO_TYPE = encode_cells(*[None] * 5), encode_cells(*[None] * 4)


def build_row_template(event: Event) -> bytes:
    """The template of the row with `COLUMNS` and the end of the line."""
    names = translations_in_order(event.name, event.original_language)
    summaries = translations_in_order(event.summary, event.original_language)
    cells = (
        encode_cells(join_values(appeal.id for appeal in appeals_newest_first(event)), str(event.auto_generated)),
        key_placeholder(COUNTRIES + ",".join(map(str, sorted(event.countries)))) if event.countries else _NO_COUNTRIES,
        encode_cells(_timestamp(event.created_at), _timestamp(event.disaster_start_date)),
        _NO_TYPE if event.dtype is None else key_placeholder(f"{DISASTER_TYPE}{event.dtype}"),
        _report_ids(event),
        text_cells(event.glide, event.id, event.ifrc_severity_level),
        key_placeholder(f"{SEVERITY}{event.ifrc_severity_level}"),
        encode_cells(
            _timestamp(event.ifrc_severity_level_update_date), str(event.is_featured), str(event.is_featured_region)
        ),
        _localized(names),
        text_cells(event.num_affected, event.parent_event, event.slug),
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


def text_cells(*cells: CSVCell) -> bytes:
    """Cells whose texts can have marks."""
    return _mark.sub(lambda found: ESCAPE + bytes([found[0][0] + 0x40]), encode_cells(*cells))


def _localized(translations: LocalizedText) -> bytes:
    if len(set(translations.values())) <= 1:
        return text_cells(next(iter(translations.values()), ""))
    return text_placeholder({code: text_cells(text) for code, text in translations.items()})


def _report_ids(event: Event) -> bytes:
    reports = reports_newest_first(event.field_reports)
    ids = [b"%d" % report.id for report in reports]
    if all(report.visibility == Visibility.PUBLIC for report in reports):
        return join_ids(ids)
    return reports_placeholder(reports, ids)


def join_ids(ids: Sequence[bytes]) -> bytes:
    """The cell of ids."""
    return encode_cells(b", ".join(ids).decode())
