"""Events on the wire: in a list, alone, and small. Their names and order are what clients of the live system know."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.reference.schemas import DisasterTypeRecord, MiniCountry

Figure = Annotated[int | None, Meta(description="A number of people or cases; null where unknown.")]
Note = Annotated[str | None, Meta(description="A note; null where there is none.")]
OriginalLanguage = Annotated[str, Meta(description="Language the texts were written in: en, fr, ar or es.")]


class AppealRecord(msgspec.Struct):
    aid: Annotated[str, Meta(description="Identifier in the finance system.")]
    num_beneficiaries: Annotated[int, Meta(description="People to be reached.")]
    amount_requested: Annotated[float, Meta(description="Swiss francs asked for.")]
    code: Annotated[str | None, Meta(description="Code of the appeal, such as MDRCM002.")]
    amount_funded: Annotated[float, Meta(description="Swiss francs received.")]
    status: Annotated[int, Meta(description="0 active, 1 closed, 2 frozen, 3 archived.")]
    status_display: Annotated[str, Meta(description="The status in words.")]
    start_date: Annotated[datetime | None, Meta(description="When it began.")]
    end_date: Annotated[datetime | None, Meta(description="When it ends or ended.")]
    sector: Annotated[str, Meta(description="Office or cluster that submitted it.")]
    atype: Annotated[int, Meta(description="0 DREF, 1 emergency appeal, 2 international, 3 forecast based action.")]
    atype_display: Annotated[str, Meta(description="The type in words.")]
    id: Annotated[int, Meta(description="Its id.")]
    translation_module_original_language: OriginalLanguage


class PersonRecord(msgspec.Struct):
    ctype: Annotated[str, Meta(description="What the person is to be asked about.")]
    name: Annotated[str, Meta(description="Its name.")]
    title: Annotated[str, Meta(description="Title or position.")]
    email: Annotated[str, Meta(description="Address for mail.")]
    phone: Annotated[str | None, Meta(description="Telephone number.")]
    id: Annotated[int, Meta(description="Its id.")]


class EventPersonRecord(PersonRecord):
    event: Annotated[int, Meta(description="Id of the event.")]


class FieldReportRecord(msgspec.Struct):
    """A report from the field. In the record of one event, only the figure of people affected that counts is there."""

    id: Annotated[int, Meta(description="Its id.")]
    status: Annotated[int, Meta(description="8 early warning, 9 event, 0 unknown.")]
    is_covid_report: Annotated[bool | None, Meta(description="Whether it is about COVID-19.")]
    visibility: Annotated[int, Meta(description="Who may see it: 3 everybody, 1 movement, 4 societies, 2 secretariat.")]
    visibility_display: Annotated[str, Meta(description="The visibility in words.")]
    created_at: Annotated[datetime, Meta(description="When it was entered.")]
    updated_at: Annotated[datetime, Meta(description="When it was changed last.")]
    report_date: Annotated[datetime | None, Meta(description="Day of the report.")]
    contacts: Annotated[list[PersonRecord], Meta(description="Whom to ask; for callers who are logged in.")]
    countries: Annotated[list[MiniCountry], Meta(description="Countries concerned, by name.")]
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
    epi_figures_source: Annotated[int | None, Meta(description="0 ministry of health, 1 WHO, 2 other.")]
    epi_figures_source_display: Annotated[str | None, Meta(description="The source in words.")]
    epi_cases_since_last_fr: Figure
    epi_deaths_since_last_fr: Figure
    epi_notes_since_last_fr: Note
    request_assistance: Annotated[bool | None, Meta(description="Whether the government asks for assistance.")]
    ns_request_assistance: Annotated[bool | None, Meta(description="Whether the national society asks for assistance.")]
    notes_health: Note
    notes_ns: Note
    notes_socioeco: Note
    summary: Annotated[str, Meta(description="A line about it.")]
    description: Annotated[str, Meta(description="HTML, possibly empty.")]
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


class _EventFields(msgspec.Struct):
    """What all records of an event share but the smallest."""

    num_affected: Figure
    ifrc_severity_level: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    ifrc_severity_level_display: Annotated[str, Meta(description="The level in words.")]
    ifrc_severity_level_update_date: Annotated[datetime | None, Meta(description="When the level was changed last.")]
    glide: Annotated[str, Meta(description="GLIDE number; empty where unknown.")]
    disaster_start_date: Annotated[datetime, Meta(description="When the disaster began; lists are in this order.")]
    created_at: Annotated[datetime, Meta(description="When it was entered.")]
    auto_generated: Annotated[bool, Meta(description="Made by a job rather than by hand.")]
    is_featured: Annotated[bool, Meta(description="Shown on the first page.")]
    is_featured_region: Annotated[bool, Meta(description="Shown on the pages of its regions.")]
    updated_at: Annotated[datetime, Meta(description="When it was changed last.")]
    id: Annotated[int, Meta(description="Its id.")]
    slug: Annotated[str | None, Meta(description="Name in addresses.")]
    parent_event: Annotated[int | None, Meta(description="The event it was merged into.")]
    summary: Annotated[str, Meta(description="HTML, possibly empty.")]
    name: Annotated[str, Meta(description="Its name.")]


class _EventRecordBase(_EventFields):
    """What the record in a list and the record alone share."""

    countries: Annotated[list[MiniCountry], Meta(description="Countries affected, by name.")]
    auto_generated_source: Annotated[str | None, Meta(description="What it was made from.")]
    appeals: Annotated[list[AppealRecord], Meta(description="Appeals for it, newest first.")]
    field_reports: Annotated[list[FieldReportRecord], Meta(description="Reports the caller may see, newest first.")]
    tab_one_title: Annotated[str, Meta(description="Title of the first tab on pages.")]
    tab_two_title: Annotated[str | None, Meta(description="Title of the second tab.")]
    tab_three_title: Annotated[str | None, Meta(description="Title of the third tab.")]
    emergency_response_contact_email: Annotated[str | None, Meta(description="Address of the response team.")]
    active_deployments: Annotated[int, Meta(description="People deployed at present.")]
    translation_module_original_language: OriginalLanguage


class EventRecord(_EventRecordBase):
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Type of the disaster.")]


class JoinedIds(msgspec.Struct):
    id: Annotated[str, Meta(description="Their ids, joined by commas.")]


class JoinedCountries(JoinedIds):
    name: Annotated[str, Meta(description="Their names, joined by commas.")]


class FlatEvent(_EventFields):
    """A record for tables, as `tableau=true` asks for."""

    appeals: Annotated[JoinedIds, Meta(description="Appeals for it, newest first.")]
    countries: Annotated[JoinedCountries, Meta(description="Countries affected, by name.")]
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Type of the disaster.")]
    field_reports: Annotated[JoinedIds, Meta(description="Reports the caller may see, newest first.")]


class KeyFigureRecord(msgspec.Struct):
    number: Annotated[str, Meta(description="The figure, as text.")]
    source: Annotated[str, Meta(description="Who gives it.")]
    id: Annotated[int, Meta(description="Its id.")]
    deck: Annotated[str, Meta(description="What the figure is of.")]
    translation_module_original_language: OriginalLanguage


class EventLinkRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Its id.")]
    url: Annotated[str, Meta(description="Where it leads.")]
    title: Annotated[str, Meta(description="Title or position.")]
    description: Annotated[str, Meta(description="HTML, possibly empty.")]
    translation_module_original_language: OriginalLanguage


class DistrictRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Its id.")]
    name: Annotated[str, Meta(description="Its name.")]
    code: Annotated[str, Meta(description="Its code.")]
    is_enclave: Annotated[bool, Meta(description="Whether it lies inside another one.")]
    is_deprecated: Annotated[bool, Meta(description="Whether it is no longer in use.")]


class FeaturedDocumentRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Its id.")]
    title: Annotated[str, Meta(description="Its title.")]
    description: Annotated[str, Meta(description="What it is about.")]
    thumbnail: Annotated[str | None, Meta(description="Address of a small picture.")]
    file: Annotated[str | None, Meta(description="Address of the document.")]


class EventDetail(_EventRecordBase):
    dtype: Annotated[int | None, Meta(description="Id of the type of the disaster.")]
    districts: Annotated[list[DistrictRecord], Meta(description="Districts affected.")]
    contacts: Annotated[list[EventPersonRecord], Meta(description="Whom to ask; for callers who are logged in.")]
    key_figures: Annotated[list[KeyFigureRecord], Meta(description="Figures that stand out.")]
    hide_attached_field_reports: Annotated[bool, Meta(description="A hint for pages.")]
    hide_field_report_map: Annotated[bool, Meta(description="A hint for pages.")]
    featured_documents: Annotated[
        list[FeaturedDocumentRecord], Meta(description="Documents that stand out, newest first.")
    ]
    links: Annotated[list[EventLinkRecord], Meta(description="Pages elsewhere about it.")]
    countries_for_preview: Annotated[list[MiniCountry], Meta(description="Countries affected, by name.")]
    response_activity_count: Annotated[int, Meta(description="Activities in response to it.")]
    visibility: Annotated[int, Meta(description="Who may see it: 3 everybody, 1 movement, 4 societies, 2 secretariat.")]


class MiniEvent(msgspec.Struct):
    id: Annotated[int, Meta(description="Its id.")]
    slug: Annotated[str | None, Meta(description="Name in addresses.")]
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Type of the disaster.")]
    auto_generated_source: Annotated[str | None, Meta(description="What it was made from.")]
    emergency_response_contact_email: Annotated[str | None, Meta(description="Address of the response team.")]
    countries_for_preview: Annotated[list[MiniCountry], Meta(description="Countries affected, by name.")]
    name: Annotated[str, Meta(description="Its name.")]
    translation_module_original_language: OriginalLanguage


class DeletedEvent(msgspec.Struct):
    id: Annotated[int, Meta(description="Its id.")]
    deleted_at: Annotated[datetime, Meta(description="When it was deleted.")]
