"""After every form of a page, its message or its preview is on the screen, without scrolling."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

from tests.browser.chromium import DESKTOP, PHONE, Visitor, new_context
from tests.browser.demo_site import COLLEAGUE, SUPERUSER, USER, USERNAMES, DemoSite

OpenScreen = Callable[..., Page]
RESULT = "main > .notice, #error-summary, #preview, .outcome[role=status]"
PHONE_AND_DESKTOP = pytest.mark.parametrize(
    ("width", "has_javascript"),
    [(PHONE, True), (DESKTOP, True), (PHONE, False)],
    ids=["phone", "desktop", "no-script"],
)


@pytest.fixture
def open_screen(browser: Browser, site: DemoSite) -> Iterator[OpenScreen]:
    """Opens pages whose console is not watched: Chromium reports each 400 there."""
    with ExitStack() as stack:

        def open_for(role: str, width: int, has_javascript: bool) -> Page:
            visitor = Visitor(role, width=width, has_javascript=has_javascript)
            return stack.enter_context(new_context(browser, site, visitor)).new_page()

        yield open_for


class FormSender:
    """Somebody who sends forms from the end of a page, and looks at the screen after each."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def open(self, path: str) -> None:
        self._page.goto(path)

    def fill(self, form: str, **values: str) -> None:
        for details in self._page.locator(
            "details:not([open])", has=self._page.locator(f"#form-{form}")
        ).all():
            details.locator("summary").first.click()
        for name, value in values.items():
            self._page.locator(f"#{form}-{name}").fill(value)

    def send(self, button: str) -> None:
        self._press(
            self._page.get_by_role("main").get_by_role("button", name=button, exact=True).first
        )

    def _press(self, button: Locator) -> None:
        button.scroll_into_view_if_needed()
        with self._page.expect_navigation():
            button.click()
        result = self._page.locator(RESULT).first
        expect(result).to_be_visible()
        box = result.bounding_box()
        screen = self._page.viewport_size
        assert box
        assert screen
        assert 0 <= box["y"] < screen["height"] - 40, (
            f"{self._page.url}: {result.inner_text()[:80]} is at {box['y']}"
        )


@PHONE_AND_DESKTOP
def test_forms_of_users(
    open_screen: OpenScreen, site: DemoSite, width: int, has_javascript: bool
) -> None:
    owner, heir = (f"{name}_{secrets.token_hex(3)}" for name in ("leila", "bashir"))
    site.tokens[owner] = site.create_user(owner)
    site.create_user(heir)
    site.send(owner, "POST", "/api/v2/assets/", json={"name": "Visit", "asset_type": "block"})
    sender = FormSender(open_screen(SUPERUSER, width, has_javascript))
    sender.open(f"/api/v2/users/{owner}/")
    sender.fill("transfer", to="nobody-of-this-name")
    sender.send("Show what would change")
    sender.fill("transfer", to=heir)
    sender.send("Show what would change")
    sender.send("Transfer now")
    sender.fill("transfer", to=heir)
    sender.send("Show what would change")  # nothing is left
    sender.send("Create a one-time link")
    sender.fill("change", first_name="Leila")
    sender.send("Save")
    sender.send("Disable the account")
    sender.send("Enable the account")
    sender.fill("delete", confirm=owner)
    sender.send("Delete the account")
    sender.open("/api/v2/users/")
    sender.fill("create", username=f"x_{secrets.token_hex(3)}")
    sender.send("Create user")


@PHONE_AND_DESKTOP
def test_forms_of_teams(
    open_screen: OpenScreen, site: DemoSite, width: int, has_javascript: bool
) -> None:
    names = [f"member_{number}_{secrets.token_hex(3)}" for number in range(3)]
    for name in names:
        site.add_user(username=name)
    sender = FormSender(open_screen(USER, width, has_javascript))
    sender.open("/api/v2/teams/")
    sender.fill("create", name=f"Health {secrets.token_hex(3)}")
    sender.send("Create a team")
    sender.fill("add", users="nobody-of-this-name")
    sender.send("Preview")
    for name in names:
        sender.fill("add", users=name)
        sender.send("Preview")
        sender.send("Add to the team")
    sender.fill("change", name=f"Water {secrets.token_hex(3)}")
    sender.send("Save")


@PHONE_AND_DESKTOP
def test_forms_of_forms(
    open_screen: OpenScreen, site: DemoSite, width: int, has_javascript: bool
) -> None:
    content = {
        "survey": [
            {"type": "text", "name": f"q{number}", "label": [f"Question {number}"]}
            for number in range(40)
        ]
    }
    asset = site.send(
        USER, "POST", "/api/v2/assets/", json={"name": "Long form", "content": content}
    )
    page = open_screen(USER, width, has_javascript)
    sender = FormSender(page)
    sender.open(asset["url"])
    sender.send("Publish version 1")
    sender.fill("rename", name="Longer form")
    sender.send("Rename")
    sender.fill("tags", tag_string="x" * 101)
    sender.send("Save")
    sender.fill("tags", tag_string="long")
    sender.send("Save")
    sender.open(f"{asset['url']}permission-assignments/")
    sender.fill("share", user=USERNAMES[COLLEAGUE])
    page.locator("#share-view_asset").click()
    sender.send("Preview")
    sender.send("Share")
    sender.open(asset["url"])
    page.locator("summary", has_text="Delete").click()
    sender.send("Delete…")
    sender.send("Yes, delete")


@PHONE_AND_DESKTOP
def test_forms_of_the_account(
    open_screen: OpenScreen, site: DemoSite, width: int, has_javascript: bool
) -> None:
    sender = FormSender(open_screen(COLLEAGUE, width, has_javascript))
    sender.open("/account/")
    sender.fill("create-token", name="laptop")
    sender.send("Create token")


def test_check_of_a_file_without_javascript(open_screen: OpenScreen) -> None:
    page = open_screen(USER, PHONE, False)
    sender = FormSender(page)
    sender.open("/api/v2/imports/")
    csv: FilePayload = {
        "name": "a.csv",
        "mimeType": "text/csv",
        "buffer": b"type,name,label\ntext,a,A\n",
    }
    page.locator("#form-upload input[type=file]").set_input_files([csv])
    sender.send("Check only")
