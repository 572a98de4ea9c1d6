"""Screenshots of every page: in English on a light desktop, in Arabic on a dark phone, and in French as printed.

make screenshots                      into the folder `screenshots`
make screenshots ONLY=events,form     only these pages of `page_inventory.py`
make screenshots DOCS=yes             also those that README and the guide show, into docs/images

"""

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from fieldgate.i18n.languages import Language
from tests.browser.chromium import DESKTOP, HEIGHT, PHONE, Visitor, launch_chromium, new_context
from tests.browser.demo_site import DemoSite, create_large_form, serve_demo_site
from tests.browser.page_inventory import PAGES, PageEntry

A4_WIDTH = 794  # CSS pixels
MAX_HEIGHT = 6_000  # of a screenshot
MAX_DOCS_BYTES = 150_000
DOCS_FOLDER = Path(__file__).parent.parent.parent / "docs" / "images"


class ScreenshotKind(NamedTuple):
    name: str
    language: Language
    color_scheme: str
    width: int
    media: str = "screen"


KINDS = (
    ScreenshotKind("en-light-desktop", Language.ENGLISH, "light", DESKTOP),
    ScreenshotKind("ar-dark-phone", Language.ARABIC, "dark", PHONE),
    ScreenshotKind("fr-print", Language.FRENCH, "light", A4_WIDTH, "print"),
)

# The pages that README and the guide show: file name, page, kind, height.
DOCS_IMAGES = (
    ("home.png", "home-user", "en-light-desktop", 1000),
    ("events.png", "events-filtered", "en-light-desktop", 1300),
    ("events-arabic-phone.png", "events-filtered", "ar-dark-phone", 1500),
    ("form.png", "form", "en-light-desktop", 1000),
    ("import-problems.png", "import-problems", "en-light-desktop", 1100),
    ("sharing.png", "sharing-change", "en-light-desktop", 1100),
)


def take_screenshots(
    browser: Browser, site: DemoSite, folder: Path, pages: tuple[PageEntry, ...]
) -> None:
    for kind in KINDS:
        for role in sorted({entry.role for entry in pages}):
            with_role = [entry for entry in pages if entry.role == role]
            visitor = Visitor(role, kind.language, kind.color_scheme, kind.width)  # type: ignore[arg-type]
            context = new_context(browser, site, visitor)
            page = context.new_page()
            page.emulate_media(media=kind.media, color_scheme=kind.color_scheme)  # type: ignore[arg-type]
            for entry in with_role:
                _open(page, site, entry)
                path = folder / kind.name / f"{entry.name}.png"
                _save(page, path, kind, MAX_HEIGHT)
                print(f"{path}  {path.stat().st_size // 1024} KB")
            context.close()


def _open(page: Page, site: DemoSite, entry: PageEntry) -> None:
    page.goto(entry.url(site))
    if entry.is_external:
        expect(page.locator(".opblock").first).to_be_visible()


def _save(page: Page, path: Path, kind: ScreenshotKind, max_height: int) -> None:
    """Save the whole page, up to a height, with a palette of 256 colours: a third of the size."""
    height = min(page.evaluate("document.documentElement.scrollHeight"), max_height)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(
        path=path, full_page=True, clip={"x": 0, "y": 0, "width": kind.width, "height": height}
    )
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(
            colors=256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True)


def take_docs_images(browser: Browser, site: DemoSite) -> None:
    entries = {entry.name: entry for entry in PAGES}
    kinds = {kind.name: kind for kind in KINDS}
    for filename, page_name, kind_name, height in DOCS_IMAGES:
        entry, kind = entries[page_name], kinds[kind_name]
        visitor = Visitor(entry.role, kind.language, kind.color_scheme, kind.width)  # type: ignore[arg-type]
        context = new_context(browser, site, visitor)
        page = context.new_page()
        _open(page, site, entry)
        path = DOCS_FOLDER / filename
        _save(page, path, kind, height or HEIGHT)
        context.close()
        assert path.stat().st_size < MAX_DOCS_BYTES, f"{path} has {path.stat().st_size} bytes"
        print(f"{path}  {path.stat().st_size // 1024} KB")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take screenshots of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="Names of pages, separated by commas.")
    parser.add_argument(
        "--docs", action="store_true", help="Also take those of README and the guide."
    )
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    pages = tuple(entry for entry in PAGES if not only or entry.name in only)
    with (
        tempfile.TemporaryDirectory() as data,
        sync_playwright() as playwright,
        serve_demo_site(Path(data)) as site,
    ):
        create_large_form(site)
        browser = launch_chromium(playwright)
        take_screenshots(browser, site, arguments.folder, pages)
        if arguments.docs:
            take_docs_images(browser, site)
        browser.close()


if __name__ == "__main__":
    main()
