"""The boxes of the sharing form in a browser: a box that was ticked because of another one is unticked with it."""

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from fieldgate.permissions import rules
from fieldgate.web.pages.sharing_forms import ticked_permissions, update_choices
from fieldgate.web.pages.sharing_people import PERMISSION_ORDER
from tests.browser.chromium import Visitor
from tests.browser.demo_site import USER, DemoSite

OpenPage = Callable[[Visitor], Page]
CLICKS = 60


def open_form(open_page: OpenPage, site: DemoSite, **visitor: object) -> Page:
    page = open_page(Visitor(USER, **visitor))  # type: ignore[arg-type]
    page.goto(f"{site.paths['form']}permission-assignments/")
    return page


def click(page: Page, permission: str) -> None:
    page.locator(f"#share-{permission}").click()


def ticked(page: Page) -> set[str]:
    return set(
        page.locator("[name=permissions]:checked").evaluate_all(
            "boxes => boxes.map((box) => box.value)"
        )
    )


def test_the_script_agrees_with_the_server(open_page: OpenPage, site: DemoSite) -> None:
    page, rng = open_form(open_page, site), random.Random(0)
    offered = [each for each in PERMISSION_ORDER if each in rules.assignable("survey")]
    choices: list[str] = []
    clicked: list[str] = []
    for _ in range(CLICKS):
        clicked.append(rng.choice(offered))
        after = ticked_permissions(choices, "survey") ^ {clicked[-1]}
        choices = update_choices(choices, [each for each in offered if each in after], "survey")
        click(page, clicked[-1])
        assert ticked(page) == ticked_permissions(choices, "survey"), clicked


@pytest.mark.parametrize("has_javascript", [True, False])
def test_the_same_after_a_preview(
    open_page: OpenPage, site: DemoSite, has_javascript: bool
) -> None:
    page = open_form(open_page, site, has_javascript=has_javascript)
    page.get_by_label("Username").fill("sara")
    click(page, "change_asset")
    click(page, "manage_asset")
    page.get_by_role("button", name="Preview", exact=True).click()
    page.wait_for_selector("#preview")
    assert "delete_submissions" in ticked(page)
    click(page, "manage_asset")
    page.get_by_role("button", name="Preview again").click()
    page.locator("#preview").get_by_text("Afterwards: Can edit the form").wait_for()
    assert ticked(page) == {"view_asset", "change_asset"}
