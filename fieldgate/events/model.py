"""The stored event: texts by language, everything else by id.

Documents are built from it (`document_templates.py`), and incoming records are parsed into it (`ingest/parsing.py`).
"""

from datetime import datetime
from enum import IntEnum
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from fieldgate.i18n.languages import LanguageCode
from fieldgate.i18n.localized_text import LocalizedText

MAX_ID = 2**53  # larger integers lose precision in clients that use floats
Count = Annotated[int, Meta(ge=0, le=2**53)]
Id = Annotated[int, Meta(ge=0, le=MAX_ID)]


class Visibility(IntEnum):
    """Who may see an event or a field report. Stored and sent as these numbers."""

    MOVEMENT = 1  # every logged-in user
    SECRETARIAT = 2
    PUBLIC = 3
    SOCIETIES = 4  # the secretariat, and the national societies of its countries


Source = Literal[
    "GDACs scraper", "WHO scraper", "Field report DMIS ingest", "Field report admin", "Appeal admin", "New field report"
]  # fmt: skip
SOURCES: tuple[str, ...] = get_args(Source)
AppealType = Literal[0, 1, 2, 3]
APPEAL_TYPES: tuple[int, ...] = get_args(AppealType)
DEFAULT_TAB_TITLE = "Additional Information"


class Appeal(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    aid: str
    code: str | None = None
    atype: AppealType
    status: Literal[0, 1, 2, 3]
    num_beneficiaries: Count = 0
    amount_requested: float = 0.0
    amount_funded: float = 0.0
    start_date: datetime | None = None
    end_date: datetime | None = None
    sector: str = ""
    original_language: LanguageCode = "en"


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A contact. Personal data: only logged-in callers see it."""

    id: Id
    ctype: str = ""
    name: str = ""
    title: str = ""
    email: str = ""
    phone: str | None = None


class FieldReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: Id
    summary: LocalizedText = {}
    description: LocalizedText = {}
    status: int = 0
    is_covid_report: bool | None = None
    visibility: Visibility = Visibility.MOVEMENT
    created_at: datetime
    updated_at: datetime
    report_date: datetime | None = None
    contacts: tuple[Person, ...] = ()
    countries: tuple[Id, ...] = ()
    num_injured: Count | None = None
    num_dead: Count | None = None
    num_missing: Count | None = None
    num_affected: Count | None = None
    num_displaced: Count | None = None
    num_assisted: Count | None = None
    num_localstaff: Count | None = None
    num_volunteers: Count | None = None
    num_expats_delegates: Count | None = None
    num_potentially_affected: Count | None = None
    num_highest_risk: Count | None = None
    gov_num_injured: Count | None = None
    gov_num_dead: Count | None = None
    gov_num_missing: Count | None = None
    gov_num_affected: Count | None = None
    gov_num_displaced: Count | None = None
    gov_num_assisted: Count | None = None
    gov_num_potentially_affected: Count | None = None
    gov_num_highest_risk: Count | None = None
    other_num_injured: Count | None = None
    other_num_dead: Count | None = None
    other_num_missing: Count | None = None
    other_num_affected: Count | None = None
    other_num_displaced: Count | None = None
    other_num_assisted: Count | None = None
    other_num_potentially_affected: Count | None = None
    other_num_highest_risk: Count | None = None
    affected_pop_centres: str | None = None
    gov_affected_pop_centres: str | None = None
    other_affected_pop_centres: str | None = None
    epi_cases: Count | None = None
    epi_suspected_cases: Count | None = None
    epi_probable_cases: Count | None = None
    epi_confirmed_cases: Count | None = None
    epi_num_dead: Count | None = None
    epi_figures_source: Literal[0, 1, 2] | None = None
    epi_cases_since_last_fr: Count | None = None
    epi_deaths_since_last_fr: Count | None = None
    epi_notes_since_last_fr: str | None = None
    request_assistance: bool | None = None
    ns_request_assistance: bool | None = None
    notes_health: str | None = None
    notes_ns: str | None = None
    notes_socioeco: str | None = None
    recent_affected: Literal[0, 1, 2, 3, 4, 5, 6] = 0
    original_language: LanguageCode = "en"


class District(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    name: str
    code: str = ""
    is_enclave: bool = False
    is_deprecated: bool = False


class KeyFigure(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    number: str
    deck: LocalizedText = {}
    source: str = ""
    original_language: LanguageCode = "en"


class FeaturedDocument(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    title: str
    description: str = ""
    thumbnail: str | None = None
    file: str | None = None


class EventLink(msgspec.Struct, frozen=True, kw_only=True):
    id: Id
    url: str
    title: LocalizedText = {}
    description: LocalizedText = {}
    original_language: LanguageCode = "en"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: Id
    name: LocalizedText
    summary: LocalizedText = {}
    original_language: LanguageCode = "en"
    slug: Annotated[str, Meta(max_length=50)] | None = None
    dtype: Id | None = None
    countries: tuple[Id, ...] = ()
    num_affected: Count | None = None
    ifrc_severity_level: Literal[0, 1, 2] = 0
    ifrc_severity_level_update_date: datetime | None = None
    glide: Annotated[str, Meta(max_length=18)] = ""
    disaster_start_date: datetime
    created_at: datetime
    updated_at: datetime
    auto_generated: bool = False
    auto_generated_source: Source | None = None
    is_featured: bool = False
    is_featured_region: bool = False
    parent_event: Id | None = None
    visibility: Visibility = Visibility.MOVEMENT
    tab_one_title: str = DEFAULT_TAB_TITLE
    tab_two_title: str | None = None
    tab_three_title: str | None = None
    emergency_response_contact_email: str | None = None
    active_deployments: Count = 0
    appeals: tuple[Appeal, ...] = ()
    field_reports: tuple[FieldReport, ...] = ()
    # Only in the detail record:
    districts: tuple[District, ...] = ()
    contacts: tuple[Person, ...] = ()
    key_figures: tuple[KeyFigure, ...] = ()
    featured_documents: tuple[FeaturedDocument, ...] = ()
    links: tuple[EventLink, ...] = ()
    hide_attached_field_reports: bool = False
    hide_field_report_map: bool = False
    response_activity_count: Count = 0
    countries_for_preview: tuple[Id, ...] | None = None  # None: all its countries
    demo: bool = False  # invented, and shown as such


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def pack(event: Event) -> bytes:
    """Encode an event for storage."""
    return _encoder.encode(event)


def unpack(stored: bytes) -> Event:
    return _decoder.decode(stored)
