"""The documentation, which works without internet, and menus."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.chromium import Visitor
from tests.browser.demo_site import EVENT_PATH, USER


def test_swagger_ui_writes_when_logged_in(open_page: Callable[[Visitor], Page]) -> None:
    page = open_page(Visitor(USER))
    page.goto("/api-docs/swagger-ui/")
    page.locator("[id$=asset_creation] .opblock-summary-control").click()
    operation = page.locator("[id$=asset_creation]")
    operation.locator("textarea").fill('{"name": "From the documentation", "asset_type": "empty"}')
    operation.locator(".execute").click()
    expect(operation.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("201")


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
