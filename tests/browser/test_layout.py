"""Pages on paper and on phones, names in another direction than the page, and where the focus goes."""

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, expect

from fieldgate.i18n.languages import Language
from tests.browser.chromium import DESKTOP, PHONE, ZOOMED, Visitor
from tests.browser.demo_site import ANONYMOUS, EVENT_PATH, USER, DemoSite
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PAGES, PageEntry
from tests.processes import TIMEOUT_SECONDS

PHONE_HEIGHT = 844
A4_WIDTH = 700  # CSS pixels, without the margins
ENTRIES = {entry.name: entry for entry in PAGES}

# What nobody can use on paper, and tables that became cards as if the paper were a phone.
_OUT_OF_PLACE = """() => {
    const shown = selector => [...document.querySelectorAll(selector)].filter(each => each.checkVisibility());
    const isCard = row => getComputedStyle(row).display !== "table-row";
    return [...shown("form, button, .button, nav, input, select, summary"), ...shown("main tr").filter(isCard)]
        .map(each => each.outerHTML.slice(0, 100));
}"""

# The distance between the start of a text and the start of the box around it, which both begin at the right side.
_DISTANCE_FROM_START = """element => {
    const text = document.createRange();
    text.selectNodeContents(element);
    return Math.abs(element.getBoundingClientRect().right - text.getBoundingClientRect().right);
}"""


@pytest.mark.parametrize(
    "name", ["home", "events", "form", "versions", "sharing", "import-problems", "account"]
)
def test_paper_has_the_content_only(page_visitor: PageVisitor, name: str) -> None:
    loaded = page_visitor.open(ENTRIES[name], Language.FRENCH, with_open_disclosures=False)
    loaded.resize(A4_WIDTH)
    loaded.page.emulate_media(media="print")
    try:
        assert loaded.page.evaluate(_OUT_OF_PLACE) == []
        assert loaded.call("horizontalScroll") == []
        assert loaded.page.locator("h1").is_visible()
    finally:
        loaded.page.emulate_media(media="screen")


@pytest.mark.parametrize(
    ("name", "selector"), [("event", "h1"), ("events-filtered", "th a:text('Kenya: Flood')")]
)
def test_english_names_begin_at_the_right_in_arabic(
    page_visitor: PageVisitor, name: str, selector: str
) -> None:
    loaded = page_visitor.open(ENTRIES[name], Language.ARABIC)
    loaded.resize(PHONE)
    assert loaded.page.locator(selector).first.evaluate(_DISTANCE_FROM_START) < 2


def test_marked_cells_keep_the_direction_of_their_text_in_arabic(page_visitor: PageVisitor) -> None:
    """The word before them that only screen readers get is Arabic."""
    loaded = page_visitor.open(ENTRIES["import-problems"], Language.ARABIC)
    cells = loaded.page.locator(".sheet-rows .marked")
    directions = cells.evaluate_all(
        "cells => cells.map(cell => [cell.innerText, getComputedStyle(cell).direction])"
    )
    latin = [direction for text, direction in directions if "${" in text]
    assert latin
    assert set(latin) == {"ltr"}


@pytest.mark.parametrize("width", [PHONE, ZOOMED, DESKTOP])
@pytest.mark.parametrize("language", [Language.FRENCH, Language.SPANISH])
def test_placeholders_are_readable(
    page_visitor: PageVisitor, language: Language, width: int
) -> None:
    loaded = page_visitor.open(ENTRIES["events"], language)
    loaded.resize(width)
    assert loaded.call("clippedPlaceholders") == []


def test_phone_shows_the_first_event_within_two_screens(page_visitor: PageVisitor) -> None:
    loaded = page_visitor.open(ENTRIES["events"], Language.FRENCH, with_open_disclosures=False)
    loaded.resize(PHONE)
    page = loaded.page
    first = page.locator(".events tbody tr").first.bounding_box()
    assert first
    assert first["y"] < 2 * PHONE_HEIGHT
    assert not page.locator("#filter-from").is_visible()
    page.get_by_label("Plus de filtres").check()
    assert page.locator("#filter-from").is_visible()


def test_phone_cuts_no_graph_off(page_visitor: PageVisitor) -> None:
    loaded = page_visitor.open(ENTRIES["permissions"], Language.ENGLISH)
    assert loaded.page.locator(".graph").is_visible()
    loaded.resize(PHONE)
    assert not loaded.page.locator(".graph").is_visible(), "the table above has the same"


def test_phone_shows_all_columns_of_the_guide(page_visitor: PageVisitor) -> None:
    loaded = page_visitor.open(ENTRIES["guide"], Language.ENGLISH)
    loaded.resize(PHONE)
    hidden = (
        "tables => tables.filter(each => each.scrollWidth > each.parentElement.clientWidth).length"
    )
    assert loaded.page.locator(".document table").evaluate_all(hidden) == 0


