"""Other shapes of an event record: mini records, flat records and table rows.

All are derived from a list record as JSON, already in the caller's language and reduced to what the caller may see.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.schemas import MiniEvent
from fieldgate.http.response.csv_safe import CSVCell

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


class _Country(msgspec.Struct):
    id: int
    iso: str | None
    iso3: str | None
    name: str
    society_name: str


class _Type(msgspec.Struct):
    id: int
    name: str
    summary: str
    translation_module_original_language: str


class _WithId(msgspec.Struct):
    id: int


class _FlatFields(msgspec.Struct):
    """The fields a table row needs; the decoder skips the others."""

    appeals: list[_WithId]
    auto_generated: bool
    countries: list[_Country]
    created_at: str
    disaster_start_date: str
    dtype: _Type | None
    field_reports: list[_WithId]
    glide: str
    id: int
    ifrc_severity_level: int
    ifrc_severity_level_display: str
    ifrc_severity_level_update_date: str | None
    is_featured: bool
    is_featured_region: bool
    name: str
    num_affected: int | None
    parent_event: int | None
    slug: str | None
    summary: str
    updated_at: str


class _MiniFields(msgspec.Struct):
    """The fields a mini record copies unchanged from a list record."""

    id: msgspec.Raw
    slug: msgspec.Raw
    dtype: msgspec.Raw
    auto_generated_source: msgspec.Raw
    emergency_response_contact_email: msgspec.Raw
    countries: msgspec.Raw
    name: msgspec.Raw
    translation_module_original_language: msgspec.Raw
    countries_for_preview: msgspec.Raw = msgspec.Raw()  # absent if they are `countries`


MINI_FIELDS = tuple(field.name for field in msgspec.structs.fields(MiniEvent))

_decode_mini = msgspec.json.Decoder(_MiniFields).decode
_decode_flat = msgspec.json.Decoder(_FlatFields).decode
_decode_countries = msgspec.json.Decoder(list[_Country]).decode
_decode_type = msgspec.json.Decoder(_Type).decode


def to_rows(records: Iterable[bytes]) -> Iterable[list[CSVCell]]:
    """Convert records to rows with `COLUMNS`. Several values in one cell are joined by commas; HTML becomes text."""
    for record in records:
        yield _to_row(_decode_flat(record))


def to_mini(record: bytes) -> bytes:
    """Convert a list record to a mini record."""
    fields = msgspec.structs.asdict(_decode_mini(record))
    fields["countries_for_preview"] = fields["countries_for_preview"] or fields["countries"]
    return msgspec.json.encode({name: fields[name] for name in MINI_FIELDS})


def to_flat(record: bytes) -> bytes:
    """Convert a list record to a flat one: nested lists become strings joined by commas."""
    fields = _decode_flat(record)
    countries = {
        "id": join_values(country.id for country in fields.countries),
        "name": join_values(country.name for country in fields.countries),
    }
    joined = {
        "appeals": {"id": join_values(appeal.id for appeal in fields.appeals)},
        "countries": countries,
        "field_reports": {"id": join_values(report.id for report in fields.field_reports)},
    }
    return msgspec.json.encode({**msgspec.structs.asdict(fields), **joined})


def _to_row(fields: _FlatFields) -> list[CSVCell]:
    return [
        join_values(appeal.id for appeal in fields.appeals),
        str(fields.auto_generated),
        *_country_cells(fields.countries),
        fields.created_at,
        fields.disaster_start_date,
        *_type_cells(fields.dtype),
        join_values(report.id for report in fields.field_reports),
        fields.glide,
        fields.id,
        fields.ifrc_severity_level,
        fields.ifrc_severity_level_display,
        fields.ifrc_severity_level_update_date,
        str(fields.is_featured),
        str(fields.is_featured_region),
        fields.name,
        fields.num_affected,
        fields.parent_event,
        fields.slug,
        to_plain_text(fields.summary),
        fields.updated_at,
    ]


def country_cells(countries: bytes) -> list[CSVCell]:
    """The cells of countries, which are given as JSON."""
    return _country_cells(_decode_countries(countries))


def type_cells(dtype: bytes | None) -> list[CSVCell]:
    """The cells of a disaster type, which is given as JSON."""
    return _type_cells(None if dtype is None else _decode_type(dtype))


def _country_cells(countries: Sequence[_Country]) -> list[CSVCell]:
    return [
        join_values(country.id for country in countries),
        join_values(country.iso for country in countries),
        join_values(country.iso3 for country in countries),
        join_values(country.name for country in countries),
        join_values(country.society_name for country in countries),
    ]


def _type_cells(dtype: _Type | None) -> list[CSVCell]:
    if dtype is None:
        return [None, None, None, None]
    return [dtype.id, dtype.name, to_plain_text(dtype.summary), dtype.translation_module_original_language]


def join_values(values: Iterable[Any]) -> str:
    """Values in one cell."""
    return ", ".join([str(value) for value in values if value not in (None, "")])
