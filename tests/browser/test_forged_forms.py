"""Forms on pages of other sites cannot act for a user who is logged in, and links cannot lead away."""

from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from fieldgate.app import operations
from fieldgate.identity import csrf_token
from fieldgate.web.pages import FORMS
from tests.browser.chromium import Visitor, new_context
from tests.browser.demo_site import SUPERUSER, USER, USERNAMES, DemoSite
from tests.data.accounts import PASSWORD
from tests.processes import TIMEOUT_SECONDS

EVIL = "http://evil.example/"
FORGED = {
    "API": ("/api/v2/assets/", {"name": "Forged"}),
    "user": ("/api/v2/users/?form=create", {"username": "mallory"}),
    "login": ("/login/", {"username": USERNAMES[USER], "password": PASSWORD}),
    "logout": ("/logout/", {"csrf_token": "x"}),
}


@pytest.mark.parametrize("name", FORGED)
def test_form_on_another_site_is_refused(browser: Browser, site: DemoSite, name: str) -> None:
    path, fields = FORGED[name]
    context = new_context(browser, site, Visitor(SUPERUSER))
    page = context.new_page()
    inputs = "".join(f'<input name="{key}" value="{value}">' for key, value in fields.items())
    form = f'<form method="post" action="{site.base_url}{path}">{inputs}<button>Win</button></form>'

    def answer(route: Route) -> None:
        route.fulfill(content_type="text/html", body=f"<!doctype html><title>Evil</title>{form}")

    page.route(EVIL, answer)
    page.goto(EVIL)
    with page.expect_navigation():
        page.get_by_role("button", name="Win").click()
    page.goto("/")
    expect(page.locator("header bdi")).to_have_text(
        USERNAMES[SUPERUSER]
    )  # neither logged out nor somebody else
    with site.client(SUPERUSER) as client:
        assert client.get("/api/v2/users/mallory/").status_code == 404
        assert "Forged" not in client.get("/api/v2/assets/?limit=1000").text
    context.close()


def test_every_form_refuses_other_sites(site: DemoSite) -> None:
    """Even if a browser sent the cookie, and the token of the page."""
    paths = {
        operation.name: operation.route.path
        for operation in operations()
        if operation.route.method == "GET"
    }
    session = site.cookies(SUPERUSER)[0]
    cookies = {session["name"]: session["value"]}
    with_token = {"csrf_token": csrf_token(session["value"])}
    options: dict[str, Any] = {
        "cookies": cookies,
        "headers": {"Accept": "text/html"},
        "timeout": TIMEOUT_SECONDS,
    }
    with httpx.Client(base_url=site.base_url, **options) as client:
        for operation, form in FORMS:
            path = paths[operation].format_map(_PathValues(site))
            for headers in ({"Origin": EVIL.rstrip("/")}, {"Sec-Fetch-Site": "cross-site"}):
                answer = client.post(path, params={"form": form}, data=with_token, headers=headers)
                assert answer.status_code == 403, (operation, form)
            answer = client.post(path, params={"form": form}, data={})
            assert answer.status_code == 403, (operation, form, "without the token of the page")


class _PathValues(dict[str, str]):
    """Values for the parameters in paths, taken from the demo site."""

    def __init__(self, site: DemoSite) -> None:
        names = {
            "uid": "form",
            "version": "newest_version",
            "assignment": "assignment",
            "id": "event",
        }
        super().__init__(
            {name: site.paths[path].rstrip("/").split("/")[-1] for name, path in names.items()}
        )
        self.update(codename="view_asset", username=USERNAMES[USER])

    def __missing__(self, name: str) -> str:
        return "x"
