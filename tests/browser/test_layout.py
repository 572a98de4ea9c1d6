"""Pages on paper, and names in another direction than the page."""

import pytest

from fieldgate.i18n.languages import Language
from tests.browser.chromium import PHONE
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PAGES

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


@pytest.mark.parametrize("name", ["home", "events", "form", "versions", "sharing", "import-problems", "account"])
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


@pytest.mark.parametrize(("name", "selector"), [("event", "h1"), ("events-filtered", "th a:text('Kenya: Flood')")])
def test_english_names_begin_at_the_right_in_arabic(page_visitor: PageVisitor, name: str, selector: str) -> None:
    loaded = page_visitor.open(ENTRIES[name], Language.ARABIC)
    loaded.resize(PHONE)
    assert loaded.page.locator(selector).first.evaluate(_DISTANCE_FROM_START) < 2
