"""Every page of the inventory: accessible, valid, translated, without ids, and readable on any screen.

`make test` opens every page in English, and one page of each kind with axe, zoomed, and in Arabic on a phone.
`make nightly` sees all pages in all languages, widths and colour schemes.
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


@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page(
    site: DemoSite, page_visitor: PageVisitor, html_validator: HTMLValidator, entry: PageEntry
) -> None:
    page = page_visitor.open(entry, Language.ENGLISH)
    found = [] if page.response.status == entry.status else [f"status {page.response.status}"]
    found += page.injected_code()
    english_texts = page.interface_texts()
    if not entry.is_external:
        found += page.raw_names()
        found += [f"HTML: {error}" for error in html_validator.errors(page.response.text())]
    if not entry.is_external and not entry.like:
        found += page.axe_violations(DESKTOP, "light")
        found += page.layout_errors(ZOOMED)
        page = page_visitor.open(entry, Language.ARABIC)
        found += page.raw_names()
        names = site.reference_names(Language.ARABIC.value)
        texts = find_untranslated(Language.ARABIC, page.interface_texts(), english_texts, names)
        found += [f"not translated: {text}" for text in texts]
        found += [f"Arabic: {error}" for error in page.layout_errors(PHONE)]
        found += page_visitor.troubles(entry, Language.ARABIC)
    found += page_visitor.troubles(entry, Language.ENGLISH)
    assert found == [], "\n".join(["", *found])


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(Language), ids=lambda language: str(language.value))
@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page_in_all_widths_and_colors(
    site: DemoSite, page_visitor: PageVisitor, entry: PageEntry, language: Language
) -> None:
    english_texts = page_visitor.open(entry, Language.ENGLISH).interface_texts()
    page = page_visitor.open(entry, language)
    # Colours and structure do not depend on the language, but on its direction.
    is_first_of_direction = language in (Language.ENGLISH, Language.ARABIC)
    found = [
        problem
        for width in ((PHONE, DESKTOP) if is_first_of_direction else (PHONE,))
        for color_scheme in (("light", "dark") if is_first_of_direction else ("light",))
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
    redirects = {"language_switch", "sign_on_start", "sign_on_logout"}
    seen_with_axe, templates = set(), set()
    for operation in operations():
        is_page = operation.route.method == "GET" and operation.response.formats == (Format.HTML,)
        if operation.name in PAGE_VIEWS or (is_page and operation.name not in redirects):
            pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.route.path))
            entries = [entry for entry in PAGES if pattern.fullmatch(entry.url(site).split("?")[0])]
            assert entries, f"{operation.name} {operation.route.path} is not in PAGES"
            template = (
                PAGE_VIEWS[operation.name].template
                if operation.name in PAGE_VIEWS
                else operation.name
            )
            templates.add(template)
            if not all(entry.like for entry in entries):
                seen_with_axe.add(template)
    assert templates == seen_with_axe, "an entry of each template needs axe"
    with_axe = {entry.name for entry in PAGES if not entry.like}
    assert {entry.like for entry in PAGES if entry.like} <= with_axe
