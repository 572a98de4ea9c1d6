"""Rows of events for tables: CSV files, and workbooks, which are made from the same cells."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.records import join_values
from fieldgate.events.schemas import AppealRecord, EventRecord
from fieldgate.events.writes import sum_cents
from fieldgate.http.response.csv_safe import CSVCell, encode_cells
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.regions import REGION_NAMES

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


Cell = Callable[[EventRecord, Language], CSVCell]


def _joined(list_name: str, field: str) -> Cell:
    """Values of nested records, in one cell."""
    return lambda record, _: join_values(
        getattr(item, field) for item in getattr(record, list_name)
    )


def _of_type(field: str) -> Cell:
    return lambda record, _: getattr(record.dtype, field) if record.dtype else None


def _field(name: str) -> Cell:
    return lambda record, _: getattr(record, name)


def _flag(name: str) -> Cell:
    return lambda record, _: str(getattr(record, name) is True)


def _timestamp(name: str) -> Cell:
    """A timestamp as in JSON."""
    return lambda record, _: msgspec.to_builtins(getattr(record, name))


def _francs(field: str) -> Cell:
    """The sum of the appeals; unknown if there is none."""
    return lambda record, _: _sum_francs(record.appeals, field) if record.appeals else None


def _reported(name: str) -> Cell:
    return lambda record, _: newest_figure(record.field_reports, name)


# The columns and their cells: those of the live system in its alphabetical order, then our own.
CELLS: dict[str, Cell] = {
    "appeals.id": _joined("appeals", "id"),
    "auto_generated": _flag("auto_generated"),
    "countries.id": _joined("countries", "id"),
    "countries.iso": _joined("countries", "iso"),
    "countries.iso3": _joined("countries", "iso3"),
    "countries.name": _joined("countries", "name"),
    "countries.society_name": _joined("countries", "society_name"),
    "created_at": _timestamp("created_at"),
    "disaster_start_date": _timestamp("disaster_start_date"),
    "dtype": lambda _record, _: None,  # the live system adds it for events without a type
    "dtype.id": _of_type("id"),
    "dtype.name": _of_type("name"),
    "dtype.summary": lambda record, _: (
        to_plain_text(record.dtype.summary) if record.dtype else None
    ),
    "dtype.translation_module_original_language": _of_type("translation_module_original_language"),
    "field_reports.id": _joined("field_reports", "id"),
    "glide": _field("glide"),
    "id": _field("id"),
    "ifrc_severity_level": _field("ifrc_severity_level"),
    "ifrc_severity_level_display": _field("ifrc_severity_level_display"),
    "ifrc_severity_level_update_date": _timestamp("ifrc_severity_level_update_date"),
    "is_featured": _flag("is_featured"),
    "is_featured_region": _flag("is_featured_region"),
    "name": _field("name"),
    "num_affected": _field("num_affected"),
    "parent_event": _field("parent_event"),
    "slug": _field("slug"),
    "summary": lambda record, _: to_plain_text(record.summary),
    "updated_at": _timestamp("updated_at"),
    "demo": _flag("demo"),
    "appeals.count": lambda record, _: len(record.appeals),
    "amount_requested": _francs("amount_requested"),
    "amount_funded": _francs("amount_funded"),
    "regions.id": lambda record, _: join_values(_region_ids(record)),
    "regions.name": lambda record, language: join_values(
        translate(REGION_NAMES[region], language) for region in _region_ids(record)
    ),
    **{f"field_reports.{name}": _reported(name) for name in REPORT_FIGURES},
}
COLUMNS = tuple(CELLS)


def csv_row(record: EventRecord, language: Language) -> bytes:
    """A line of a CSV file, with its end."""
    return encode_cells(*[cell(record, language) for cell in CELLS.values()]) + b"\r\n"


def newest_figure(newest_first: Iterable[object], name: str) -> int | None:
    """A figure of the newest report that states it."""
    for report in newest_first:
        for source in FIGURE_SOURCES:
            number: int | None = getattr(report, source + name)
            if number is not None:
                return number
    return None


def _region_ids(record: EventRecord) -> list[int]:
    regions = {country.region for country in record.countries}
    return sorted(region for region in regions if region in REGION_NAMES)


def _sum_francs(appeals: Sequence[AppealRecord], field: str) -> float:
    cents = sum_cents(getattr(appeal, field) for appeal in appeals)
    return cents / 100 if cents % 100 else cents // 100
