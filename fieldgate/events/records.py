"""Records of events, as a viewer sees them: texts in the language of the viewer, and only what the viewer may see.

    record = list_record(event, viewer)

Lists, pages and files are all made from `list_record`, single events from `detail_record`.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fieldgate.events.model import Appeal, Event, EventLink, FieldReport, KeyFigure, Person
from fieldgate.events.schemas import (
    AppealRecord,
    DistrictRecord,
    EventDetail,
    EventLinkRecord,
    EventPersonRecord,
    EventRecord,
    FeaturedDocumentRecord,
    FieldReportRecord,
    FlatEvent,
    KeyFigureRecord,
    MiniEvent,
    PersonRecord,
)
from fieldgate.events.visibility import ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.schemas import MiniCountry

SEVERITY_NAMES = (Message("Yellow"), Message("Orange"), Message("Red"))
APPEAL_TYPE_NAMES = (
    Message("DREF"),
    Message("Emergency Appeal"),
    Message("International Appeal"),
    Message("Forecast Based Action"),
)
APPEAL_STATUS_NAMES = (
    Message("Active"),
    Message("Closed"),
    Message("Frozen"),
    Message("Archived"),
)
VISIBILITY_NAMES = (
    Message("Unknown"),
    Message("RCRC Movement"),
    Message("IFRC Secretariat"),
    Message("Public"),
    Message("IFRC and NS"),
)
EPI_SOURCE_NAMES = (Message("Ministry of health"), Message("WHO"), Message("OTHER"))

# The six numbers of people affected; `recent_affected` is the position of one of them, from 1.
AFFECTED_FIELDS = tuple(
    source + name
    for name in ("num_affected", "num_potentially_affected")
    for source in ("", "gov_", "other_")
)

Record = TypeVar("Record", bound=msgspec.Struct)


class Viewer(msgspec.Struct, frozen=True):
    """What a record depends on beside its event."""

    language: Language
    scope: ViewerScope
    reference_data: ReferenceData

    def text(self, texts: LocalizedText, original_language: str) -> str:
        if not texts:
            return ""
        return in_language(texts, self.language, original_language)

    def label(self, messages: Sequence[Message], number: int) -> str:
        return translate(messages[number], self.language)

    def countries(self, ids: Iterable[int]) -> list[MiniCountry]:
        """The records of countries, ordered by name."""
        return self.reference_data.country_records.records(self.language, ids)


def list_record(event: Event, viewer: Viewer) -> EventRecord:
    """The record of an event in lists."""
    dtype = None
    if event.dtype is not None:
        dtype = viewer.reference_data.type_records.record(viewer.language, event.dtype)
    preview: list[MiniCountry] | UnsetType = UNSET  # most records stay short
    given = event.countries_for_preview
    if given is not None and set(given) != set(event.countries):
        preview = viewer.countries(given)
    return EventRecord(
        **_common_fields(event, viewer),
        dtype=dtype,
        field_reports=[
            _report_record(report, viewer, {}) for report in _visible_reports(event, viewer)
        ],
        countries_for_preview=preview,
    )


def detail_record(event: Event, viewer: Viewer) -> EventDetail:
    """The record of a single event."""
    preview = event.countries_for_preview
    return EventDetail(
        **_common_fields(event, viewer),
        dtype=event.dtype,
        field_reports=[
            _report_record(report, viewer, _only_current_figure(report))
            for report in _visible_reports(event, viewer)
        ],
        districts=[
            DistrictRecord(**msgspec.structs.asdict(district))
            for district in sorted(event.districts, key=attrgetter("code", "id"))
        ],
        contacts=[
            EventPersonRecord(**msgspec.structs.asdict(person), event=event.id)
            for person in _visible_contacts(event.contacts, viewer)
        ],
        key_figures=[
            _key_figure_record(figure, viewer)
            for figure in sorted(event.key_figures, key=attrgetter("id"))
        ],
        hide_attached_field_reports=event.hide_attached_field_reports,
        hide_field_report_map=event.hide_field_report_map,
        featured_documents=[
            FeaturedDocumentRecord(**msgspec.structs.asdict(document))
            for document in sorted(event.featured_documents, key=attrgetter("id"), reverse=True)
        ],
        links=[_link_record(link, viewer) for link in event.links],
        countries_for_preview=viewer.countries(event.countries if preview is None else preview),
        response_activity_count=event.response_activity_count,
        visibility=event.visibility,
    )


def mini_record(record: EventRecord) -> MiniEvent:
    preview = record.countries_for_preview
    return MiniEvent(
        id=record.id,
        slug=record.slug,
        dtype=record.dtype,
        auto_generated_source=record.auto_generated_source,
        emergency_response_contact_email=record.emergency_response_contact_email,
        countries_for_preview=record.countries if preview is UNSET else preview,
        name=record.name,
        translation_module_original_language=record.translation_module_original_language,
    )


def flat_record(record: EventRecord) -> dict[str, Any]:
    """A record for tables, with its fields in alphabetical order: nested lists become texts joined by commas."""
    joined = {
        "appeals": {"id": join_values(appeal.id for appeal in record.appeals)},
        "countries": {
            "id": join_values(country.id for country in record.countries),
            "name": join_values(country.name for country in record.countries),
        },
        "field_reports": {"id": join_values(report.id for report in record.field_reports)},
        "dtype": record.dtype and dict(sorted(msgspec.structs.asdict(record.dtype).items())),
    }
    names = sorted(FlatEvent.__struct_fields__)
    return {name: joined[name] if name in joined else getattr(record, name) for name in names}


def join_values(values: Iterable[Any]) -> str:
    """Values in one cell."""
    return ", ".join([str(value) for value in values if value not in (None, "")])


def _common_fields(event: Event, viewer: Viewer) -> dict[str, Any]:
    """What list and detail records share."""
    return {
        "countries": viewer.countries(event.countries),
        "num_affected": event.num_affected,
        "ifrc_severity_level": event.ifrc_severity_level,
        "ifrc_severity_level_display": viewer.label(SEVERITY_NAMES, event.ifrc_severity_level),
        "ifrc_severity_level_update_date": event.ifrc_severity_level_update_date,
        "glide": event.glide,
        "disaster_start_date": event.disaster_start_date,
        "created_at": event.created_at,
        "auto_generated": event.auto_generated,
        "auto_generated_source": event.auto_generated_source,
        "appeals": [_appeal_record(appeal, viewer) for appeal in _newest_first(event.appeals)],
        "is_featured": event.is_featured,
        "is_featured_region": event.is_featured_region,
        "updated_at": event.updated_at,
        "id": event.id,
        "slug": event.slug,
        "parent_event": event.parent_event,
        "tab_one_title": event.tab_one_title,
        "tab_two_title": event.tab_two_title,
        "tab_three_title": event.tab_three_title,
        "emergency_response_contact_email": event.emergency_response_contact_email,
        "active_deployments": event.active_deployments,
        "summary": viewer.text(event.summary, event.original_language),
        "name": viewer.text(event.name, event.original_language),
        "translation_module_original_language": event.original_language,
        # Records of real events are as those of other servers.
        "demo": True if event.demo else UNSET,
    }


def _newest_first(appeals: Sequence[Appeal]) -> list[Appeal]:
    newest_first = sorted(appeals, key=attrgetter("id"))
    for date in ("end_date", "start_date"):  # no date sorts after any date
        newest_first.sort(
            key=lambda appeal: (getattr(appeal, date) is None, getattr(appeal, date)), reverse=True
        )
    return newest_first


def _appeal_record(appeal: Appeal, viewer: Viewer) -> AppealRecord:
    return AppealRecord(
        aid=appeal.aid,
        num_beneficiaries=appeal.num_beneficiaries,
        amount_requested=appeal.amount_requested,
        code=appeal.code,
        amount_funded=appeal.amount_funded,
        status=appeal.status,
        status_display=viewer.label(APPEAL_STATUS_NAMES, appeal.status),
        start_date=appeal.start_date,
        end_date=appeal.end_date,
        sector=appeal.sector,
        atype=appeal.atype,
        atype_display=viewer.label(APPEAL_TYPE_NAMES, appeal.atype),
        id=appeal.id,
        translation_module_original_language=appeal.original_language,
    )


def _visible_reports(event: Event, viewer: Viewer) -> list[FieldReport]:
    """The field reports that a viewer sees, newest first."""
    visible = [
        report
        for report in event.field_reports
        if viewer.scope.can_see(report.visibility, report.countries)
    ]
    visible.sort(key=attrgetter("created_at", "id"), reverse=True)
    return visible


# What a record of a field report has from the report as it is.
_COPIED_FIELDS = tuple(
    name
    for name in FieldReportRecord.__struct_fields__
    if name in FieldReport.__struct_fields__
    and name not in ("contacts", "countries", "summary", "description")
)
_get_copied = attrgetter(*_COPIED_FIELDS)


def _report_record(
    report: FieldReport, viewer: Viewer, changed: dict[str, UnsetType]
) -> FieldReportRecord:
    """`changed` are fields that the record leaves out."""
    fields = dict(zip(_COPIED_FIELDS, _get_copied(report), strict=True))
    epi_source = report.epi_figures_source
    return FieldReportRecord(
        **{**fields, **changed},
        visibility_display=viewer.label(VISIBILITY_NAMES, report.visibility),
        contacts=[
            PersonRecord(**msgspec.structs.asdict(person))
            for person in _visible_contacts(report.contacts, viewer)
        ],
        countries=viewer.countries(report.countries),
        epi_figures_source_display=(
            None if epi_source is None else viewer.label(EPI_SOURCE_NAMES, epi_source)
        ),
        summary=viewer.text(report.summary, report.original_language),
        description=viewer.text(report.description, report.original_language),
        translation_module_original_language=report.original_language,
    )


def _only_current_figure(report: FieldReport) -> dict[str, UnsetType]:
    """Detail records have only the figure of people affected that `recent_affected` selects, and not this field."""
    left_out: dict[str, UnsetType] = {"recent_affected": UNSET}
    for place, name in enumerate(AFFECTED_FIELDS, start=1):
        if place != report.recent_affected:
            left_out[name] = UNSET
    return left_out


def _visible_contacts(contacts: Sequence[Person], viewer: Viewer) -> list[Person]:
    if not contacts or not viewer.scope.can_see_contacts:
        return []
    return sorted(contacts, key=attrgetter("id"))


def _key_figure_record(figure: KeyFigure, viewer: Viewer) -> KeyFigureRecord:
    return KeyFigureRecord(
        number=figure.number,
        source=figure.source,
        id=figure.id,
        deck=viewer.text(figure.deck, figure.original_language),
        translation_module_original_language=figure.original_language,
    )


def _link_record(link: EventLink, viewer: Viewer) -> EventLinkRecord:
    return EventLinkRecord(
        id=link.id,
        url=link.url,
        title=viewer.text(link.title, link.original_language),
        description=viewer.text(link.description, link.original_language),
        translation_module_original_language=link.original_language,
    )
