"""Records of the known lists, as typed structs.

Every field has a default: servers of different releases leave fields out or send null. They are the fields that
Fieldgate documents; what other servers add is in the dicts of `client.list(path)`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

from fieldgate_client.server_url import last_path_segment


class DisasterType(msgspec.Struct, kw_only=True, gc=False):
    id: int
    name: str | None = ""
    summary: str | None = ""
    translation_module_original_language: str | None = None


class Country(msgspec.Struct, kw_only=True, gc=False):
    id: int
    name: str | None = ""
    iso: str | None = None
    iso3: str | None = None
    region: int | None = None  # 0 is Africa
    record_type: int | None = None
    record_type_display: str | None = None
    independent: bool | None = None
    is_deprecated: bool | None = None
    society_name: str | None = None
    fdrs: str | None = None
    average_household_size: float | None = None
    translation_module_original_language: str | None = None


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
    translation_module_original_language: str | None = None


class FieldReport(msgspec.Struct, kw_only=True, gc=False):
    """Figures are of the Red Cross and Red Crescent, of the government (`gov_`) and of others (`other_`)."""

    id: int
    summary: str | None = None
    description: str | None = None  # HTML
    status: int | None = None
    is_covid_report: bool | None = None
    visibility: int | None = None
    visibility_display: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    report_date: datetime | None = None
    contacts: list[dict[str, Any]] = []
    countries: list[Country] = []
    num_dead: int | None = None
    num_injured: int | None = None
    num_missing: int | None = None
    num_displaced: int | None = None
    num_affected: int | None = None
    num_assisted: int | None = None
    num_potentially_affected: int | None = None
    num_highest_risk: int | None = None
    num_localstaff: int | None = None
    num_volunteers: int | None = None
    num_expats_delegates: int | None = None
    gov_num_dead: int | None = None
    gov_num_injured: int | None = None
    gov_num_missing: int | None = None
    gov_num_displaced: int | None = None
    gov_num_affected: int | None = None
    gov_num_assisted: int | None = None
    gov_num_potentially_affected: int | None = None
    gov_num_highest_risk: int | None = None
    other_num_dead: int | None = None
    other_num_injured: int | None = None
    other_num_missing: int | None = None
    other_num_displaced: int | None = None
    other_num_affected: int | None = None
    other_num_assisted: int | None = None
    other_num_potentially_affected: int | None = None
    other_num_highest_risk: int | None = None
    recent_affected: int | None = (
        None  # which of the six figures of affected people is the current one
    )
    affected_pop_centres: str | None = None
    gov_affected_pop_centres: str | None = None
    other_affected_pop_centres: str | None = None
    epi_cases: int | None = None
    epi_suspected_cases: int | None = None
    epi_probable_cases: int | None = None
    epi_confirmed_cases: int | None = None
    epi_num_dead: int | None = None
    epi_figures_source: int | None = None
    epi_figures_source_display: str | None = None
    epi_cases_since_last_fr: int | None = None
    epi_deaths_since_last_fr: int | None = None
    epi_notes_since_last_fr: str | None = None
    request_assistance: bool | None = None
    ns_request_assistance: bool | None = None
    notes_health: str | None = None
    notes_ns: str | None = None
    notes_socioeco: str | None = None
    translation_module_original_language: str | None = None


class Event(msgspec.Struct, kw_only=True, gc=False):
    """An emergency. Tables of emergencies begin with `leading_columns`."""

    leading_columns: ClassVar[tuple[str, ...]] = (
        "id",
        "name",
        "dtype.name",
        "countries.name",
        "countries.iso3",
        "disaster_start_date",
        "num_affected",
        "ifrc_severity_level_display",
        "glide",
        "appeals.code",
    )

    id: int
    name: str | None = None
    slug: str | None = None
    dtype: DisasterType | None = None
    countries: list[Country] = []
    countries_for_preview: list[Country] = []
    disaster_start_date: datetime | None = None
    num_affected: int | None = None
    ifrc_severity_level: int | None = None  # 0 yellow, 1 orange, 2 red
    ifrc_severity_level_display: str | None = None
    ifrc_severity_level_update_date: datetime | None = None
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
    demo: bool | None = None  # true in invented events
    parent_event: int | None = None
    active_deployments: int | None = None
    emergency_response_contact_email: str | None = None
    tab_one_title: str | None = None
    tab_two_title: str | None = None
    tab_three_title: str | None = None
    translation_module_original_language: str | None = None


class DeletedEvent(msgspec.Struct, kw_only=True):
    id: int
    deleted_at: datetime | None = None


class Permission(msgspec.Struct, kw_only=True):
    codename: str
    name: str | None = ""
    url: str = ""
    implied: list[str] = []
    contradictory: list[str] = []


class TeamReference(msgspec.Struct):
    """A team; without its name if the caller is not in it."""

    url: str | None = None
    name: str | None = None


class Assignment(msgspec.Struct, kw_only=True):
    """A permission of a user, or a team, on an asset."""

    url: str = ""
    user: str = ""
    team: str = ""
    team__name: str | None = None
    permission: str = ""
    label: Any = ""  # a text, or texts by permission for partial_submissions
    partial_permissions: list[dict[str, Any]] = []
    inherited: bool = False
    via: TeamReference | None = None  # through which the user has it
    expires_at: str | None = None  # when it ends

    @property
    def username(self) -> str:
        return last_path_segment(self.user)

    @property
    def codename(self) -> str:
        return last_path_segment(self.permission)


class Asset(msgspec.Struct, kw_only=True):
    """A form, block, question, template or collection."""

    uid: str
    name: str | None = ""
    asset_type: str | None = ""
    kind: str | None = "asset"
    url: str = ""
    owner: str | None = None
    owner__username: str | None = ""
    owner_label: str | None = None
    created_by: str | None = None
    last_modified_by: str | None = None
    status: str | None = None
    parent: str | None = None
    settings: dict[str, Any] | None = None
    tag_string: str | None = ""
    summary: dict[str, Any] | None = None
    version_id: str | None = None
    version_count: int | None = None
    versions: Any = None  # a link; KoboToolbox sends the versions themselves
    date_created: datetime | None = None
    date_modified: datetime | None = None
    date_deployed: datetime | None = None
    permissions: list[Assignment] = []
    xform_link: str | None = None
    downloads: list[dict[str, Any]] = []
    children: dict[str, Any] | None = None
    access_types: list[str] | None = None
    subscribers_count: int | None = None
    has_deployment: bool | None = None
    deployed_version_id: str | None = None
    deployment_status: str | None = None
    deployment__active: bool | None = None
    deployment__submission_count: int | None = None
    deployment__last_submission_time: datetime | None = None
    deployment__encrypted: bool | None = None
    deployment__uuid: str | None = None
    data: str | None = None
    data_sharing: dict[str, Any] | None = None
    export_settings: list[Any] | None = None


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
    effect: str  # granted, removed, denied, allowed, filtered or ends
    reason: str | None = None
    because: str | None = None
    message: str = ""
    label: str | None = None
    why: str | None = None
    user: str | None = None
    asset: str | None = None
    partial_permissions: list[dict[str, Any]] = []
    expires_at: str | None = None  # when it ends, if that was set

    @property
    def codename(self) -> str:
        return last_path_segment(self.permission)

    @property
    def username(self) -> str:
        return last_path_segment(self.user or "")
