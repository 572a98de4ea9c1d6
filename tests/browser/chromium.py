"""Chromium: contexts by language, role, colour scheme, width and JavaScript, and what goes wrong in their pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import ANONYMOUS, DemoSite

PHONE, ZOOMED, DESKTOP = 390, 683, 1366  # 683 CSS pixels: a desktop of 1366 at 200 % zoom
HEIGHT = 900
NAVIGATION_TIMEOUT_MS = 30_000


@dataclass
class PageTroubles:
    """Errors and warnings on the console (violations of the CSP too), exceptions, and requests to other hosts."""

    base_url: str
    expected_status: int = 200
    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.found.append(f"exception: {error}"))
        page.on("dialog", lambda dialog: self.found.append(f"dialog: {dialog.message}"))
        page.on("crash", lambda _: self.found.append("the page crashed"))
        page.on("request", lambda request: self._on_request(request.url))

    def take(self) -> list[str]:
        """Return what was found since the last call."""
        found, self.found = self.found, []
        return found

    def _on_console(self, message: ConsoleMessage) -> None:
        # Chromium reports the status of a page that is an error page.
        is_expected = (
            self.expected_status >= 400 and f"status of {self.expected_status}" in message.text
        )
        if message.type in ("error", "warning") and not is_expected:
            self.found.append(f"console: {message.text}")

    def _on_request(self, url: str) -> None:
        if not url.startswith((f"{self.base_url}/", "data:", "blob:")):
            self.found.append(f"request to another host: {url}")


def launch_chromium(playwright: Playwright) -> Browser:
    """Launch the headless shell if there is one: the same pages with two thirds of the processor time."""
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--font-render-hinting=none",
        ],
    )


@dataclass(frozen=True)
class Visitor:
    """Who looks at pages, in which language, and with what kind of browser."""

    role: str = ANONYMOUS
    language: Language = Language.ENGLISH
    color_scheme: Literal["light", "dark"] = "light"
    width: int = DESKTOP
    has_javascript: bool = True


def new_context(browser: Browser, site: DemoSite, visitor: Visitor) -> BrowserContext:
    context = browser.new_context(
        base_url=site.base_url,
        locale=visitor.language.value,
        color_scheme=visitor.color_scheme,
        viewport={"width": visitor.width, "height": HEIGHT},
        java_script_enabled=visitor.has_javascript,
        reduced_motion="reduce",
    )
    context.set_default_navigation_timeout(NAVIGATION_TIMEOUT_MS)
    context.add_cookies(site.cookies(visitor.role))
    return context


@contextmanager
def watched_page(browser: Browser, site: DemoSite, visitor: Visitor) -> Iterator[Page]:
    """A page in a context of its own. At the end, anything that went wrong in it fails the test."""
    context = new_context(browser, site, visitor)
    troubles = PageTroubles(site.base_url)
    context.on("page", troubles.watch)
    try:
        yield context.new_page()
    finally:
        context.close()
    assert troubles.take() == []
