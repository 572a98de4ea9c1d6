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
    REGIONS,
    SEVERITY,
    appeals_newest_first,
    key_placeholder,
    reports_newest_first,
    reports_placeholder,
    text_placeholder,
    translations_in_order,
)
from fieldgate.events.facets import event_figures
from fieldgate.events.model import Event, Visibility
from fieldgate.events.plain_text import to_plain_text
from fieldgate.http.response.csv_safe import CSVCell, encode_cells
from fieldgate.i18n.localized_text import LocalizedText
from fieldgate.i18n.messages import Message

# Figures of field reports; each can come from the society itself, the government and other sources.
REPORT_FIGURES = {
    "num_affected": Message("Affected"),
    "num_potentially_affected": Message("Potentially affected"),
    "num_highest_risk": Message("At highest risk"),
    "num_dead": Message("Dead"),
    "num_injured": Message("Injured"),
    "num_missing": Message("Missing"),
    "num_displaced": Message("Displaced"),
    "num_assisted": Message("Assisted"),
}
FIGURE_SOURCES = ("", "gov_", "other_")

# Columns of CSV files, with their HXL hashtags (Humanitarian Exchange Language 1.1): those of the live system in its
# alphabetical order, then our own. An event is a `#crisis`, its type the `#cause`. `+list` marks cells with several
# values.
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
    "dtype": "#meta+cause",  # always empty: the live system adds it for events without a type
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
    "demo": "#meta+demo",
    "appeals.count": "#meta+appeal+num",
    "amount_requested": "#value+chf+funding+required",
    "amount_funded": "#value+chf+funding+received",
    "regions.id": "#region+id+list",
    "regions.name": "#region+list+name",
    "field_reports.num_affected": "#affected+reported",
    "field_reports.num_potentially_affected": "#affected+potentially+reported",
    "field_reports.num_highest_risk": "#affected+highest_risk+reported",
    "field_reports.num_dead": "#affected+killed+reported",
    "field_reports.num_injured": "#affected+injured+reported",
    "field_reports.num_missing": "#affected+missing+reported",
    "field_reports.num_displaced": "#affected+displaced+reported",
    "field_reports.num_assisted": "#reached+reported",
}
COLUMNS = tuple(HXL_HASHTAGS)
HASHTAG_ROW = tuple(HXL_HASHTAGS.values())

ESCAPE = b"\x1a"
_mark = re.compile(rb"[\x03-\x08\x0b\x0e\x0f\x1a]")
_NO_COUNTRIES, _NO_TYPE, _NO_REGIONS = (encode_cells(*[None] * count) for count in (5, 4, 2))
_NO_FIGURES = encode_cells(*[None] * len(REPORT_FIGURES))


def build_row_template(event: Event) -> bytes:
    """The template of the row with `COLUMNS` and the end of the line."""
    names = translations_in_order(event.name, event.original_language)
    summaries = translations_in_order(event.summary, event.original_language)
    country_ids = ",".join(map(str, sorted(event.countries)))
    cells = (
        encode_cells(
            join_values(appeal.id for appeal in appeals_newest_first(event)),
            str(event.auto_generated),
        ),
        key_placeholder(COUNTRIES + country_ids) if country_ids else _NO_COUNTRIES,
        encode_cells(_timestamp(event.created_at), _timestamp(event.disaster_start_date), None),
        _NO_TYPE if event.dtype is None else key_placeholder(f"{DISASTER_TYPE}{event.dtype}"),
        _report_ids(event),
        text_cells(event.glide, event.id, event.ifrc_severity_level),
        key_placeholder(f"{SEVERITY}{event.ifrc_severity_level}"),
        encode_cells(
            _timestamp(event.ifrc_severity_level_update_date),
            str(event.is_featured),
            str(event.is_featured_region),
        ),
        _localized(names),
        text_cells(event.num_affected, event.parent_event, event.slug),
        _localized({code: to_plain_text(text) for code, text in summaries.items()}),
        encode_cells(_timestamp(event.updated_at), str(event.demo), *_appeal_figures(event)),
        key_placeholder(REGIONS + country_ids) if country_ids else _NO_REGIONS,
        _report_figures(event),
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


def _appeal_figures(event: Event) -> tuple[int, float | None, float | None]:
    """The number of appeals and their amounts, which are unknown if there is none."""
    if not event.appeals:
        return 0, None, None
    figures = event_figures(event)
    return len(event.appeals), _francs(figures.requested_cents), _francs(figures.funded_cents)


def _francs(cents: int) -> float:
    return cents / 100 if cents % 100 else cents // 100


def _report_ids(event: Event) -> bytes:
    reports = reports_newest_first(event.field_reports)
    ids = [b"%d" % report.id for report in reports]
    if all(report.visibility == Visibility.PUBLIC for report in reports):
        return join_report_cells(ids)
    return reports_placeholder(reports, ids)


def _report_figures(event: Event) -> bytes:
    """Each figure of the newest report that states it."""
    reports = reports_newest_first(event.field_reports)
    figures = [
        encode_cells(*[stated_figure(report, name) for name in REPORT_FIGURES])
        for report in reports
    ]
    if all(report.visibility == Visibility.PUBLIC for report in reports):
        return join_report_cells([_NO_FIGURES, *figures])
    return reports_placeholder(reports, figures, for_all=_NO_FIGURES)


def stated_figure(report: object, name: str) -> int | None:
    """A figure of a report: that of the society itself, or else of the government or of other sources."""
    stated = (getattr(report, source + name) for source in FIGURE_SOURCES)
    return next((number for number in stated if number is not None), None)


def newest_figure(newest_first: Iterable[object], name: str) -> int | None:
    stated = (stated_figure(report, name) for report in newest_first)
    return next((number for number in stated if number is not None), None)


def join_report_cells(cells: Sequence[bytes]) -> bytes:
    """One cell with the ids of reports; or the cells of figures, each the first that is stated."""
    if cells and b"," in cells[0]:
        columns = zip(*[row.split(b",") for row in cells], strict=True)
        return b",".join([next(filter(None, column), b"") for column in columns])
    return encode_cells(b", ".join(cells).decode())
