"""The page of one event, and the short lists of events: mini records and deleted events."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from babel import Locale

from fieldgate.db import now
from fieldgate.events.model import Visibility
from fieldgate.events.records import VISIBILITY_NAMES
from fieldgate.events.rows import REPORT_FIGURES
from fieldgate.events.writes import sum_cents
from fieldgate.http.internal_api import InternalAPI
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.web.page_views import Page, Pages
from fieldgate.web.pages.event_charts import EVENT_PATH, build_small_map

pages = Pages()

MAX_SHOWN_REPORTS = 20
_LINK_SCHEMES = ("http", "https")
_EMAIL = re.compile(r"[\w.+-]+@[\w.-]+", re.ASCII)

_SOURCES = (
    ("", Message("Red Cross Red Crescent")),
    ("gov_", Message("government")),
    ("other_", Message("others")),
)
_OWN_FIGURES = (
    ("epi_cases", Message("Cases")),
    ("epi_suspected_cases", Message("Suspected cases")),
    ("epi_probable_cases", Message("Probable cases")),
    ("epi_confirmed_cases", Message("Confirmed cases")),
    ("epi_num_dead", Message("Deaths")),
    ("num_volunteers", Message("Volunteers")),
    ("num_localstaff", Message("Local staff")),
    ("num_expats_delegates", Message("Delegates")),
)


@pages.show("event_detail", "events/detail.html")
async def load_event(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    event = page.record
    regions = {
        region["id"]: region["region_name"]
        for region in (await api.get("/api/v2/region/"))["results"]
    }
    region_ids = sorted({country["region"] for country in event["countries"]} & regions.keys())
    originals = await _load_originals(page, api)
    reports = [] if event["hide_attached_field_reports"] else event["field_reports"]
    return {
        "title": event["name"],
        "address": page.request.url,
        "now": now(),
        "disaster_type": await _find(api, "/api/v2/disaster_type/", event["dtype"]),
        "parent": await _find(api, EVENT_PATH, event["parent_event"]),
        "map": await build_small_map(page, event["countries"]),
        "regions": [(id_, regions[id_]) for id_ in region_ids],
        "summary_language": _foreign_language(
            page, event, originals, lambda original: original, "summary"
        ),
        "funding": funding(event["appeals"]),
        "appeals": [{**appeal, **funding([appeal])} for appeal in event["appeals"]],
        "reports": [_to_report(page, report, originals) for report in reports[:MAX_SHOWN_REPORTS]],
        "hidden_reports": max(0, len(reports) - MAX_SHOWN_REPORTS),
        "contacts": [_to_contact(contact) for contact in event["contacts"]],
        "response_contact": _to_contact(
            {"email": event["emergency_response_contact_email"] or "", "phone": None}
        ),
        "links": [
            _to_link(link["url"], link["title"], link["description"]) for link in event["links"]
        ],
        "documents": [
            _to_link(document["file"], document["title"], document["description"])
            for document in event["featured_documents"]
        ],
        "visibility": (
            None
            if event["visibility"] == Visibility.PUBLIC
            else translate(VISIBILITY_NAMES[event["visibility"]], page.language)
        ),
    }


@pages.show("event_mini_list", "events/mini_list.html")
async def load_mini_list(page: Page, _: InternalAPI) -> Mapping[str, Any]:
    return {
        "title": translate(Message("Emergencies in short"), page.language),
        "description": translate(
            Message("Name, type and countries of each emergency."), page.language
        ),
    }


@pages.show("event_deleted_list", "events/deleted_list.html")
async def load_deleted_list(page: Page, _: InternalAPI) -> Mapping[str, Any]:
    about = Message(
        "Emergencies that were deleted, merged or hidden, oldest first. Their names are not kept."
    )
    return {
        "title": translate(Message("Deleted emergencies"), page.language),
        "description": translate(about, page.language),
    }


def funding(appeals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What appeals request and have, and the share of it; None where nothing is requested."""
    requested = sum_cents(appeal["amount_requested"] for appeal in appeals) / 100
    funded = sum_cents(appeal["amount_funded"] for appeal in appeals) / 100
    return {
        "requested": requested,
        "funded": funded,
        "share": funded / requested if requested > 0 else None,
    }


