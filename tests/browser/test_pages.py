"""What every page has: languages, login, JSON on request, and the documentation without internet."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Visitor
from tests.browser.demo_site import USER


@pytest.fixture
def page(open_page: Callable[[Visitor], Page]) -> Page:
    return open_page(Visitor())


def test_swagger_ui_works_without_internet(page: Page) -> None:
    page.goto("/api-docs/swagger-ui/")
    for operation in ("permission_list", "permission_detail", "token_reading", "get_auth_token", "healthz"):
        expect(page.locator(f"[id$={operation}]")).to_be_visible()
    page.locator("[id$=permission_list] .opblock-summary-control").click()
    page.locator("[id$=permission_list] .execute").click()
    expect(page.locator("[id$=permission_list] .live-responses-table")).to_contain_text("manage_asset")


def test_swagger_ui_writes_when_logged_in(open_page: Callable[[Visitor], Page]) -> None:
    page = open_page(Visitor(USER))
    page.goto("/api-docs/swagger-ui/")
    page.locator("[id$=asset_creation] .opblock-summary-control").click()
    operation = page.locator("[id$=asset_creation]")
    operation.locator("textarea").fill('{"name": "From the documentation", "asset_type": "empty"}')
    operation.locator(".execute").click()
    expect(operation.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("201")
