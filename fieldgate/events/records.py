"""Events on the wire: in a list, alone, and small. Their names and order are what clients of the live system know."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.events.model import District, FeaturedDocument
from fieldgate.reference.records import DisasterTypeRecord, MiniCountry

Figure = Annotated[int, Meta(description="A number of people or cases; null where unknown.")] | None
Note = Annotated[str, Meta(description="A note; null where there is none.")] | None
OriginalLanguage = Annotated[str, Meta(description="Language the texts were written in: en, fr, ar or es.")]


class AppealRecord(msgspec.Struct):
    aid: Annotated[str, Meta(description="Identifier in the finance system.")]
    num_beneficiaries: Annotated[int, Meta(description="People to be reached.")]
    amount_requested: Annotated[float, Meta(description="Swiss francs asked for.")]
    code: Annotated[str, Meta(description="Code of the appeal, such as MDRCM002.")] | None
    amount_funded: Annotated[float, Meta(description="Swiss francs received.")]
    status: Annotated[int, Meta(description="0 active, 1 closed, 2 frozen, 3 archived.")]
    status_display: Annotated[str, Meta(description="The status in words.")]
    start_date: datetime | None
    end_date: datetime | None
    sector: str
    atype: Annotated[int, Meta(description="0 DREF, 1 emergency appeal, 2 international, 3 forecast based action.")]
    atype_display: Annotated[str, Meta(description="The type in words.")]
    id: int
    translation_module_original_language: OriginalLanguage


class PersonRecord(msgspec.Struct):
    ctype: str
    name: str
    title: str
    email: str
    phone: str | None
    id: int


class EventPersonRecord(PersonRecord):
    event: Annotated[int, Meta(description="Id of the event.")]


class FieldReportRecord(msgspec.Struct):
    """A report from the field. In the record of one event, only the figure of people affected that counts is there."""

    id: int
    status: Annotated[int, Meta(description="8 early warning, 9 event, 0 unknown.")]
    is_covid_report: bool | None
    visibility: Annotated[int, Meta(description="Who may see it: 3 everybody, 1 movement, 4 societies, 2 secretariat.")]
    visibility_display: str
    created_at: datetime
    updated_at: datetime
    report_date: datetime | None
    contacts: Annotated[list[PersonRecord], Meta(description="Whom to ask; for callers who are logged in.")]
    countries: list[MiniCountry]
    num_injured: Figure
    num_dead: Figure
    num_missing: Figure
    num_displaced: Figure
    num_assisted: Figure
    num_localstaff: Figure
    num_volunteers: Figure
    num_expats_delegates: Figure
    num_highest_risk: Figure
    gov_num_injured: Figure
    gov_num_dead: Figure
    gov_num_missing: Figure
    gov_num_displaced: Figure
    gov_num_assisted: Figure
    gov_num_highest_risk: Figure
    other_num_injured: Figure
    other_num_dead: Figure
    other_num_missing: Figure
    other_num_displaced: Figure
    other_num_assisted: Figure
    other_num_highest_risk: Figure
    affected_pop_centres: Note
    gov_affected_pop_centres: Note
    other_affected_pop_centres: Note
    epi_cases: Figure
    epi_suspected_cases: Figure
    epi_probable_cases: Figure
    epi_confirmed_cases: Figure
    epi_num_dead: Figure
    epi_figures_source: Annotated[int, Meta(description="0 ministry of health, 1 WHO, 2 other.")] | None
    epi_figures_source_display: str | None
    epi_cases_since_last_fr: Figure
    epi_deaths_since_last_fr: Figure
    epi_notes_since_last_fr: Note
    request_assistance: bool | None
    ns_request_assistance: bool | None
    notes_health: Note
    notes_ns: Note
    notes_socioeco: Note
    summary: str
    description: str
    translation_module_original_language: OriginalLanguage
    num_affected: Figure | UnsetType = UNSET
    gov_num_affected: Figure | UnsetType = UNSET
    other_num_affected: Figure | UnsetType = UNSET
    num_potentially_affected: Figure | UnsetType = UNSET
    gov_num_potentially_affected: Figure | UnsetType = UNSET
    other_num_potentially_affected: Figure | UnsetType = UNSET
    recent_affected: (
        Annotated[int, Meta(description="Which figure of people affected counts: 1 to 6; 0 none.")] | UnsetType
    ) = UNSET


class _Common(msgspec.Struct):
    """What the record in a list and the record alone share."""

    countries: Annotated[list[MiniCountry], Meta(description="Countries affected, by name.")]
    num_affected: Figure
    ifrc_severity_level: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    ifrc_severity_level_display: Annotated[str, Meta(description="The level in words.")]
    ifrc_severity_level_update_date: datetime | None
    glide: Annotated[str, Meta(description="GLIDE number; empty where unknown.")]
    disaster_start_date: datetime
    created_at: datetime
    auto_generated: bool
    auto_generated_source: Annotated[str, Meta(description="What it was made from.")] | None
    appeals: Annotated[list[AppealRecord], Meta(description="Appeals for it, newest first.")]
    is_featured: bool
    is_featured_region: bool
    field_reports: Annotated[list[FieldReportRecord], Meta(description="Reports the caller may see, newest first.")]
    updated_at: datetime
    id: int
    slug: Annotated[str, Meta(description="Name in addresses.")] | None
    parent_event: Annotated[int, Meta(description="The event it was merged into.")] | None
    tab_one_title: str
    tab_two_title: str | None
    tab_three_title: str | None
    emergency_response_contact_email: str | None
    active_deployments: int
    summary: Annotated[str, Meta(description="HTML, possibly empty.")]
    name: str
    translation_module_original_language: OriginalLanguage


class EventRecord(_Common):
    dtype: Annotated[DisasterTypeRecord, Meta(description="Type of the disaster.")] | None


class KeyFigureRecord(msgspec.Struct):
    number: str
    source: str
    id: int
    deck: str
    translation_module_original_language: OriginalLanguage


class EventLinkRecord(msgspec.Struct):
    id: int
    url: str
    title: str
    description: str
    translation_module_original_language: OriginalLanguage


class EventDetail(_Common):
    dtype: Annotated[int, Meta(description="Id of the type of the disaster.")] | None
    districts: list[District]
    contacts: Annotated[list[EventPersonRecord], Meta(description="Whom to ask; for callers who are logged in.")]
    key_figures: list[KeyFigureRecord]
    hide_attached_field_reports: bool
    hide_field_report_map: bool
    featured_documents: list[FeaturedDocument]
    links: list[EventLinkRecord]
    countries_for_preview: list[MiniCountry]
    response_activity_count: int
    visibility: Annotated[int, Meta(description="Who may see it: 3 everybody, 1 movement, 4 societies, 2 secretariat.")]


class MiniEvent(msgspec.Struct):
    id: int
    slug: str | None
    dtype: DisasterTypeRecord | None
    auto_generated_source: str | None
    emergency_response_contact_email: str | None
    countries_for_preview: list[MiniCountry]
    name: str
    translation_module_original_language: OriginalLanguage


class DeletedEvent(msgspec.Struct):
    id: int
    deleted_at: datetime
