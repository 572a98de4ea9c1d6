"""Records of the known lists, as typed structs.

Every field has a default: servers of different releases leave fields out or send null. Fields that are not here are
in the dicts of `client.list(path)`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class DisasterType(msgspec.Struct, kw_only=True, gc=False):
    id: int
    name: str = ""
    summary: str | None = ""


class Country(msgspec.Struct, kw_only=True, gc=False):
    id: int
    name: str = ""
    iso: str | None = None
    iso3: str | None = None
    region: int | None = None
    record_type: int | None = None
    independent: bool | None = None
    is_deprecated: bool | None = None
    society_name: str | None = None
    fdrs: str | None = None
    average_household_size: float | None = None


class Appeal(msgspec.Struct, kw_only=True, gc=False):
    id: int
    code: str | None = None
    aid: str | None = None
    atype: int | None = None
    atype_display: str | None = None
    status: int | None = None
    status_display: str | None = None
    amount_requested: float | None = None  # Swiss francs
    amount_funded: float | None = None
    num_beneficiaries: int | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    sector: str | None = None


class FieldReport(msgspec.Struct, kw_only=True, gc=False):
    id: int
    summary: str | None = None
    status: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    num_dead: int | None = None
    num_injured: int | None = None
    num_missing: int | None = None
    num_displaced: int | None = None
    num_affected: int | None = None
    num_assisted: int | None = None
    gov_num_dead: int | None = None
    gov_num_injured: int | None = None
    gov_num_affected: int | None = None
    other_num_dead: int | None = None
    other_num_injured: int | None = None
    other_num_affected: int | None = None


class Event(msgspec.Struct, kw_only=True):
    """An emergency."""

    id: int
    name: str | None = None
    slug: str | None = None
    dtype: DisasterType | None = None
    countries: list[Country] = []
    disaster_start_date: datetime | None = None
    num_affected: int | None = None
    ifrc_severity_level: int | None = None  # 0 yellow, 1 orange, 2 red
    ifrc_severity_level_display: str | None = None
    glide: str | None = None
    appeals: list[Appeal] = []
    field_reports: list[FieldReport] = []
    summary: str | None = None  # HTML
    created_at: datetime | None = None
    updated_at: datetime | None = None
    auto_generated: bool | None = None
    auto_generated_source: str | None = None
    is_featured: bool | None = None
    is_featured_region: bool | None = None
    parent_event: int | None = None
    active_deployments: int | None = None
    translation_module_original_language: str | None = None


class DeletedEvent(msgspec.Struct, kw_only=True):
    id: int
    deleted_at: datetime | None = None


class Permission(msgspec.Struct, kw_only=True):
    codename: str
    name: str = ""
    url: str = ""
    implied: list[str] = []
    contradictory: list[str] = []


class Assignment(msgspec.Struct, kw_only=True):
    """A permission of a user on an asset."""

    url: str = ""
    user: str = ""
    permission: str = ""
    label: Any = ""
    partial_permissions: list[dict[str, Any]] = []


class Asset(msgspec.Struct, kw_only=True):
    uid: str
    name: str | None = ""
    asset_type: str | None = ""
    url: str = ""
    owner__username: str | None = ""
    status: str | None = None
    parent: str | None = None
    settings: dict[str, Any] | None = None
    tag_string: str | None = ""
    summary: dict[str, Any] | None = None
    version_id: str | None = None
    version_count: int | None = None
    date_created: datetime | None = None
    date_modified: datetime | None = None
    last_modified_by: str | None = None
    permissions: list[Assignment] = []


class Import(msgspec.Struct, kw_only=True):
    uid: str
    status: str = ""  # processing, then complete or error
    url: str = ""
    date_created: datetime | None = None
    filename: str | None = None
    messages: dict[str, Any] = {}
    destination: str | None = None
    library: bool | None = None
    desired_type: str | None = None


class Problem(msgspec.Struct, kw_only=True):
    """A problem or warning of an imported form, with its place in the spreadsheet."""

    message: str
    sheet: str | None = None
    row: int | None = None
    column: str | None = None
    code: str | None = None


class Effect(msgspec.Struct, kw_only=True):
    """What happens to one permission when permissions are changed."""

    permission: str
    effect: str  # granted, removed, denied, allowed or filtered
    reason: str | None = None
    because: str | None = None
    message: str = ""
    label: str | None = None
    why: str | None = None
    user: str | None = None
    asset: str | None = None
