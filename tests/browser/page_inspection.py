"""Inspects a page: axe, layout, texts. Every method returns what is wrong, as a list of texts."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Response, expect

from fieldgate.i18n.languages import Language
from fieldgate.permissions.catalogue import PERMISSIONS
from tests.browser.chromium import (
    DESKTOP,
    HEIGHT,
    NAVIGATION_TIMEOUT_MS,
    PageTroubles,
    Visitor,
    new_context,
)
from tests.browser.demo_site import DemoSite
from tests.browser.page_inventory import PageEntry
from tests.npm import node_modules

_CHECKS = (Path(__file__).parent / "page_checks.js").read_text()
_AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
_RUN_AXE = """tags => axe.run(document, {
    runOnly: {type: "tag", values: tags}, resultTypes: ["violations"], elementRef: false, preload: false,
}).then(result => result.violations.map(({id, help, nodes}) => {
    const reason = (node) => [...node.any, ...node.all, ...node.none][0]?.message ?? "";
    return {id, help, nodes: nodes.slice(0, 5).map(node => node.target.join(" ") + ": " + reason(node))};
}))"""


MAX_SHOWN = 3  # of the same kind


@cache
def _axe_source() -> str:
    return (node_modules() / "axe-core" / "axe.min.js").read_text()


@dataclass
class LoadedPage:
    """A page that is open in the browser."""

    page: Page
    entry: PageEntry
    language: Language
    response: Response
    _has_axe: bool = field(default=False)

    def call(self, check: str, *arguments: object) -> Any:
        return self.page.evaluate(f"(values) => PageChecks.{check}(...values)", list(arguments))

    def resize(self, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": HEIGHT})

    def axe_violations(self, width: int, color_scheme: str) -> list[str]:
        self.resize(width)
        self.page.emulate_media(color_scheme=color_scheme)  # type: ignore[arg-type]
        if not self._has_axe:
            self.page.evaluate(_axe_source())  # by the protocol of the debugger: the CSP stays on
            self._has_axe = True
        found = self.page.evaluate(_RUN_AXE, _AXE_TAGS)
        return [
            f"{width} {color_scheme}: {each['id']}: {each['help']}: {each['nodes']}"
            for each in found
        ]

    def layout_errors(self, width: int) -> list[str]:
        """Horizontal scrolling, clipped text and texts on top of each other, also with wider text spacing."""
        self.resize(width)
        found = self._layout_errors(f"{width}")
        self.call("setTextSpacing", True)
        found += self._layout_errors(f"{width} with text spacing")
        self.call("setTextSpacing", False)
        return found

    def _layout_errors(self, where: str) -> list[str]:
        checks = ("horizontalScroll", "clippedText", "overlappingText")
        return [
            f"{where}: {check}: {each}" for check in checks for each in self.call(check)[:MAX_SHOWN]
        ]

    def interface_texts(self) -> list[str]:
        texts: list[str] = self.call("interfaceTexts")
        return texts

    def raw_names(self) -> list[str]:
        return [
            f"raw name: {each}"
            for each in self.call("rawNames", [each.codename for each in PERMISSIONS])
        ]

    def injected_code(self) -> list[str]:
        return [f"injected: {each}" for each in self.call("injectedCode")]


class PageVisitor:
    """Opens pages of the site, with one tab for each language and role."""

    def __init__(self, browser: Browser, site: DemoSite) -> None:
        self._browser = browser
        self._site = site
        self._tabs: dict[tuple[Language, str], tuple[Page, PageTroubles]] = {}

    def open(
        self, entry: PageEntry, language: Language, with_open_disclosures: bool = True
    ) -> LoadedPage:
        page, troubles = self._tab(entry, language)
        troubles.expected_status = entry.status
        page.set_viewport_size({"width": DESKTOP, "height": HEIGHT})
        response = page.goto(entry.url(self._site))
        assert response
        if entry.is_external:
            expect(page.locator(".opblock").first).to_be_visible(timeout=NAVIGATION_TIMEOUT_MS)
        page.evaluate(_CHECKS)
        loaded = LoadedPage(page, entry, language, response)
        if with_open_disclosures:
            loaded.call("openDisclosures")
        return loaded

    def troubles(self, entry: PageEntry, language: Language) -> list[str]:
        """What went wrong in the tab since the last call."""
        _, troubles = self._tab(entry, language)
        return troubles.take()

    def _tab(self, entry: PageEntry, language: Language) -> tuple[Page, PageTroubles]:
        key = language, entry.role
        if key not in self._tabs:
            context = new_context(self._browser, self._site, Visitor(entry.role, language))
            page, troubles = context.new_page(), PageTroubles(self._site.base_url)
            troubles.watch(page)
            self._tabs[key] = page, troubles
        return self._tabs[key]

    def close(self) -> None:
        for page, _ in self._tabs.values():
            page.context.close()
