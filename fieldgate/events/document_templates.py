"""Events are encoded when they are written; a page is a join of ready bytes.

A document is the JSON of an event's record, the same for all callers. Where callers differ it holds marks, made
of control characters, which JSON text never holds bare:

    ␃en␅fr␅ar␅es␄   a text that differs by language: one JSON string for each
    ␃c14,27␄        something the directory or the catalogue of labels says in the caller's language
    ␆…␈…␇           reports, each behind the condition under which it is seen
    ␎…␏             persons: an empty list for the public

`Reader.read` replaces the marks for one caller. Most documents hold a handful.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from fieldgate.events.model import PUBLIC, Event, FieldReport, Person, Texts
from fieldgate.events.visibility import Sight
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_all_languages
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.reference_data import ReferenceData

LANGUAGES = tuple(Language)
REMEMBERED = 5_000  # sayings of one reader

_SAID, _OR, _END = b"\x03", b"\x05", b"\x04"
_REPORTS, _REPORT, _IF, _REPORTS_END = b"\x06", b"\x08", b"\x0b", b"\x07"
_PERSONS, _PERSONS_END = b"\x0e", b"\x0f"

LABELS: dict[str, tuple[Message, ...]] = {
    "s": (Message("Yellow"), Message("Orange"), Message("Red")),
    "t": (
        Message("DREF"),
        Message("Emergency Appeal"),
        Message("International Appeal"),
        Message("Forecast Based Action"),
    ),
    "u": (Message("Active"), Message("Closed"), Message("Frozen"), Message("Archived")),
    "v": (
        Message("Unknown"),
        Message("RCRC Movement"),
        Message("IFRC Secretariat"),
        Message("Public"),
        Message("IFRC and NS"),
    ),
    "e": (Message("Ministry of health"), Message("WHO"), Message("OTHER")),
}

# The six figures of people affected, in the order `recent_affected` counts them.
AFFECTED = (
    "num_affected",
    "gov_num_affected",
    "other_num_affected",
    "num_potentially_affected",
    "gov_num_potentially_affected",
    "other_num_potentially_affected",
)
_FIGURES = tuple(
    name
    for name in (field.name for field in msgspec.structs.fields(FieldReport))
    if name.startswith(("num_", "gov_", "other_", "affected_", "epi_", "notes_", "request_", "ns_"))
)
_figures = attrgetter(*_FIGURES)

_encode = msgspec.json.Encoder().encode


def document(event: Event) -> bytes:
    """The record of an event in lists, with marks."""
    return _encode({"dtype": _type(event), **_common(event), **_texts(event)})


def detail_document(event: Event) -> bytes:
    """The record of one event alone, with marks."""
    common = _common(event) | {"field_reports": _reported(event.field_reports, is_alone=True)}
    return _encode(
        {
            "dtype": event.dtype,
            **common,
            "districts": sorted(event.districts, key=lambda district: (district.code, district.id)),
            "contacts": _people(event.contacts, event=event.id),
            "key_figures": [
                {
                    "number": figure.number,
                    "source": figure.source,
                    "id": figure.id,
                    "deck": said(figure.deck, figure.original_language),
                    "translation_module_original_language": figure.original_language,
                }
                for figure in sorted(event.key_figures, key=lambda figure: figure.id)
            ],
            "hide_attached_field_reports": event.hide_attached_field_reports,
            "hide_field_report_map": event.hide_field_report_map,
            "featured_documents": sorted(event.featured_documents, key=lambda featured: -featured.id),
            "links": [
                {
                    "id": link.id,
                    "url": link.url,
                    "title": said(link.title, link.original_language),
                    "description": said(link.description, link.original_language),
                    "translation_module_original_language": link.original_language,
                }
                for link in event.links
            ],
            "countries_for_preview": _countries(event.countries),
            "response_activity_count": event.response_activity_count,
            "visibility": event.visibility,
            **_texts(event),
        }
    )


def _common(event: Event) -> dict[str, Any]:
    return {
        "countries": _countries(event.countries),
        "num_affected": event.num_affected,
        "ifrc_severity_level": event.ifrc_severity_level,
        "ifrc_severity_level_display": _label("s", event.ifrc_severity_level),
        "ifrc_severity_level_update_date": event.ifrc_severity_level_update_date,
        "glide": event.glide,
        "disaster_start_date": event.disaster_start_date,
        "created_at": event.created_at,
        "auto_generated": event.auto_generated,
        "auto_generated_source": event.auto_generated_source,
        "appeals": _appeals(event),
        "is_featured": event.is_featured,
        "is_featured_region": event.is_featured_region,
        "field_reports": _reported(event.field_reports, is_alone=False),
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


def _texts(event: Event) -> dict[str, Any]:
    return {
        "summary": said(event.summary, event.original_language),
        "name": said(event.name, event.original_language),
        "translation_module_original_language": event.original_language,
    }


def _appeals(event: Event) -> list[dict[str, Any]]:
    newest_first = sorted(event.appeals, key=lambda appeal: appeal.id)
    for date in ("end_date", "start_date"):  # an open end is later than any date
        newest_first.sort(key=lambda appeal: (getattr(appeal, date) is None, getattr(appeal, date)), reverse=True)
    return [
        {
            "aid": appeal.aid,
            "num_beneficiaries": appeal.num_beneficiaries,
            "amount_requested": appeal.amount_requested,
            "code": appeal.code,
            "amount_funded": appeal.amount_funded,
            "status": appeal.status,
            "status_display": _label("u", appeal.status),
            "start_date": appeal.start_date,
            "end_date": appeal.end_date,
            "sector": appeal.sector,
            "atype": appeal.atype,
            "atype_display": _label("t", appeal.atype),
            "id": appeal.id,
            "translation_module_original_language": appeal.original_language,
        }
        for appeal in newest_first
    ]


def _reported(reports: Sequence[FieldReport], *, is_alone: bool) -> Any:
    """The reports of an event, newest first; those not for everybody each behind its condition."""
    newest_first = sorted(reports, key=lambda report: (report.created_at, report.id), reverse=True)
    records = [_report(report, is_alone=is_alone) for report in newest_first]
    if all(report.visibility == PUBLIC for report in reports):
        return records
    guarded = [
        b"%d:%s%s%s" % (report.visibility, ",".join(map(str, report.countries)).encode(), _IF, _encode(record))
        for report, record in zip(newest_first, records, strict=True)
    ]
    return msgspec.Raw(_REPORTS + _REPORT.join(guarded) + _REPORTS_END)


def _report(report: FieldReport, *, is_alone: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": report.id,
        "status": report.status,
        "is_covid_report": report.is_covid_report,
        "visibility": report.visibility,
        "visibility_display": _label("v", report.visibility),
        "created_at": report.created_at,
        "updated_at": report.updated_at,
        "report_date": report.report_date,
        "contacts": _people(report.contacts),
        "countries": _countries(report.countries),
        **dict(zip(_FIGURES, _figures(report), strict=True)),
        "epi_figures_source_display": (
            None if report.epi_figures_source is None else _label("e", report.epi_figures_source)
        ),
        "recent_affected": report.recent_affected,
        "summary": said(report.summary, report.original_language),
        "description": said(report.description, report.original_language),
        "translation_module_original_language": report.original_language,
    }
    if is_alone:  # of the six figures only the one that counts
        del record["recent_affected"]
        for place, name in enumerate(AFFECTED, start=1):
            if place != report.recent_affected:
                del record[name]
    return record


def _people(people: Sequence[Person], **more: int) -> Any:
    if not people:
        return []
    records = [{**msgspec.structs.asdict(person), **more} for person in sorted(people, key=lambda person: person.id)]
    ordered = [
        {key: record[key] for key in ("ctype", "name", "title", "email", "phone", *more, "id")} for record in records
    ]
    return msgspec.Raw(_PERSONS + _encode(ordered) + _PERSONS_END)


def _type(event: Event) -> Any:
    return None if event.dtype is None else _mark(f"d{event.dtype}")


def _countries(ids: Iterable[int]) -> Any:
    listed = ",".join(map(str, sorted(ids)))
    return _mark(f"c{listed}") if listed else []


def _label(kind: str, number: int) -> msgspec.Raw:
    return _mark(f"{kind}{number}")


def _mark(key: str) -> msgspec.Raw:
    return msgspec.Raw(_SAID + key.encode() + _END)


def said(texts: Texts, original: str) -> Any:
    """A text: bare where all languages say the same, else one for each."""
    if not texts:
        return ""
    each = in_all_languages(texts, original)
    if len(set(each)) == 1:
        return each[0]
    return msgspec.Raw(_SAID + _OR.join(map(_encode, each)) + _END)


class Reader:
    """Reads documents for callers of one language, as the directory stands."""

    def __init__(self, directory: ReferenceData, language: Language) -> None:
        self._directory = directory
        self._language = language
        self._place = LANGUAGES.index(language)
        self._sayings: dict[bytes, bytes] = {}

    def read(self, document: bytes, sight: Sight) -> bytes:
        """A document as a caller may see it."""
        document = _replaced(document, _REPORTS, _REPORTS_END, lambda guarded: self._seen(guarded, sight))
        if not sight.sees_persons:
            document = _replaced(document, _PERSONS, _PERSONS_END, lambda _: b"[]")
        elif _PERSONS in document:
            document = document.translate(None, _PERSONS + _PERSONS_END)
        return _replaced(document, _SAID, _END, self._say)

    def _seen(self, guarded: bytes, sight: Sight) -> bytes:
        seen = []
        for item in guarded.split(_REPORT):
            condition, _, record = item.partition(_IF)
            visibility, _, countries = condition.decode().partition(":")
            if sight.sees(int(visibility), tuple(map(int, filter(None, countries.split(","))))):
                seen.append(record)
        return b"[" + b",".join(seen) + b"]"

    def _say(self, key: bytes) -> bytes:
        saying = self._sayings.get(key)
        if saying is None:
            if _OR in key:
                return key.split(_OR)[self._place]
            if len(self._sayings) >= REMEMBERED:
                self._sayings.clear()
            saying = self._sayings[key] = self._look_up(chr(key[0]), key[1:].decode())
        return saying

    def _look_up(self, kind: str, rest: str) -> bytes:
        if kind == "c":
            return self._directory.countries_json(self._language, map(int, rest.split(",")))
        if kind == "d":
            return self._directory.type_json(self._language, int(rest))
        return _encode(translate(LABELS[kind][int(rest)], self._language))


def _replaced(document: bytes, begin: bytes, end: bytes, replace: Callable[[bytes], bytes]) -> bytes:
    """Whatever stands between two marks, replaced; several times as fast as by a regular expression."""
    if begin not in document:  # found out much sooner than by splitting
        return document
    first, *rest = document.split(begin)
    pieces = [first]
    for each in rest:
        inside, _, after = each.partition(end)
        pieces += replace(inside), after
    return b"".join(pieces)
