"""Scripts in names, labels, hints, file names, searches and HTML never run, on any page.

In `make test`, tests of pages in `tests/web` look for such markup in the HTML.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import ANONYMOUS, SUPERUSER, USER, DemoSite, DemoTexts, serve_demo_site
from tests.browser.page_inspection import PageVisitor
from tests.browser.page_inventory import PAGES, PageEntry

pytestmark = pytest.mark.nightly

MARK = "document.documentElement.dataset.injected=1"
PAYLOAD = f"\"'><img src=x onerror={MARK}><script>{MARK}</script>"
HOSTILE = DemoTexts(
    first_name=PAYLOAD,
    label=f"{PAYLOAD} [link](javascript:{MARK}) {{{{1337*1337}}}}",
    form=f"Form {PAYLOAD}",
    other_form=f"{{{{1337*1337}}}} {PAYLOAD}",
    collection=f"</title></svg>{PAYLOAD}",
    team=f"Team <img src=x onerror={MARK}>",
    filename="\"'><img src=x onerror=alert(1)>.xlsx",
    event=f"Event {PAYLOAD}",
    summary=(
        f"<p onclick={MARK}>Rain <a href='javascript:{MARK}'>more</a></p>{PAYLOAD}<svg onload={MARK}></svg>"
        f"<iframe srcdoc='<script>{MARK}</script>'></iframe><style>*{{display:none}}</style>"
        "<base href='//evil.example'>"
    ),
)
# Values that pages show again or put into links.
REFLECTED = (
    ("/", "q"),
    ("/", "search"),
    ("/login/", "next"),
    ("/api/v2/event/", "search"),
    ("/api/v2/event/", "ordering"),
    ("/api/v2/event/", "dtype"),
    ("/api/v2/event/", "country"),
    ("/api/v2/event/", "from"),
    ("/api/v2/event/", "measure"),
    ("/api/v2/event/", "limit"),
    ("/api/v2/event/summary/", "search"),
    ("/api/v2/event/", "unknown"),
    ("/api/v2/assets/", "q"),
    ("/api/v2/assets/", "status"),
    ("/api/v2/assets/", "ordering"),
    ("/api/v2/imports/", "status"),
    ("/api/v2/permissions/view_asset/effects/", "held"),
    ("/api/v2/users/", "search"),
)


@pytest.fixture(scope="module")
def hostile_visitor(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PageVisitor]:
    """Pages of a site in which everything that users can name is an attack."""
    with serve_demo_site(tmp_path_factory.mktemp("hostile"), HOSTILE) as site:
        visitor = PageVisitor(browser, site)
        yield visitor
        visitor.close()


@pytest.mark.parametrize(
    "entry", [entry for entry in PAGES if "large_form" not in entry.path], ids=str
)
def test_stored_scripts_do_not_run(hostile_visitor: PageVisitor, entry: PageEntry) -> None:
    page = hostile_visitor.open(entry, Language.ENGLISH)
    assert page.injected_code() == []
    assert "1787569" not in page.page.title(), "a template in a name was run"
    assert hostile_visitor.troubles(entry, Language.ENGLISH) == []


@pytest.mark.parametrize(("path", "parameter"), REFLECTED)
def test_reflected_scripts_do_not_run(
    page_visitor: PageVisitor, site: DemoSite, path: str, parameter: str
) -> None:
    for role in (ANONYMOUS, USER, *([SUPERUSER] if "users" in path else [])):
        address = f"{path}?{urlencode({parameter: PAYLOAD})}"
        with site.client(role) as client:
            status = client.get(address, headers={"Accept": "text/html"}).status_code
        entry = PageEntry("reflected", address.replace("{", "{{").replace("}", "}}"), role, status)
        page = page_visitor.open(entry, Language.ENGLISH)
        assert page.injected_code() == []
        assert page_visitor.troubles(entry, Language.ENGLISH) == []
