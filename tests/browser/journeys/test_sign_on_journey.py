"""Single sign-on in Chromium, with `oidc-provider`, a certified provider, on another site."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from fieldgate.i18n.languages import Language
from fieldgate.web.sign_on_routes import ATTEMPT_COOKIE
from tests.browser.chromium import PageTroubles
from tests.browser.journeys.words import Words
from tests.browser.oidc_provider import OIDCProviderProcess
from tests.data.accounts import PASSWORD
from tests.processes import ServerProcess, free_port, run_command

NGO, OTHER = "ngo", "other"
NAME = "Red Cross account ({})"
NOT_VALID = "The answer of the provider is not valid, or too old. Log in again."
NOT_BEGUN = "This login was not begun in this browser, or is too old. Log in again."
NOBODY = "{provider} did not log you in. Nothing was changed."
UNREACHABLE = "{provider} cannot be reached. Try again in a moment."


class SignOnSite:
    """A service with two providers. The providers can be started again with other options."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.providers = {
            id: OIDCProviderProcess(folder / id, id, self.base_url) for id in (NGO, OTHER)
        }
        file = folder / "sign-on.toml"
        file.write_text("".join(each.settings() for each in self.providers.values()))
        self.environment = {"FIELDGATE_BASE_URL": self.base_url, "FIELDGATE_SIGN_ON": str(file)}
        self.server = ServerProcess(folder / "data", environment=self.environment, port=self.port)


@pytest.fixture(scope="module")
def sign_on_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignOnSite]:
    site = SignOnSite(tmp_path_factory.mktemp("sign-on"))
    with site.providers[NGO], site.providers[OTHER], site.server:
        yield site


@pytest.fixture
def restart(sign_on_site: SignOnSite) -> Iterator[Callable[..., None]]:
    """Starts a provider with other options, and after the test as it was."""
    restarted: set[str] = set()

    def start(id: str = NGO, **options: object) -> None:
        restarted.add(id)
        sign_on_site.providers[id].stop()
        sign_on_site.providers[id].start(**options)  # type: ignore[arg-type]

    yield start
    for id in restarted:
        start(id)


OpenBrowser = Callable[..., Page]


@pytest.fixture
def open_browser(browser: Browser, sign_on_site: SignOnSite) -> Iterator[OpenBrowser]:
    """Opens the page of a browser without cookies. Troubles on pages of the service fail the test."""
    with ExitStack() as stack:
        troubles = PageTroubles(sign_on_site.base_url)

        def open_page(language: Language = Language.ENGLISH) -> Page:
            context = browser.new_context(base_url=sign_on_site.base_url, locale=language.value)
            stack.callback(context.close)
            context.route(
                re.compile("fonts.googleapis.com"), lambda route: route.abort()
            )  # the pages of the provider
            page = context.new_page()
            page.on("console", lambda message: _note(message.text))
            page.on("pageerror", lambda error: troubles.found.append(str(error)))
            return page

        def _note(text: str) -> None:
            if "Content Security Policy" in text and sign_on_site.base_url in text:
                troubles.found.append(text)

        yield open_page
    assert troubles.take() == []


def choose_provider(page: Page, id: str = NGO, path: str = "/api/v2/assets/") -> None:
    page.goto(f"/login/?next={path}")
    page.locator("main").get_by_role("link", name=NAME.format(id)).click()
    expect(page).to_have_url(re.compile(r"^http://localhost:\d+/interaction/"))


def log_in_there(page: Page, name: str) -> None:
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()


def allow(page: Page) -> None:
    page.get_by_role("button", name="Continue").click()


def log_in(page: Page, name: str, id: str = NGO) -> None:
    choose_provider(page, id)
    log_in_there(page, name)
    allow(page)


def expect_user(page: Page, name: str) -> None:
    expect(page.get_by_role("banner").get_by_role("link", name=name)).to_be_visible()


def expect_error(
    page: Page, text: str, language: Language = Language.ENGLISH, id: str = NGO
) -> None:
    """A page of the service that says what is wrong, on which one can log in again."""
    expected = (
        Words(language)(text, provider="@@") if "{provider}" in text else Words(language)(text)
    )
    name = f"\u2068?{re.escape(NAME.format(id))}\u2069?"
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(re.compile(re.escape(expected).replace("@@", name)))
    expect(page.locator("main").get_by_role("link", name=NAME.format(id))).to_be_visible()


def test_log_in_and_out_here_and_there(open_browser: OpenBrowser, sign_on_site: SignOnSite) -> None:
    """The provider is another site: cookies must come back with its redirect, and no policy may block it."""
    page = open_browser()
    log_in(page, "amina")
    expect_user(page, "amina")
    expect(page).to_have_url(f"{sign_on_site.base_url}/api/v2/assets/")
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("link", name="Log out there, too").click()
    page.get_by_role("button", name="Yes, sign me out").click()
    expect(page).to_have_url(re.compile(f"^{sign_on_site.base_url}/login/"))
    choose_provider(page)
    expect(
        page.get_by_placeholder("Enter any login")
    ).to_be_visible()  # nobody is logged in there either


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(Language), ids=lambda each: each.value)
def test_denied_at_the_provider(open_browser: OpenBrowser, language: Language) -> None:
    page = open_browser(language)
    choose_provider(page)
    page.get_by_role("link", name="Cancel").click()
    expect_error(page, NOBODY, language)
    expect(page.locator("html")).to_have_attribute("lang", language.value)
    assert page.locator("input[name=next]").input_value() == "/api/v2/assets/"


