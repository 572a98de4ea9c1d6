"""Schemas of event records: in lists, details and mini records. Names and order are those of the live system."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.reference.schemas import DisasterTypeRecord, MiniCountry

Figure = Annotated[int | None, Meta(description="Number of people or cases; null if unknown.")]
Note = Annotated[str | None, Meta(description="Free text; null if there is none.")]
OriginalLanguage = Annotated[
    str, Meta(description="Original language of the texts: en, fr, ar or es.")
]


class AppealRecord(msgspec.Struct):
    aid: Annotated[str, Meta(description="Identifier in the finance system.")]
    num_beneficiaries: Annotated[int, Meta(description="Number of people to reach.")]
    amount_requested: Annotated[float, Meta(description="Amount requested, in Swiss francs.")]
    code: Annotated[str | None, Meta(description="Code of the appeal, such as MDRCM002.")]
    amount_funded: Annotated[float, Meta(description="Amount received, in Swiss francs.")]
    status: Annotated[int, Meta(description="0 active, 1 closed, 2 frozen, 3 archived.")]
    status_display: Annotated[str, Meta(description="Name of the status.")]
    start_date: Annotated[datetime | None, Meta(description="Start date.")]
    end_date: Annotated[datetime | None, Meta(description="End date.")]
    sector: Annotated[str, Meta(description="Office or cluster that submitted it.")]
    atype: Annotated[
        int,
        Meta(description="0 DREF, 1 emergency appeal, 2 international, 3 forecast based action."),
    ]
    atype_display: Annotated[str, Meta(description="Name of the type.")]
    id: Annotated[int, Meta(description="Id.")]
    translation_module_original_language: OriginalLanguage


class PersonRecord(msgspec.Struct):
    ctype: Annotated[str, Meta(description="Kind of contact, such as Originator or Media.")]
    name: Annotated[str, Meta(description="Full name.")]
    title: Annotated[str, Meta(description="Title or position.")]
    email: Annotated[str, Meta(description="Email address.")]
    phone: Annotated[str | None, Meta(description="Telephone number.")]
    id: Annotated[int, Meta(description="Id.")]


class EventPersonRecord(msgspec.Struct):
    ctype: Annotated[str, Meta(description="Kind of contact, such as Originator or Media.")]
    name: Annotated[str, Meta(description="Full name.")]
    title: Annotated[str, Meta(description="Title or position.")]
    email: Annotated[str, Meta(description="Email address.")]
    phone: Annotated[str | None, Meta(description="Telephone number.")]
    event: Annotated[int, Meta(description="Id of the event.")]
    id: Annotated[int, Meta(description="Id.")]


class FieldReportRecord(msgspec.Struct, kw_only=True):
    """A field report. Detail records have only the current one of the six figures of affected people."""

    id: Annotated[int, Meta(description="Id.")]
    status: Annotated[int, Meta(description="8 early warning, 9 event, 0 unknown.")]
    is_covid_report: Annotated[
        bool | None, Meta(description="Whether the report is about COVID-19.")
    ]
    visibility: Annotated[
        int,
        Meta(
            description="Who can see it: 3 everybody, 1 movement, 4 national societies, 2 secretariat."
        ),
    ]
    visibility_display: Annotated[str, Meta(description="Name of the visibility.")]
    created_at: Annotated[datetime, Meta(description="When the record was created.")]
    updated_at: Annotated[datetime, Meta(description="When the record was last changed.")]
    report_date: Annotated[datetime | None, Meta(description="Date of the report.")]
    contacts: Annotated[
        list[PersonRecord], Meta(description="Contact persons; empty for anonymous callers.")
    ]
    countries: Annotated[
        list[MiniCountry], Meta(description="Countries concerned, ordered by name.")
    ]
    num_injured: Figure
    num_dead: Figure
    num_missing: Figure
    num_affected: Figure | UnsetType = UNSET
    num_displaced: Figure
    num_assisted: Figure
    num_localstaff: Figure
    num_volunteers: Figure
    num_expats_delegates: Figure
    num_potentially_affected: Figure | UnsetType = UNSET
    num_highest_risk: Figure
    gov_num_injured: Figure
    gov_num_dead: Figure
    gov_num_missing: Figure
    gov_num_affected: Figure | UnsetType = UNSET
    gov_num_displaced: Figure
    gov_num_assisted: Figure
    gov_num_potentially_affected: Figure | UnsetType = UNSET
    gov_num_highest_risk: Figure
    other_num_injured: Figure
    other_num_dead: Figure
    other_num_missing: Figure
    other_num_affected: Figure | UnsetType = UNSET
    other_num_displaced: Figure
    other_num_assisted: Figure
    other_num_potentially_affected: Figure | UnsetType = UNSET
    other_num_highest_risk: Figure
    affected_pop_centres: Note
    gov_affected_pop_centres: Note
    other_affected_pop_centres: Note
    epi_cases: Figure
    epi_suspected_cases: Figure
    epi_probable_cases: Figure
    epi_confirmed_cases: Figure
    epi_num_dead: Figure
    epi_figures_source: Annotated[
        int | None, Meta(description="0 ministry of health, 1 WHO, 2 other.")
    ]
    epi_cases_since_last_fr: Figure
    epi_deaths_since_last_fr: Figure
    epi_notes_since_last_fr: Note
    request_assistance: Annotated[
        bool | None, Meta(description="Whether the government requests assistance.")
    ]
    ns_request_assistance: Annotated[
        bool | None, Meta(description="Whether the national society requests assistance.")
    ]
    notes_health: Note
    notes_ns: Note
    notes_socioeco: Note
    epi_figures_source_display: Annotated[str | None, Meta(description="Name of the source.")]
    recent_affected: (
        Annotated[
            int, Meta(description="Which figure of affected people is current: 1 to 6; 0 for none.")
        ]
        | UnsetType
    ) = UNSET
    summary: Annotated[str, Meta(description="Short summary.")]
    description: Annotated[str, Meta(description="HTML, possibly empty.")]
    translation_module_original_language: OriginalLanguage


class _EventFields(msgspec.Struct):
    """Fields of flat records that are as in the others."""

    num_affected: Figure
    ifrc_severity_level: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    ifrc_severity_level_display: Annotated[str, Meta(description="Name of the severity level.")]
    ifrc_severity_level_update_date: Annotated[
        datetime | None, Meta(description="When the level was last changed.")
    ]
    glide: Annotated[str, Meta(description="GLIDE number; empty if unknown.")]
    disaster_start_date: Annotated[
        datetime, Meta(description="Start of the disaster; lists are ordered by it, newest first.")
    ]
    created_at: Annotated[datetime, Meta(description="When the record was created.")]
    auto_generated: Annotated[
        bool, Meta(description="Whether the event was created automatically.")
    ]
    is_featured: Annotated[
        bool, Meta(description="Whether the event is featured on the home page.")
    ]
    is_featured_region: Annotated[
        bool, Meta(description="Whether the event is featured on the pages of its regions.")
    ]
    updated_at: Annotated[datetime, Meta(description="When the record was last changed.")]
    id: Annotated[int, Meta(description="Id.")]
    slug: Annotated[str | None, Meta(description="Name of the event in URLs.")]
    parent_event: Annotated[
        int | None, Meta(description="Id of the event this one was merged into.")
    ]
    summary: Annotated[str, Meta(description="HTML, possibly empty.")]
    name: Annotated[str, Meta(description="Name.")]


class _EventRecordBase(msgspec.Struct, kw_only=True):
    """Fields that list and detail records share, in the order of the live system."""

    dtype: Annotated[DisasterTypeRecord | int | None, Meta(description="Disaster type.")]
    countries: Annotated[
        list[MiniCountry], Meta(description="Affected countries, ordered by name.")
    ]
    num_affected: Figure
    ifrc_severity_level: Annotated[int, Meta(description="0 yellow, 1 orange, 2 red.")]
    ifrc_severity_level_display: Annotated[str, Meta(description="Name of the severity level.")]
    ifrc_severity_level_update_date: Annotated[
        datetime | None, Meta(description="When the level was last changed.")
    ]
    glide: Annotated[str, Meta(description="GLIDE number; empty if unknown.")]
    disaster_start_date: Annotated[
        datetime, Meta(description="Start of the disaster; lists are ordered by it, newest first.")
    ]
    created_at: Annotated[datetime, Meta(description="When the record was created.")]
    auto_generated: Annotated[
        bool, Meta(description="Whether the event was created automatically.")
    ]
    auto_generated_source: Annotated[
        str | None, Meta(description="Source of an automatically created event.")
    ]
    appeals: Annotated[list[AppealRecord], Meta(description="Appeals for the event, newest first.")]
    is_featured: Annotated[
        bool, Meta(description="Whether the event is featured on the home page.")
    ]
    is_featured_region: Annotated[
        bool, Meta(description="Whether the event is featured on the pages of its regions.")
    ]
    field_reports: Annotated[
        list[FieldReportRecord],
        Meta(description="Field reports visible to the caller, newest first."),
    ]
    updated_at: Annotated[datetime, Meta(description="When the record was last changed.")]
    id: Annotated[int, Meta(description="Id.")]
    slug: Annotated[str | None, Meta(description="Name of the event in URLs.")]
    parent_event: Annotated[
        int | None, Meta(description="Id of the event this one was merged into.")
    ]
    tab_one_title: Annotated[str, Meta(description="Title of the first tab.")]
    tab_two_title: Annotated[str | None, Meta(description="Title of the second tab.")]
    tab_three_title: Annotated[str | None, Meta(description="Title of the third tab.")]
    emergency_response_contact_email: Annotated[
        str | None, Meta(description="Email address of the response team.")
    ]
    active_deployments: Annotated[int, Meta(description="Number of people currently deployed.")]


class EventRecord(_EventRecordBase, kw_only=True):
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Disaster type.")]
    summary: Annotated[str, Meta(description="HTML, possibly empty.")]
    name: Annotated[str, Meta(description="Name.")]
    translation_module_original_language: OriginalLanguage
    countries_for_preview: (
        Annotated[
            list[MiniCountry],
            Meta(description="Countries to show in previews, if they are not `countries`."),
        ]
        | UnsetType
    ) = UNSET
    demo: (
        Annotated[bool, Meta(description="True in invented events; others do not have it.")]
        | UnsetType
    ) = UNSET


class JoinedIds(msgspec.Struct):
    id: Annotated[str, Meta(description="Ids, joined by commas.")]


class JoinedCountries(JoinedIds):
    name: Annotated[str, Meta(description="Names, joined by commas.")]


class FlatEvent(_EventFields):
    """A flat record for tables, returned with `tableau=true`."""

    appeals: Annotated[JoinedIds, Meta(description="Appeals for the event, newest first.")]
    countries: Annotated[JoinedCountries, Meta(description="Affected countries, ordered by name.")]
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Disaster type.")]
    field_reports: Annotated[
        JoinedIds, Meta(description="Field reports visible to the caller, newest first.")
    ]


class KeyFigureRecord(msgspec.Struct):
    number: Annotated[str, Meta(description="The figure, as text.")]
    source: Annotated[str, Meta(description="Source of the figure.")]
    id: Annotated[int, Meta(description="Id.")]
    deck: Annotated[str, Meta(description="Label of the figure.")]
    translation_module_original_language: OriginalLanguage


class EventLinkRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Id.")]
    url: Annotated[str, Meta(description="URL of the link.")]
    title: Annotated[str, Meta(description="Title or position.")]
    description: Annotated[str, Meta(description="HTML, possibly empty.")]
    translation_module_original_language: OriginalLanguage


class DistrictRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Id.")]
    name: Annotated[str, Meta(description="Name.")]
    code: Annotated[str, Meta(description="Code.")]
    is_enclave: Annotated[bool, Meta(description="Whether the district is an enclave.")]
    is_deprecated: Annotated[bool, Meta(description="Whether the district is no longer in use.")]


class FeaturedDocumentRecord(msgspec.Struct):
    id: Annotated[int, Meta(description="Id.")]
    title: Annotated[str, Meta(description="Title.")]
    description: Annotated[str, Meta(description="Description.")]
    thumbnail: Annotated[str | None, Meta(description="URL of a thumbnail.")]
    file: Annotated[str | None, Meta(description="URL of the document.")]


class EventDetail(_EventRecordBase, kw_only=True):
    dtype: Annotated[int | None, Meta(description="Id of the disaster type.")]
    districts: Annotated[list[DistrictRecord], Meta(description="Affected districts.")]
    contacts: Annotated[
        list[EventPersonRecord], Meta(description="Contact persons; empty for anonymous callers.")
    ]
    key_figures: Annotated[list[KeyFigureRecord], Meta(description="Key figures.")]
    hide_attached_field_reports: Annotated[bool, Meta(description="Display hint for websites.")]
    hide_field_report_map: Annotated[bool, Meta(description="Display hint for websites.")]
    featured_documents: Annotated[
        list[FeaturedDocumentRecord], Meta(description="Featured documents, newest first.")
    ]
    links: Annotated[list[EventLinkRecord], Meta(description="Related links.")]
    countries_for_preview: Annotated[
        list[MiniCountry], Meta(description="Countries to show in previews.")
    ]
    response_activity_count: Annotated[int, Meta(description="Number of response activities.")]
    visibility: Annotated[
        int,
        Meta(
            description="Who can see it: 3 everybody, 1 movement, 4 national societies, 2 secretariat."
        ),
    ]
    summary: Annotated[str, Meta(description="HTML, possibly empty.")]
    name: Annotated[str, Meta(description="Name.")]
    translation_module_original_language: OriginalLanguage
    demo: (
        Annotated[bool, Meta(description="True in invented events; others do not have it.")]
        | UnsetType
    ) = UNSET


class MiniEvent(msgspec.Struct):
    id: Annotated[int, Meta(description="Id.")]
    slug: Annotated[str | None, Meta(description="Name of the event in URLs.")]
    dtype: Annotated[DisasterTypeRecord | None, Meta(description="Disaster type.")]
    auto_generated_source: Annotated[
        str | None, Meta(description="Source of an automatically created event.")
    ]
    emergency_response_contact_email: Annotated[
        str | None, Meta(description="Email address of the response team.")
    ]
    countries_for_preview: Annotated[
        list[MiniCountry], Meta(description="Countries to show in previews.")
    ]
    name: Annotated[str, Meta(description="Name.")]
    translation_module_original_language: OriginalLanguage


class DeletedEvent(msgspec.Struct):
    id: Annotated[int, Meta(description="Id.")]
    deleted_at: Annotated[datetime, Meta(description="When the event was deleted.")]
