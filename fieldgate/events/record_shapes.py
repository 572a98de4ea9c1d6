"""Other shapes of an event record: mini records, and flat records for tables.

Both are derived from a list record as JSON, already in the caller's language and reduced to what the caller may see.
"""

import msgspec

from fieldgate.events.csv_rows import CountryFields, TypeFields, join_values
from fieldgate.events.schemas import MiniEvent


class _WithId(msgspec.Struct):
    id: int


class _FlatFields(msgspec.Struct):
    """The fields of a flat record; the decoder skips the others."""

    appeals: list[_WithId]
    auto_generated: bool
    countries: list[CountryFields]
    created_at: str
    disaster_start_date: str
    dtype: TypeFields | None
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
