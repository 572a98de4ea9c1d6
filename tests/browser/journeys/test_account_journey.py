"""What-if, tokens, languages, and logging out."""

import re

import httpx
import pytest
from playwright.sync_api import expect

from fieldgate.i18n.languages import Language
from tests.browser.demo_site import COLLEAGUE, USERNAMES, DemoSite
from tests.browser.journeys.actors import Actor
from tests.browser.journeys.conftest import StartActor
from tests.processes import TIMEOUT_SECONDS

WAYS = [
    (Language.ENGLISH, "mouse"),
    pytest.param(Language.ARABIC, "mouse", marks=pytest.mark.nightly),
    pytest.param(Language.FRENCH, "mouse", marks=pytest.mark.nightly),
    pytest.param(Language.SPANISH, "mouse", marks=pytest.mark.nightly),
    pytest.param(Language.ARABIC, "no-script", marks=pytest.mark.nightly),
    (Language.ENGLISH, "keyboard"),
]
BY_LANGUAGE = pytest.mark.parametrize(
    ("language", "way"), WAYS, ids=lambda value: getattr(value, "value", value)
)


@BY_LANGUAGE
def test_what_if(start_actor: StartActor, language: Language, way: str) -> None:
    actor = start_actor(language, way)
    words = actor.words
    actor.follow("Permissions")
    actor.select("View submissions", words("give it"))
    actor.press("Show what happens", actor.main)
    result = actor.main.get_by_role("row").filter(has_text=words("View form")).last
    expect(result).to_contain_text(words("has it"))


@BY_LANGUAGE
def test_token_and_logout(
    start_actor: StartActor, site: DemoSite, language: Language, way: str
) -> None:
    actor = start_actor(language, way)
    words, name = actor.words, f"Power BI {language.value} {way}"
    actor.log_in(USERNAMES[COLLEAGUE])
    actor.follow_named(USERNAMES[COLLEAGUE], actor.page.get_by_role("banner"))
    actor.sees_heading("Account")
    actor.fill("What is it for?", name)
    actor.press("Create token", actor.main)
    token = actor.main.locator(".secret pre").inner_text().strip()
    assert _status(site, token) == 200
    row = actor.page.get_by_role("row").filter(has_text=name)
    actor.activate(row.locator("summary"))
    actor.press("Revoke this token", row)
    expect(actor.page.get_by_role("row").filter(has_text=name)).to_have_count(0)
    assert _status(site, token) == 401
    actor.press("Log out", actor.page.get_by_role("banner"))
    expect(actor.page.get_by_role("link", name=words("Log in")).first).to_be_visible()


def _status(site: DemoSite, token: str) -> int:
    headers = {"Authorization": f"Token {token}"}
    return httpx.get(
        f"{site.base_url}/api/v2/assets/", headers=headers, timeout=TIMEOUT_SECONDS
    ).status_code


@pytest.mark.parametrize("way", ["mouse", "no-script", "keyboard"])
def test_switch_language_midway(start_actor: StartActor, way: str) -> None:
    """The page stays the same, with its filter, and everything on it is in the other language."""
    actor = start_actor(Language.ENGLISH, way)
    actor.page.goto("/api/v2/event/?regions__in=0")
    for language, before in (
        (Language.ARABIC, Language.ENGLISH),
        (Language.FRENCH, Language.ARABIC),
    ):
        _switch(actor, before, language)
        expect(actor.page.locator("html")).to_have_attribute("lang", language.value)
        expect(actor.page).to_have_url(re.compile(r"/api/v2/event/\?regions__in=0$"))
        actor.words.language = language
        actor.sees_heading("Emergencies")


def _switch(actor: Actor, before: Language, after: Language) -> None:
    banner = actor.page.get_by_role("banner")
    actor.activate(banner.locator("summary").filter(has_text=before.native_name))
    actor.follow_named(after.native_name, banner)