@pytest.mark.nightly
def test_code_that_has_expired(open_browser: OpenBrowser, restart: Callable[..., None]) -> None:
    restart(code_delay=120)
    page = open_browser()
    log_in(page, "amina")
    expect_error(page, NOT_VALID)


@pytest.mark.nightly
def test_attempt_that_has_expired(open_browser: OpenBrowser) -> None:
    """The browser forgets the cookie after a while; so it does here."""
    page = open_browser()
    choose_provider(page)
    page.context.clear_cookies(name=ATTEMPT_COOKIE.decode())
    log_in_there(page, "amina")
    allow(page)
    expect_error(page, NOT_BEGUN)


@pytest.mark.nightly
def test_wrong_nonce(open_browser: OpenBrowser, sign_on_site: SignOnSite) -> None:
    page = open_browser()
    choose_provider(page)
    [cookie] = [each for each in page.context.cookies() if each["name"] == ATTEMPT_COOKIE.decode()]
    attempt = json.loads(base64.urlsafe_b64decode(cookie["value"].strip('"')))
    changed = base64.urlsafe_b64encode(json.dumps({**attempt, "nonce": "x" * 43}).encode()).decode()
    page.context.add_cookies(
        [{"name": cookie["name"], "value": changed, "url": sign_on_site.base_url}]
    )
    log_in_there(page, "amina")
    allow(page)
    expect_error(page, NOT_VALID)


@pytest.mark.nightly
def test_providers_that_are_mixed_up(
    open_browser: OpenBrowser, sign_on_site: SignOnSite, restart: Callable[..., None]
) -> None:
    """RFC 9207: an answer that names another provider is refused before the code is sent to anybody."""
    restart(wrong_issuer=sign_on_site.providers[OTHER].issuer)
    page = open_browser()
    log_in(page, "amina")
    expect_error(page, NOT_VALID)


@pytest.mark.nightly
def test_same_name_at_two_providers(open_browser: OpenBrowser) -> None:
    page = open_browser()
    log_in(page, "binta")
    expect_user(page, "binta")
    second = open_browser()
    log_in(second, "binta", OTHER)
    expect(second.get_by_role("alert")).to_contain_text("There already is a user")


@pytest.mark.nightly
def test_new_keys(open_browser: OpenBrowser, restart: Callable[..., None]) -> None:
    for _ in range(2):
        page = open_browser()
        log_in(page, "chen")
        expect_user(page, "chen")
        restart()


@pytest.mark.nightly
@pytest.mark.parametrize("language", list(Language), ids=lambda each: each.value)
def test_provider_that_is_down(
    open_browser: OpenBrowser, sign_on_site: SignOnSite, language: Language
) -> None:
    """Also if it goes down while somebody logs in. A password still works."""
    name = f"omar_{language.value}"
    done = run_command(
        "user", "create", name, "--password-stdin", data=sign_on_site.server.data, stdin=PASSWORD
    )
    assert done.returncode == 0, done.stderr
    provider = sign_on_site.providers[NGO]
    page = open_browser(language)
    choose_provider(page)
    provider.stop()
    try:
        state = _state_of(page)
        page.goto(f"/login/{NGO}/callback/?code=x&state={state}&iss={provider.issuer}")
        expect_error(page, UNREACHABLE, language)
        page.locator("input[name=username]").fill(name)
        page.locator("input[name=password]").fill(PASSWORD)
        page.locator("form.login button").click()
        expect_user(page, name)
    finally:
        provider.start()


@pytest.mark.nightly
@pytest.mark.parametrize(("seconds", "is_accepted"), [(40, True), (-40, True), (300, False)])
def test_clock_difference(
    open_browser: OpenBrowser, restart: Callable[..., None], seconds: int, is_accepted: bool
) -> None:
    restart(clock_difference=seconds)
    page = open_browser()
    log_in(page, "dina")
    if is_accepted:
        expect_user(page, "dina")
    else:
        expect_error(page, NOT_VALID)


@pytest.mark.nightly
def test_two_processes(open_browser: OpenBrowser, sign_on_site: SignOnSite) -> None:
    """Begun at one process, answered by the one at the public address. A cookie is for all ports of a host."""
    second = ServerProcess(
        sign_on_site.server.data, "--no-worker", environment=sign_on_site.environment
    )
    with second:
        page = open_browser()
        page.goto(f"{second.base_url}/login/{NGO}/")
        log_in_there(page, "elif")
        allow(page)
        expect_user(page, "elif")
        assert urlsplit(page.url).port == sign_on_site.port


def _state_of(page: Page) -> str:
    [cookie] = [each for each in page.context.cookies() if each["name"] == ATTEMPT_COOKIE.decode()]
    return str(json.loads(base64.urlsafe_b64decode(cookie["value"].strip('"')))["state"])
