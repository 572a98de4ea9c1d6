"""One demo site for each process of pytest, and one Chromium as long as tests of this folder run."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.chromium import NAVIGATION_TIMEOUT_MS, Visitor, launch_chromium, watched_page
from tests.browser.demo_site import DemoSite, create_large_form, serve_demo_site
from tests.browser.html_validation import HTMLValidator
from tests.browser.page_inspection import PageVisitor

OpenPage = Callable[[Visitor], Page]

expect.set_options(
    timeout=NAVIGATION_TIMEOUT_MS
)  # the API documentation took more than 5 s on a busy machine


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSite]:
    with serve_demo_site(tmp_path_factory.mktemp("site")) as site:
        create_large_form(site)
        yield site


# Not for the session: while the synchronous interface of Playwright runs, no test can use asyncio.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, site: DemoSite) -> Iterator[OpenPage]:
    """Opens pages for visitors. Anything on the console, and requests to other hosts, fail the test."""
    with ExitStack() as stack:

        def open_for(visitor: Visitor) -> Page:
            context: AbstractContextManager[Page] = watched_page(browser, site, visitor)
            return stack.enter_context(context)

        yield open_for


@pytest.fixture(scope="package")
def page_visitor(browser: Browser, site: DemoSite) -> Iterator[PageVisitor]:
    visitor = PageVisitor(browser, site)
    yield visitor
    visitor.close()


@pytest.fixture(scope="session")
def html_validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HTMLValidator]:
    with HTMLValidator(tmp_path_factory.mktemp("html_validator")) as validator:
        yield validator