def test_focus_follows_the_header_on_a_phone(page_visitor: PageVisitor) -> None:
    loaded = page_visitor.open(ENTRIES["home-user"], Language.ENGLISH)
    loaded.resize(PHONE)
    tops = [
        box["y"]
        for each in loaded.page.locator(".site-header > *").all()
        if (box := each.bounding_box())
    ]
    assert (len(tops), tops) == (3, sorted(tops))


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_focus_follows_the_order_of_the_home_page(page_visitor: PageVisitor, width: int) -> None:
    """By columns: a section is below the one before, or in the next column."""
    loaded = page_visitor.open(ENTRIES["home-user"], Language.ENGLISH)
    loaded.resize(width)
    *sections, last = [each.bounding_box() for each in loaded.page.locator("main section").all()]
    places = [(round(box["x"]), round(box["y"])) for box in sections if box]
    assert len(places) >= 4
    assert places == sorted(places)
    assert last
    assert last["y"] > max(y for _, y in places)


def test_arrows_of_breadcrumbs_are_mirrored_once(page_visitor: PageVisitor) -> None:
    loaded = page_visitor.open(ENTRIES["event"], Language.ARABIC)
    separator = loaded.page.locator(".breadcrumb li").nth(1)
    assert separator.evaluate("each => getComputedStyle(each, '::before').content") == '"›"'


def test_breadcrumbs_keep_the_filter(open_page: Callable[[Visitor], Page]) -> None:
    page = open_page(Visitor(USER))
    page.goto("/api/v2/event/?dtype__in=12")
    page.locator(".events tbody th a").first.click()
    page.locator(".breadcrumb a").click()
    page.wait_for_url("**/api/v2/event/?dtype__in=12")


def test_notices_get_the_focus(open_page: Callable[[Visitor], Page]) -> None:
    """Screen readers do not announce what a page begins with. The menu of languages keeps its style, too."""
    page = open_page(Visitor(USER))
    page.goto("/account/")
    style = """each => { const {padding, borderRadius, backgroundColor, textDecorationLine} = getComputedStyle(each);
        return [padding, borderRadius, backgroundColor, textDecorationLine]; }"""
    language = page.locator(".chips [lang=fr]")
    before = language.evaluate(style)
    page.get_by_label("What is it for?").fill("Focus")
    page.get_by_role("button", name="Create token").click()
    expect(page.locator(".outcome")).to_be_focused()
    assert language.evaluate(style) == before
    row = page.locator("tr", has_text="Focus")
    row.locator("summary").click()
    row.get_by_role("button", name="Revoke this token").click()
    expect(page.locator(".notice")).to_be_focused()


def test_choices_are_on_the_side_of_their_question(
    open_page: Callable[[Visitor], Page], site: DemoSite
) -> None:
    """In Arabic on a page in French: the marks before the choices, too."""
    page = open_page(Visitor(USER, Language.FRENCH))
    page.goto(ENTRIES["form"].url(site) + "?language=ar")
    choices = page.locator("ul.choices:has-text('ماء')").first
    assert choices.evaluate("list => getComputedStyle(list).direction") == "rtl"
    assert choices.locator("li").first.evaluate("item => getComputedStyle(item).direction") == "rtl"


def test_swagger_ui_writes_when_logged_in(open_page: Callable[[Visitor], Page]) -> None:
    page = open_page(Visitor(USER))
    page.goto("/api-docs/swagger-ui/")
    page.locator("[id$=asset_creation] .opblock-summary-control").click()
    operation = page.locator("[id$=asset_creation]")
    operation.locator("textarea").fill('{"name": "From the documentation", "asset_type": "empty"}')
    operation.locator(".execute").click()
    expect(
        operation.locator(".live-responses-table tbody .response-col_status").first
    ).to_contain_text("201")


def test_menu_closes_by_a_click_elsewhere(open_page: Callable[[Visitor], Page]) -> None:
    """It would cover the button below it."""
    page = open_page(Visitor(USER))
    page.goto(EVENT_PATH)
    menus = page.locator("details.picks")
    menus.first.locator("summary").click()
    menus.first.locator("input").first.check()
    expect(menus.first.locator("ul")).to_be_visible()
    menus.nth(1).locator("summary").click()
    expect(menus.first.locator("ul")).to_be_hidden()
    page.locator("h1").click()
    expect(page.locator("details.picks[open]")).to_have_count(0)


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
        httpx.Client(
            base_url=site.base_url, headers=headers, cookies=cookies, timeout=TIMEOUT_SECONDS
        ) as client,
        client.stream("GET", entry.url(site)) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["Content-Encoding"] == "br"
        return sum(map(len, answer.iter_raw()))
