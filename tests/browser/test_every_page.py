"""Every page of the inventory: accessible, valid, translated, without ids, and readable on any screen.

`make test` sees every page in English on a light desktop and in Arabic on a dark phone, both with axe, and every second
page in French or Spanish too. `make nightly` sees all pages in all languages, widths and colour schemes.
"""

import pytest

from fieldgate.i18n.languages import Language
from tests.browser.chromium import DESKTOP, PHONE, ZOOMED
from tests.browser.demo_site import DemoSite
from tests.browser.html_validation import HTMLValidator
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PAGES, PageEntry
from tests.browser.untranslated import find_untranslated

# In `make test`: where axe runs, and the width at which the layout is checked.
AXE = {Language.ENGLISH: (DESKTOP, "light"), Language.ARABIC: (PHONE, "dark")}
# Pages whose French words were too long for a phone once.
LONG_IN_FRENCH = {"imports"}
WIDTHS = {Language.ENGLISH: ZOOMED, Language.ARABIC: PHONE, Language.FRENCH: PHONE, Language.SPANISH: PHONE}


@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page(site: DemoSite, page_visitor: PageVisitor, html_validator: HTMLValidator, entry: PageEntry) -> None:
    problems: list[str] = []
    english_texts: list[str] = []
    for language in _languages(entry):
        page = page_visitor.open(entry, language)
        found = [] if page.response.status == entry.status else [f"status {page.response.status}"]
        found += page.injected_code()
        if not entry.is_external:
            found += page.raw_names()
            if language in AXE:
                found += [f"HTML: {error}" for error in html_validator.errors(page.response.text())]
            texts = page.interface_texts()
            if language is Language.ENGLISH:
                english_texts = texts
            else:
                names = site.reference_names(language.value)
                untranslated = find_untranslated(language, texts, english_texts, names)
                found += [f"not translated: {text}" for text in untranslated]
            found += page.layout_errors(WIDTHS[language])
        if language in AXE:
            found += page.axe_violations(*AXE[language])
        found += page_visitor.troubles(entry, language)
        problems += [f"{language.value}: {problem}" for problem in found]
    assert problems == [], "\n".join(["", *problems])


def _languages(entry: PageEntry) -> tuple[Language, ...]:
    """Where `make test` sees a page: a browser takes seconds for each."""
    others = {0: (Language.FRENCH,), 2: (Language.SPANISH,)}.get(PAGES.index(entry) % 4, ())
    if entry.name in LONG_IN_FRENCH:
        others = (Language.FRENCH,)
    return (*AXE, *(() if entry.is_external else others))


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(Language), ids=lambda language: str(language.value))
@pytest.mark.parametrize("entry", PAGES, ids=str)
def test_page_in_all_widths_and_colors(page_visitor: PageVisitor, entry: PageEntry, language: Language) -> None:
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
    found += page_visitor.troubles(entry, language)
    assert found == [], "\n".join(["", *found])
