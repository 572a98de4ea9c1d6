"""Document templates: events are encoded when they are written, and a page is a join of ready bytes.

A template is the JSON of an event record, the same for all callers. Where callers differ it holds placeholders between
control characters, which JSON text never contains unescaped:

    ␃␅en:"…"␅fr:"…"␄   a text by language; the first one is the fallback for all other languages
    ␃c14,27␄           localized reference data or labels: the kind, and ids
    ␆…␈…␇              field reports, each after the condition for seeing it
    ␎…␏                contacts: an empty list for the public

CSV rows (`csv_rows.py`) are templates with the same placeholders. `documents.py` replaces them for one language and
scope. Most templates hold a handful. Templates do not depend on the list of languages, so a new language needs no
rebuild.

List templates are stored: a change of what `build_list_template` returns needs a new `EVENT_FORMAT` (`facets.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec

from fieldgate.events.model import Appeal, Event, FieldReport, Person, Visibility
from fieldgate.events.schemas import AppealRecord, EventLinkRecord, KeyFigureRecord
from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, LocalizedText
from fieldgate.i18n.messages import Message

MAX_CACHED_TEXTS = 5_000  # localized placeholders of one renderer

TEXT_START, TEXT_SEPARATOR, TEXT_END = b"\x03", b"\x05", b"\x04"
CODE_END = b":"
REPORTS_START, REPORT_SEPARATOR, CONDITION_END, REPORTS_END = b"\x06", b"\x08", b"\x0b", b"\x07"
PERSONS_START, PERSONS_END = b"\x0e", b"\x0f"

# The first character of a placeholder says what it stands for. Part of the stored format.
COUNTRIES, DISASTER_TYPE, SEVERITY, REGIONS = "c", "d", "s", "r"
_APPEAL_TYPE, _APPEAL_STATUS, _VISIBILITY, _EPI_SOURCE = "t", "u", "v", "e"

LABELS: dict[str, tuple[Message, ...]] = {
    SEVERITY: (Message("Yellow"), Message("Orange"), Message("Red")),
    _APPEAL_TYPE: (
        Message("DREF"),
        Message("Emergency Appeal"),
        Message("International Appeal"),
        Message("Forecast Based Action"),
    ),
    _APPEAL_STATUS: (Message("Active"), Message("Closed"), Message("Frozen"), Message("Archived")),
    _VISIBILITY: (
        Message("Unknown"),
        Message("RCRC Movement"),
        Message("IFRC Secretariat"),
        Message("Public"),
        Message("IFRC and NS"),
    ),
    _EPI_SOURCE: (Message("Ministry of health"), Message("WHO"), Message("OTHER")),
}
SEVERITY_NAMES, APPEAL_TYPE_NAMES = LABELS[SEVERITY], LABELS[_APPEAL_TYPE]
VISIBILITY_NAMES = LABELS[_VISIBILITY]  # who sees an event or a report

# The six numbers of people affected; `recent_affected` is the position of one of them, from 1.
AFFECTED_FIELDS = tuple(
    source + name
    for name in ("num_affected", "num_potentially_affected")
    for source in ("", "gov_", "other_")
)
_FIGURE_FIELDS = tuple(
    name
    for name in (field.name for field in msgspec.structs.fields(FieldReport))
    if name.startswith(("num_", "gov_", "other_", "affected_", "epi_", "notes_", "request_", "ns_"))
)
_get_figures = attrgetter(*_FIGURE_FIELDS)

_encode = msgspec.json.Encoder().encode


def build_list_template(event: Event) -> bytes:
    """The template of the list record."""
    dtype = None if event.dtype is None else _placeholder(f"{DISASTER_TYPE}{event.dtype}")
    fields = {"dtype": dtype, **_common_fields(event), **_text_fields(event)}
    preview = event.countries_for_preview
    if preview is not None and set(preview) != set(event.countries):  # most records stay short
        fields["countries_for_preview"] = _countries_placeholder(preview)
    return _encode(fields | _demo_field(event))


def build_detail_template(event: Event) -> bytes:
    """The template of the detail record."""
    preview = (
        event.countries if event.countries_for_preview is None else event.countries_for_preview
    )
    common = _common_fields(event) | {
        "field_reports": _report_records(event.field_reports, is_detail=True)
    }
    return _encode(
        {
            "dtype": event.dtype,
            **common,
            "districts": sorted(event.districts, key=lambda district: (district.code, district.id)),
            "contacts": _contact_records(event.contacts, event=event.id),
            "key_figures": [
                _record(
                    KeyFigureRecord, figure, deck=localized(figure.deck, figure.original_language)
                )
                for figure in sorted(event.key_figures, key=lambda figure: figure.id)
            ],
            "hide_attached_field_reports": event.hide_attached_field_reports,
            "hide_field_report_map": event.hide_field_report_map,
            "featured_documents": sorted(
                event.featured_documents, key=lambda featured: -featured.id
            ),
            "links": [
                _record(
                    EventLinkRecord,
                    link,
                    title=localized(link.title, link.original_language),
                    description=localized(link.description, link.original_language),
                )
                for link in event.links
            ],
            "countries_for_preview": _countries_placeholder(preview),
            "response_activity_count": event.response_activity_count,
            "visibility": event.visibility,
            **_text_fields(event),
            **_demo_field(event),
        }
    )


def _record(kind: type[msgspec.Struct], stored: Any, **shown: Any) -> dict[str, Any]:
    """The fields of a record in their order. What is not given is as it is stored."""
    shown["translation_module_original_language"] = stored.original_language
    return {
        name: shown[name] if name in shown else getattr(stored, name)
        for name in kind.__struct_fields__
    }


def _demo_field(event: Event) -> dict[str, Any]:
    """Records of real events are as those of other servers."""
    return {"demo": True} if event.demo else {}


def _common_fields(event: Event) -> dict[str, Any]:
    return {
        "countries": _countries_placeholder(event.countries),
        "num_affected": event.num_affected,
        "ifrc_severity_level": event.ifrc_severity_level,
        "ifrc_severity_level_display": _placeholder(f"{SEVERITY}{event.ifrc_severity_level}"),
        "ifrc_severity_level_update_date": event.ifrc_severity_level_update_date,
        "glide": event.glide,
        "disaster_start_date": event.disaster_start_date,
        "created_at": event.created_at,
        "auto_generated": event.auto_generated,
        "auto_generated_source": event.auto_generated_source,
        "appeals": _appeal_records(event),
        "is_featured": event.is_featured,
        "is_featured_region": event.is_featured_region,
        "field_reports": _report_records(event.field_reports, is_detail=False),
        "updated_at": event.updated_at,
        "id": event.id,
        "slug": event.slug,
        "parent_event": event.parent_event,
        "tab_one_title": event.tab_one_title,
        "tab_two_title": event.tab_two_title,
        "tab_three_title": event.tab_three_title,
        "emergency_response_contact_email": event.emergency_response_contact_email,
        "active_deployments": event.active_deployments,
    }


def _text_fields(event: Event) -> dict[str, Any]:
    return {
        "summary": localized(event.summary, event.original_language),
        "name": localized(event.name, event.original_language),
        "translation_module_original_language": event.original_language,
    }


def appeals_newest_first(event: Event) -> list[Appeal]:
    if len(event.appeals) < 2:
        return list(event.appeals)
    newest_first = sorted(event.appeals, key=lambda appeal: appeal.id)
    for date in ("end_date", "start_date"):  # no date sorts after any date
        newest_first.sort(
            key=lambda appeal: (getattr(appeal, date) is None, getattr(appeal, date)), reverse=True
        )
    return newest_first


def reports_newest_first(reports: Sequence[FieldReport]) -> list[FieldReport]:
    return sorted(reports, key=lambda report: (report.created_at, report.id), reverse=True)


def _appeal_records(event: Event) -> list[dict[str, Any]]:
    return [
        _record(
            AppealRecord,
            appeal,
            status_display=_placeholder(f"{_APPEAL_STATUS}{appeal.status}"),
            atype_display=_placeholder(f"{_APPEAL_TYPE}{appeal.atype}"),
        )
        for appeal in appeals_newest_first(event)
    ]


def _report_records(reports: Sequence[FieldReport], *, is_detail: bool) -> Any:
    """The field reports, newest first; each after its condition, unless all are public."""
    newest_first = reports_newest_first(reports)
    records = [_report_record(report, is_detail=is_detail) for report in newest_first]
    if all(report.visibility == Visibility.PUBLIC for report in reports):
        return records
    return msgspec.Raw(reports_placeholder(newest_first, map(_encode, records)))


def reports_placeholder(
    reports: Iterable[FieldReport], contents: Iterable[bytes], for_all: bytes = b""
) -> bytes:
    """Field reports, each after the condition for seeing it. `for_all` is seen by everybody, before them."""
    guarded = [b"%d:%s%s" % (Visibility.PUBLIC, CONDITION_END, for_all)] if for_all else []
    guarded += [
        b"%d:%s%s%s"
        % (report.visibility, ",".join(map(str, report.countries)).encode(), CONDITION_END, content)
        for report, content in zip(reports, contents, strict=True)
    ]
    return REPORTS_START + REPORT_SEPARATOR.join(guarded) + REPORTS_END


def _report_record(report: FieldReport, *, is_detail: bool) -> dict[str, Any]:
    figures = dict(zip(_FIGURE_FIELDS, _get_figures(report), strict=True))
    if is_detail:  # only the number that `recent_affected` selects
        for place, name in enumerate(AFFECTED_FIELDS, start=1):
            if place != report.recent_affected:
                del figures[name]
    return {
        "id": report.id,
        "status": report.status,
        "is_covid_report": report.is_covid_report,
        "visibility": report.visibility,
        "visibility_display": _placeholder(f"{_VISIBILITY}{report.visibility}"),
        "created_at": report.created_at,
        "updated_at": report.updated_at,
        "report_date": report.report_date,
        "contacts": _contact_records(report.contacts),
        "countries": _countries_placeholder(report.countries),
        **figures,
        "epi_figures_source_display": (
            None
            if report.epi_figures_source is None
            else _placeholder(f"{_EPI_SOURCE}{report.epi_figures_source}")
        ),
        **({} if is_detail else {"recent_affected": report.recent_affected}),
        "summary": localized(report.summary, report.original_language),
        "description": localized(report.description, report.original_language),
        "translation_module_original_language": report.original_language,
    }


def _contact_records(contacts: Sequence[Person], **extra: int) -> Any:
    if not contacts:
        return []
    records = [
        {**msgspec.structs.asdict(person), **extra}
        for person in sorted(contacts, key=lambda person: person.id)
    ]
    ordered = [
        {key: record[key] for key in ("ctype", "name", "title", "email", "phone", *extra, "id")}
        for record in records
    ]
    return msgspec.Raw(PERSONS_START + _encode(ordered) + PERSONS_END)


def _countries_placeholder(ids: Iterable[int]) -> Any:
    listed = ",".join(map(str, sorted(ids)))
    return _placeholder(f"{COUNTRIES}{listed}") if listed else []


@lru_cache(MAX_CACHED_TEXTS)
def _placeholder(key: str) -> msgspec.Raw:
    return msgspec.Raw(key_placeholder(key))


def key_placeholder(key: str) -> bytes:
    """Reference data or a label: the kind, and ids."""
    return TEXT_START + key.encode() + TEXT_END


def translations_in_order(texts: LocalizedText, original: str) -> dict[str, str]:
    """The translations that are not empty by language code, the fallback first."""
    in_order = dict.fromkeys((original, *FALLBACK_LANGUAGES, *texts))
    return {code: text for code in in_order if (text := texts.get(code))}


def localized(texts: LocalizedText, original: str) -> Any:
    """A text: plain where all languages show the same, else the translations by language code, the fallback first."""
    if len(texts) < 2:
        return next(iter(texts.values()), "")
    translations = translations_in_order(texts, original)
    if len(set(translations.values())) <= 1:
        return next(iter(translations.values()), "")
    return msgspec.Raw(
        text_placeholder({code: _encode(text) for code, text in translations.items()})
    )


def text_placeholder(translations: Mapping[str, bytes]) -> bytes:
    """Encoded texts by language code, the fallback first."""
    parts = [
        TEXT_SEPARATOR + code.encode() + CODE_END + text for code, text in translations.items()
    ]
    return TEXT_START + b"".join(parts) + TEXT_END
