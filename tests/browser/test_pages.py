"""The documentation, which works without internet."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.chromium import Visitor
from tests.browser.demo_site import USER


def test_swagger_ui_writes_when_logged_in(open_page: Callable[[Visitor], Page]) -> None:
    page = open_page(Visitor(USER))
    page.goto("/api-docs/swagger-ui/")
    page.locator("[id$=asset_creation] .opblock-summary-control").click()
    operation = page.locator("[id$=asset_creation]")
    operation.locator("textarea").fill('{"name": "From the documentation", "asset_type": "empty"}')
    operation.locator(".execute").click()
    expect(operation.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("201")
