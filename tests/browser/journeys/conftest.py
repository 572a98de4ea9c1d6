"""Actors for journeys."""

import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from fieldgate.i18n.languages import Language
from tests.browser.chromium import DESKTOP, Visitor
from tests.browser.demo_site import ANONYMOUS, DemoSite
from tests.browser.journeys.actors import Actor, KeyboardActor
from tests.browser.journeys.words import Words

StartActor = Callable[..., Actor]


@pytest.fixture
def start_actor(open_page: Callable[[Visitor], Page]) -> StartActor:
    """Starts somebody at the home page, in a language, with a kind of browser."""

    def start(
        language: Language = Language.ENGLISH,
        way: str = "mouse",
        role: str = ANONYMOUS,
        width: int = DESKTOP,
    ) -> Actor:
        """`way`: mouse, keyboard, or no-script (a mouse without JavaScript)."""
        page = open_page(Visitor(role, language, width=width, has_javascript=way != "no-script"))
        page.goto("/")
        return (KeyboardActor if way == "keyboard" else Actor)(page, Words(language))

    return start


@pytest.fixture
def people(site: DemoSite) -> tuple[str, str]:
    """A coordinator and a colleague of hers, for one journey."""
    suffix = secrets.token_hex(3)
    names = f"leila_{suffix}", f"bashir_{suffix}"
    for name in names:
        site.create_user(name)
    return names
