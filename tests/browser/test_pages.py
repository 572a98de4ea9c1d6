"""Pages in Chromium: no console messages, layout, and no network access."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.processes import ServerProcess

# To keep screenshots: BROWSER_PICTURES=folder make test
PICTURES = os.environ.get("BROWSER_PICTURES")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("browser"), "--demo") as served:
        yield served


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(
        executable_path=shutil.which("chromium"),
        args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
    )
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, served: ServerProcess) -> Iterator[Page]:
    """A page. Errors on the console and requests to other hosts fail the test."""
    context = browser.new_context(base_url=served.base_url, locale="en")
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: None if request.url.startswith((served.base_url, "data:")) else troubles.append(request.url),
    )
    yield page
    context.close()
    assert troubles == []


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_browse_the_catalogue(page: Page) -> None:
    page.goto("/")
    picture(page, "start")
    page.get_by_role("main").get_by_role("link", name="Permissions").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Permissions")
    picture(page, "permissions")
    page.get_by_role("link", name="manage_asset/?format=api").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Permission")
    expect(page.locator("pre.answer")).to_contain_text('"codename": "manage_asset"')
    page.goto("/api/v2/permissions/?format=api&limit=4")
    page.get_by_role("link", name="Next page").click()
    page.get_by_role("link", name="Next page").click()
    expect(page.get_by_role("link", name="Next page")).to_have_count(0)
    page.get_by_role("link", name="Previous page").click()
    expect(page.locator("pre.request")).to_contain_text("offset=4")


def test_browser_gets_html_without_format_parameter(page: Page) -> None:
    page.goto("/api/v2/permissions/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Permissions")
    page.get_by_role("link", name="As JSON").click()
    assert page.evaluate("document.contentType") == "application/json"


def test_the_language_switch(page: Page) -> None:
    page.goto("/api/v2/permissions/change_asset/?format=api")
    page.get_by_role("link", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.get_by_role("heading", level=1)).to_have_text("إذن")
    brand, languages = page.locator(".brand").bounding_box(), page.locator(".languages").bounding_box()
    assert brand
    assert languages
    assert brand["x"] > languages["x"], "the page runs from right to left"
    code = page.locator("pre.answer")
    assert code.evaluate("element => getComputedStyle(element).direction") == "ltr", "JSON does not"
    picture(page, "permission-ar")
    page.get_by_role("link", name="Français").click()
    expect(page.locator("html")).to_have_attribute("lang", "fr")


def test_logging_in_and_out(page: Page, served: ServerProcess) -> None:
    page.goto("/api/v2/permissions/view_asset/?format=api")
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Username").fill("demo")
    page.get_by_label("Password").fill(served.printed_value("password"))
    picture(page, "login")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("bdi")).to_have_text("demo")
    expect(page.locator("pre.request")).to_contain_text("/api/v2/permissions/view_asset/")
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("bdi")).to_have_count(0)


def test_small_screen_scrolls_only_the_code(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    for path in ("/", "/api/v2/permissions/?format=api", "/login/"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
    picture(page, "login-small")


def test_swagger_ui_works_without_internet(page: Page) -> None:
    page.goto("/api-docs/swagger-ui/")
    expect(page.get_by_role("heading", name="Fieldgate")).to_be_visible()
    for operation in ("permission_list", "permission_detail", "token_reading", "get_auth_token", "healthz"):
        expect(page.locator(f"[id$={operation}]")).to_be_visible()
    picture(page, "swagger")
    page.locator("[id$=permission_list] .opblock-summary-control").click()
    page.locator("[id$=permission_list] .execute").click()
    expect(page.locator("[id$=permission_list] .live-responses-table")).to_contain_text("manage_asset")
