"""Pages are small: for bad connections in compressed bytes, for old phones in elements."""

import httpx

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import ANONYMOUS, USER, DemoSite
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PageEntry

KILOBYTE = 1_000
MAP_AND_DATA_TABLES = ".map, .map *, .chart-data, .chart-data *"
EVENTS = PageEntry("events", "/api/v2/event/?limit=50")
LARGE_FORM = PageEntry("form-large", "{large_form}", USER)


def test_event_list_is_small(site: DemoSite, page_visitor: PageVisitor) -> None:
    for language in Language:
        assert _compressed_size(site, EVENTS, ANONYMOUS, language) < 40 * KILOBYTE
    page = page_visitor.open(EVENTS, Language.ENGLISH)
    assert page.page.get_by_role("row").count() > 50
    assert page.call("nodeCount", MAP_AND_DATA_TABLES) <= 1_500


def test_large_form_is_paged(site: DemoSite, page_visitor: PageVisitor) -> None:
    page = page_visitor.open(LARGE_FORM, Language.ENGLISH)
    assert page.call("nodeCount", "") <= 3_000
    assert _compressed_size(site, LARGE_FORM, USER, Language.ENGLISH) < 40 * KILOBYTE


def _compressed_size(site: DemoSite, entry: PageEntry, role: str, language: Language) -> int:
    headers = {"Accept": "text/html", "Accept-Language": language.value, "Accept-Encoding": "br"}
    cookies = {cookie["name"]: cookie["value"] for cookie in site.cookies(role)}
    with (
        httpx.Client(base_url=site.base_url, headers=headers, cookies=cookies) as client,
        client.stream("GET", entry.url(site)) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["Content-Encoding"] == "br"
        return sum(map(len, answer.iter_raw()))
