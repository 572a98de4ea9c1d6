"""The home page: what is new, search, tasks, and how to call the API. Everything comes from the API."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

from fieldgate.db import now
from fieldgate.http.injection import HandlerContext
from fieldgate.http.internal_api import InternalAPI
from fieldgate.http.links import encode_query
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.search_grammar import quote_phrase
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Caller
from fieldgate.web.formatting import Formatter
from fieldgate.web.page_views import Page, Pages
from fieldgate.web.pages.event_charts import (
    EVENT_PATH,
    MEASURES,
    SUMMARY_PATH,
    build_charts,
    choose_measure,
)
from fieldgate.web.pages.event_filters import COUNTRY_PATH, REGION_PATH
from fieldgate.web.pages.ownership import load_received_invites

pages = Pages()

ASSETS_PATH, IMPORTS_PATH, USERS_PATH = "/api/v2/assets/", "/api/v2/imports/", "/api/v2/users/"
DAYS = 90
NEWEST, RECENT = 10, 5
MAX_SEARCH_CHARS, MAX_SEARCH_WORDS = 200, 10
MAX_RESULTS = 8


ResultGroup = dict[
    str, Any
]  # search results of one kind: title, count, items, and the path that leads to all of them


async def load_home(context: HandlerContext, api: InternalAPI, typed: str) -> dict[str, Any]:
    """The values of the page: search results if something was searched, otherwise what is new."""
    text = " ".join(typed.split())[:MAX_SEARCH_CHARS]
    request, caller = context.request, context.caller
    values: dict[str, Any] = {
        "searched": text,
        "groups": None,
        "base": request.base_url.url,
        "event_path": EVENT_PATH,
    }
    if text:
        values["groups"] = await _search(text, caller, api, request.language)
        return values
    newest = await api.get(EVENT_PATH, {"limit": str(NEWEST)})
    regions = await api.get(REGION_PATH)
    values |= {
        "newest": newest["results"],
        "event_count": newest["count"],
        "regions": [
            (each["region_name"], f"{EVENT_PATH}?regions__in={each['id']}")
            for each in regions["results"]
        ],
        **await _load_recent(request, api),
        **await _load_own(caller, api),
    }
    return values


async def _load_recent(request: ParsedRequest, api: InternalAPI) -> dict[str, Any]:
    """The last days: figures, and the map."""
    today = now().date()
    start, end = today - timedelta(days=DAYS), today + timedelta(days=1)
    recent = await api.find(SUMMARY_PATH, _between(start, end))
    before = await api.find(SUMMARY_PATH, _between(start - timedelta(days=DAYS), start))
    chosen = request.query_params.get("measure", "")
    measure = choose_measure(chosen)
    charts = None
    if recent and recent["count"]:
        charts = await build_charts(
            recent, measure, request, kept={"measure": measure.key} if chosen else {}
        )
    figures = []
    if recent and before:
        formatter = Formatter(request.language)
        for each in MEASURES:
            current, previous = each.value_of(recent), each.value_of(before)
            is_known = current is not None and previous is not None
            figures.append(
                {
                    "key": each.key,
                    "text": formatter.compact(current),
                    "title": translate(each.title, request.language),
                    "change": change_text(current or 0, previous or 0, request.language)
                    if is_known
                    else "",
                }
            )
    return {
        "days": DAYS,
        "recent": recent,
        "figures": figures,
        "charts": charts,
        "recent_path": f"{EVENT_PATH}?{encode_query(_between(start, end).items())}",
        "measures": [
            (each.key, translate(each.title, request.language), f"/?measure={each.key}")
            for each in MEASURES
        ],
    }


async def _load_own(caller: Caller, api: InternalAPI) -> dict[str, Any]:
    """What belongs to the caller: recent imports, what others share, and invitations."""
    if caller.is_anonymous:
        return {"imports": [], "shared": [], "invites": {"count": 0}}
    imports = await api.find(IMPORTS_PATH, {"limit": str(RECENT), "ordering": "-date_created"})
    shared = await api.find(
        ASSETS_PATH, {"status": "shared", "ordering": "-date_modified", "limit": str(RECENT)}
    )
    return {
        "imports": (imports or {"results": []})["results"],
        "shared": (shared or {"results": []})["results"],
        "invites": await load_received_invites(caller, api),
    }


def _between(start: date, end: date) -> dict[str, str]:
    return {
        "disaster_start_date__gte": start.isoformat(),
        "disaster_start_date__lt": end.isoformat(),
    }


def change_text(current: float, previous: float, language: Language) -> str:
    """How a number compares with the one before."""
    if current == previous:
        message = Message("the same as in the {days} days before", days=DAYS)
    elif previous <= 0:
        message = Message("none in the {days} days before", days=DAYS)
    else:
        change = Formatter(language).percent(abs(current / previous - 1))
        if current > previous:
            message = Message(
                "{change} more than in the {days} days before", change=change, days=DAYS
            )
        else:
            message = Message(
                "{change} less than in the {days} days before", change=change, days=DAYS
            )
    return translate(message, language)


async def _search(
    text: str, caller: Caller, api: InternalAPI, language: Language
) -> list[ResultGroup]:
    """Search results by kind. A search that a list cannot parse has no results there."""
    limit = str(MAX_RESULTS)
    formatter = Formatter(language)
    events = await api.find(EVENT_PATH, {"search": text, "limit": limit})
    countries = await api.find(
        COUNTRY_PATH, {"search": text, "mini": "true", "record_type": "1", "limit": limit}
    )
    groups = [
        _group(
            Message("Emergencies"),
            events,
            lambda each: (
                each["name"],
                f"{EVENT_PATH}{each['id']}/",
                formatter.date(each["disaster_start_date"]),
            ),
            language,
            f"{EVENT_PATH}?{encode_query([('search', text)])}",
        ),
        _group(
            Message("Countries"),
            countries,
            lambda each: (each["name"], f"{EVENT_PATH}?countries__in={each['id']}", ""),
            language,
        ),
    ]
    if not caller.is_anonymous:
        expression = asset_search(text)
        assets = await api.find(ASSETS_PATH, {"q": expression, "limit": limit})
        groups += [
            _group(
                Message("Forms and collections"),
                assets,
                lambda each: (
                    each["name"],
                    f"{ASSETS_PATH}{each['uid']}/",
                    each["owner__username"],
                ),
                language,
                f"{ASSETS_PATH}?{encode_query([('q', expression)])}",
            ),
            _group(
                Message("People"),
                await _find_people(text, caller, api),
                lambda each: (each["username"], f"{USERS_PATH}{each['username']}/", ""),
                language,
            ),
        ]
    return [group for group in groups if group["items"]]


async def _find_people(text: str, caller: Caller, api: InternalAPI) -> dict[str, Any] | None:
    """Superusers search all users; others find a user by the exact name."""
    if caller.sees_everything:
        found: dict[str, Any] | None = await api.find(
            USERS_PATH, {"search": text, "limit": str(MAX_RESULTS)}
        )
        return found
    if "/" in text or not text.isprintable():
        return None
    user = await api.find(f"{USERS_PATH}{text}/")
    return {"count": 1, "results": [user]} if user else None


def _group(
    title: Message,
    answer: Mapping[str, Any] | None,
    to_item: Any,
    language: Language,
    path: str = "",
) -> ResultGroup:
    """`to_item` gives the name, the path and a note of a record."""
    found = answer or {"count": 0, "results": []}
    items = [to_item(record) for record in found["results"]]
    return {
        "title": translate(title, language),
        "count": found["count"],
        "items": items,
        "path": path,
    }


def asset_search(text: str) -> str:
    """The search expression for assets whose name has all the words. Words are quoted: none of them is an operator."""
    return " ".join(map(quote_phrase, text.split()[:MAX_SEARCH_WORDS]))


@pages.show("endpoint_index", "endpoints.html")
async def load_endpoints(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The title and description of each list, as OPTIONS gives them."""
    prefix = urlsplit(page.request.base_url.url).path
    endpoints = []
    for url in page.record.values():
        path = urlsplit(url).path.removeprefix(prefix)
        options = await api.send("OPTIONS", path)
        endpoints.append(
            {
                "path": path,
                "title": options.body["name"],
                "description": options.body["description"],
            }
        )
    return {"endpoints": endpoints}
