"""The index of endpoints."""

from typing import Any
from urllib.parse import urlsplit

from fieldgate.http.internal_api import InternalAPI
from fieldgate.web.page_views import Page, PageView


async def load_endpoints(page: Page, api: InternalAPI) -> dict[str, Any]:
    """The title and description of each list, as OPTIONS gives them."""
    prefix = urlsplit(page.request.base_url.url).path
    endpoints = []
    for url in page.record.values():
        path = urlsplit(url).path.removeprefix(prefix)
        options = await api.send("OPTIONS", path)
        endpoints.append({"path": path, "title": options.body["name"], "description": options.body["description"]})
    return {"endpoints": endpoints}


PAGES: dict[str, PageView] = {"endpoint_index": PageView("endpoints.html", load_endpoints)}
