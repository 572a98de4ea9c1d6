"""Pages of countries, regions and disaster types: tables with search, and their latest emergencies."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fieldgate.http.internal_api import InternalAPI
from fieldgate.web.page_views import Page, Pages
from fieldgate.web.pages.event_charts import EVENT_PATH, SUMMARY_PATH, build_small_map
from fieldgate.web.pages.event_detail import safe_url
from fieldgate.web.pages.event_filters import COUNTRY_PATH, REGION_PATH

pages = Pages()

LATEST_EVENTS = 10
MAX_COUNTRIES_OF_REGION = 1000


@pages.show("country_list", "reference/countries.html")
async def load_country_list(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    given = page.request.query_params
    names = await _region_names(api)
    return {
        "regions": list(names.items()),
        "event_counts": await _event_counts(api, "countries"),
        "has_societies": any(country["society_name"] for country in page.record["results"]),
        "region_names": names,
        "searched": given.get("search", ""),
        "chosen_region": given.get("region", ""),
        "is_filtered": bool(
            given.keys() - {"limit", "offset", "page", "page_size", "format", "ordering"}
        ),
    }


@pages.show("country_detail", "reference/country.html")
async def load_country(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    country = page.record
    links = [(link["title"], link["url"]) for link in country["links"]]
    links += [("", country[name]) for name in ("society_url", "website", "url_ifrc")]
    return {
        "title": country["name"],
        "map": await build_small_map(page, [country]),
        "region_name": (await _region_names(api)).get(country["region"]),
        "links": _safe_links(links),
        "filter": f"countries__in={country['id']}",
        **await _latest_events(api, "countries__in", country["id"]),
    }


@pages.show("region_detail", "reference/region.html")
async def load_region(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    region = page.record
    query = {
        "region": region["id"],
        "record_type": 1,
        "mini": "true",
        "limit": MAX_COUNTRIES_OF_REGION,
    }
    countries = await api.get(COUNTRY_PATH, query)
    return {
        "title": region["region_name"],
        "countries": countries["results"],
        "filter": f"regions__in={region['id']}",
        **await _latest_events(api, "regions__in", region["id"]),
    }


@pages.show("region_list", "reference/regions.html")
async def load_region_list(_: Page, api: InternalAPI) -> Mapping[str, Any]:
    return {"event_counts": await _event_counts(api, "regions")}


@pages.show("disaster_type_list", "reference/disaster_types.html")
async def load_disaster_type_list(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    return {
        "searched": page.request.query_params.get("search", ""),
        "event_counts": await _event_counts(api, "types"),
    }


@pages.show("disaster_type_detail", "reference/disaster_type.html")
async def load_disaster_type(page: Page, api: InternalAPI) -> Mapping[str, Any]:
    disaster_type = page.record
    return {
        "title": disaster_type["name"],
        "filter": f"dtype__in={disaster_type['id']}",
        **await _latest_events(api, "dtype__in", disaster_type["id"]),
    }


async def _region_names(api: InternalAPI) -> dict[int, str]:
    return {
        region["id"]: region["region_name"] for region in (await api.get(REGION_PATH))["results"]
    }


async def _event_counts(api: InternalAPI, name: str) -> dict[int, int] | None:
    """How many events each country, region or type has; None while they cannot be counted, as after an upgrade."""
    summary = await api.find(SUMMARY_PATH)
    return None if summary is None else {entry["id"]: entry["count"] for entry in summary[name]}


async def _latest_events(api: InternalAPI, name: str, id_: int) -> dict[str, Any]:
    """The latest events, or none while events cannot be filtered, as after an upgrade."""
    found = await api.find(EVENT_PATH, {name: id_, "limit": LATEST_EVENTS})
    return {"events_found": found or {"count": 0, "results": []}}


def _safe_links(links: list[tuple[str, str | None]]) -> list[tuple[str, str]]:
    """Labels and URLs of the links that are safe, each URL once. Without a title the label is the host."""
    by_url: dict[str, str] = {}
    for title, url in links:
        if (safe := safe_url(url)) is not None:
            by_url.setdefault(safe, title or urlsplit(safe).netloc)
    return [(label, url) for url, label in by_url.items()]
