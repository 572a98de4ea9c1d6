"""What every page has: languages, login, JSON on request, and the documentation without internet."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import Visitor
from tests.browser.demo_site import USER, DemoSite
from tests.conftest import PASSWORD


@pytest.fixture
def page(open_page: Callable[[Visitor], Page]) -> Page:
    return open_page(Visitor())


def test_browser_gets_html_without_format_parameter(page: Page) -> None:
    page.goto("/api/v2/permissions/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Permissions")
    page.goto("/api/v2/permissions/#api")
    page.get_by_role("link", name="As JSON").click()
    assert page.evaluate("document.contentType") == "application/json"


def test_address_with_api_opens_what_is_for_programs(page: Page) -> None:
    page.goto("/api/v2/permissions/view_asset/#api")
    expect(page.locator("pre.answer")).to_contain_text('"codename": "view_asset"')
    expect(page.locator("pre.curl")).to_contain_text("curl http")


def test_language_switch(page: Page) -> None:
    page.goto("/api/v2/permissions/")
    page.get_by_role("banner").locator("summary").click()
    page.get_by_role("link", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    brand, account = page.locator(".brand").bounding_box(), page.locator(".site-account").bounding_box()
    assert brand
    assert account
    assert brand["x"] > account["x"], "the page runs from right to left"
    code = page.locator("pre.answer")
    assert code.evaluate("element => getComputedStyle(element).direction") == "ltr", "JSON does not"
    page.get_by_role("banner").locator("summary").click()
    page.get_by_role("link", name="Français").click()
    expect(page.locator("html")).to_have_attribute("lang", "fr")


def test_login_leads_back(page: Page, site: DemoSite) -> None:
    page.goto("/api/v2/permissions/view_asset/?format=api")
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill("amina")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("link", name="amina")).to_be_visible()
    assert page.url.endswith("/api/v2/permissions/view_asset/?format=api")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="amina")).to_have_count(0)


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
