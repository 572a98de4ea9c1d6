"""Every page of the inventory: accessible, valid, translated, without ids, and readable on any screen.

`make test` sees every page in English, with axe, and in Arabic on a phone. `make nightly` sees all pages in all
languages, widths and colour schemes.
"""

import re

import pytest

from fieldgate.app import operations
from fieldgate.http.negotiation import Format
from fieldgate.i18n.languages import Language
from fieldgate.web.pages import PAGES as PAGE_VIEWS
from tests.browser.chromium import DESKTOP, PHONE, ZOOMED
from tests.browser.demo_site import DemoSite
from tests.browser.html_validation import HTMLValidator
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PAGES, PageEntry
from tests.browser.untranslated import find_untranslated

# In `make test`: axe on every page in English, layout in English and Arabic.
WIDTHS = {Language.ENGLISH: ZOOMED, Language.ARABIC: PHONE}


@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page(site: DemoSite, page_visitor: PageVisitor, html_validator: HTMLValidator, entry: PageEntry) -> None:
    problems: list[str] = []
    english_texts: list[str] = []
    for language in [Language.ENGLISH] if entry.is_external else WIDTHS:
        page = page_visitor.open(entry, language)
        found = [] if page.response.status == entry.status else [f"status {page.response.status}"]
        found += page.injected_code()
        if not entry.is_external:
            found += page.raw_names()
            texts = page.interface_texts()
            if language is Language.ENGLISH:
                found += [f"HTML: {error}" for error in html_validator.errors(page.response.text())]
                english_texts = texts
            else:
                names = site.reference_names(language.value)
                untranslated = find_untranslated(language, texts, english_texts, names)
                found += [f"not translated: {text}" for text in untranslated]
            found += page.layout_errors(WIDTHS[language])
        if language is Language.ENGLISH:
            found += page.axe_violations(DESKTOP, "light")
        found += page_visitor.troubles(entry, language)
        problems += [f"{language.value}: {problem}" for problem in found]
    assert problems == [], "\n".join(["", *problems])


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(Language), ids=lambda language: str(language.value))
@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page_in_all_widths_and_colors(
    site: DemoSite, page_visitor: PageVisitor, entry: PageEntry, language: Language
) -> None:
    english_texts = page_visitor.open(entry, Language.ENGLISH).interface_texts()
    page = page_visitor.open(entry, language)
    found = [
        problem
        for width in (PHONE, DESKTOP)
        for color_scheme in ("light", "dark")
        for problem in page.axe_violations(width, color_scheme)
    ]
    if not entry.is_external:
        for width in (PHONE, ZOOMED, DESKTOP):
            found += page.layout_errors(width)
        if language is not Language.ENGLISH:
            names = site.reference_names(language.value)
            found += find_untranslated(language, page.interface_texts(), english_texts, names)
    found += page_visitor.troubles(entry, language)
    assert found == [], "\n".join(["", *found])


def test_every_page_is_in_the_inventory(site: DemoSite) -> None:
    paths = [entry.url(site).split("?")[0] for entry in PAGES]
    redirects = {"language_switch", "sign_on_start", "sign_on_logout"}
    for operation in operations():
        is_page = operation.route.method == "GET" and operation.response.formats == (Format.HTML,)
        if operation.name in PAGE_VIEWS or (is_page and operation.name not in redirects):
            pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.route.path))
            assert any(map(pattern.fullmatch, paths)), f"{operation.name} {operation.route.path} is not in PAGES"
