"""The inventory has every page."""

import re

from fieldgate.app import operations
from fieldgate.web.pages import PAGES as PAGE_VIEWS
from tests.browser.demo_site import DemoSite
from tests.browser.page_inventory import PAGES

OTHER_PAGES = {"start", "login_form", "account_page", "invitation_form", "swagger_ui"}


def test_every_page_is_in_the_inventory(site: DemoSite) -> None:
    paths = [entry.url(site).split("?")[0] for entry in PAGES]
    for operation in operations():
        if operation.name in PAGE_VIEWS or operation.name in OTHER_PAGES:
            pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", operation.route.path))
            assert any(map(pattern.fullmatch, paths)), f"{operation.name} {operation.route.path} is not in PAGES"