def safe_url(url: str | None) -> str | None:
    """The URL if it is one of a website. Others could run a script, or open a program."""
    try:
        parts = urlsplit((url or "").strip())
    except ValueError:
        return None
    return (url or "").strip() if parts.scheme.lower() in _LINK_SCHEMES and parts.netloc else None


async def _find(api: InternalAPI, path: str, id_: int | None) -> Any:
    return None if id_ is None else await api.find(f"{path}{id_}/")


async def _load_originals(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The same event in the other languages of its texts: a text that is the same there has no translation."""
    event = page.record
    codes = {
        each["translation_module_original_language"] for each in (event, *event["field_reports"])
    }
    found = {}
    for code in sorted(codes & LANGUAGES_BY_CODE.keys() - {page.language.value}):
        response = await api.send(
            "GET", f"{EVENT_PATH}{event['id']}/", headers={"Accept-Language": code}
        )
        if not response.is_error:
            found[code] = response.body
    return found


def _foreign_language(
    page: Page,
    record: Any,
    originals: Mapping[str, Any],
    select: Callable[[Any], Any],
    *fields: str,
) -> dict[str, str] | None:
    """The language of texts that have no translation into the reader's: its code and its name; None otherwise."""
    code = record["translation_module_original_language"]
    original = select(originals[code]) if code in originals else None
    if original is None or not any(record[field] for field in fields):
        return None
    if any(record[field] != original[field] for field in fields):
        return None
    return {"code": code, "name": Locale(code).get_language_name(page.language.value) or code}


def _to_report(page: Page, report: Any, originals: Mapping[str, Any]) -> dict[str, Any]:
    def select(original: Any) -> Any:
        return next(
            (each for each in original["field_reports"] if each["id"] == report["id"]), None
        )

    return {
        "date": report["report_date"] or report["created_at"],
        "updated_at": report["updated_at"],
        "summary": report["summary"],
        "description": report["description"],
        "language": _foreign_language(page, report, originals, select, "summary", "description"),
        "countries": [country["name"] for country in report["countries"]],
        "figures": list(_report_figures(report, page.language)),
        "visibility": None
        if report["visibility"] == Visibility.PUBLIC
        else report["visibility_display"],
        "contacts": [_to_contact(contact) for contact in report["contacts"]],
    }


def _report_figures(
    report: Mapping[str, Any], language: Language
) -> list[tuple[str, list[tuple[int, str]]]]:
    """Label and numbers, each with its source; without figures that nobody gave."""
    found = []
    for name, label in REPORT_FIGURES.items():
        given = [
            (prefix, source) for prefix, source in _SOURCES if report.get(prefix + name) is not None
        ]
        if given:
            # The society's own number needs no source.
            numbers = [
                (
                    report[prefix + name],
                    translate(source, language) if prefix or len(given) > 1 else "",
                )
                for prefix, source in given
            ]
            found.append((translate(label, language), numbers))
    for name, label in _OWN_FIGURES:
        if report.get(name) is not None:
            found.append((translate(label, language), [(report[name], "")]))
    return found


def _to_contact(contact: Mapping[str, Any]) -> dict[str, Any]:
    """A contact with addresses that are safe as links."""
    email, phone = contact["email"].strip(), (contact["phone"] or "").strip()
    return {
        **contact,
        "mail_link": f"mailto:{email}" if _EMAIL.fullmatch(email) else None,
        "phone_link": "tel:" + re.sub(r"[^0-9+]", "", phone)
        if re.search(r"[0-9]{3}", phone)
        else None,
    }


def _to_link(url: str | None, title: str, description: str) -> dict[str, Any]:
    """A link with a text: its title, or the host it leads to. Unsafe ones are text only."""
    safe = safe_url(url)
    return {
        "url": safe,
        "label": title or (urlsplit(safe).netloc if safe else url or ""),
        "description": description,
    }
