"""Start page, log-in and log-out, the language switch, and the documentation of the interface."""

import hmac
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta

from fieldgate.accounts.authentication import Accounts
from fieldgate.accounts.schemas import Login
from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.db import now
from fieldgate.errors import Forbidden, Header, NotFound, Problem
from fieldgate.http.injection import Client, Exchange
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.openapi.document import Description
from fieldgate.http.operations import ready
from fieldgate.http.request.authentication import FORGED, SESSION_COOKIE
from fieldgate.http.request.cookies import set_cookie
from fieldgate.http.request.hosts import Origin
from fieldgate.http.request.request_parsing import LANGUAGE_COOKIE, Asked
from fieldgate.http.response.responses import NEVER_STORE, REVALIDATE, REVALIDATE_PRIVATELY, Answer, content_language
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Caller, Means
from fieldgate.settings import DAY, Settings
from fieldgate.web.page_templates import Pages
from fieldgate.web.static_files import Assets

TAG = "Pages"
HTML: Header = (b"content-type", Format.PAGE.content_type)
ENGLISH: Header = content_language(Language.ENGLISH)  # what the description of the interface is written in
DOCUMENTATION_POLICY: Header = (
    b"content-security-policy",
    # Swagger UI writes style attributes; scripts, data and pictures still come from here alone.
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
)


class Onward(msgspec.Struct, frozen=True):
    next: Annotated[str, Meta(description="Where to go afterwards: a path of this service.")] = "/"


class LoginForm(Login, frozen=True):
    next: str = "/"


class LogoutForm(msgspec.Struct, frozen=True):
    csrf_token: str
    next: str = "/"


@ready(
    "/",
    title=Message("Start page"),
    about=Message("What this service offers."),
    tag=TAG,
    formats=(Format.PAGE,),
    described=False,
)
async def start(asked: Asked, caller: Caller, pages: Pages) -> Answer:
    return Answer(200, [HTML, REVALIDATE_PRIVATELY], pages.draw("start.html", asked, caller))


@ready(
    "/login/",
    title=Message("Log in"),
    about=Message("The form to log in with."),
    tag=TAG,
    formats=(Format.PAGE,),
    described=False,
)
async def login_form(asked: Asked, caller: Caller, filters: Onward, pages: Pages) -> Answer:
    return _login_page(pages, asked, caller, filters.next, "", 200)


@ready(
    "/login/",
    method="POST",
    title=Message("Log in"),
    about=Message("Begins a session in this browser."),
    tag=TAG,
    formats=(Format.PAGE,),
    described=False,
    checks_forgery=False,
)
async def login(
    body: LoginForm,
    exchange: Exchange,
    client: Client,
    accounts: Accounts,
    store: AccountStore,
    settings: Settings,
    pages: Pages,
) -> Answer:
    asked = exchange.asked
    if not comes_from_us(exchange.headers, asked.origin):
        raise Forbidden(FORGED)
    try:
        account = await accounts.account(body.username, body.password, client.address)
    except Problem as problem:
        message = translate(problem.message, asked.language)
        page = _login_page(pages, asked, exchange.caller, body.next, message, problem.status)
        page.headers += [header for header in problem.headers if header[0] == b"retry-after"]
        return page
    lifetime = timedelta(seconds=settings.session_lifetime)
    token = await store.issue_token(account.id, IssuedBy.SESSION, now() + lifetime)
    cookie = set_cookie(SESSION_COOKIE, token, asked.origin, settings.session_lifetime, is_secret=True)
    return _redirect(asked.origin, body.next, cookie)


@ready(
    "/logout/",
    method="POST",
    title=Message("Log out"),
    about=Message("Ends the session of this browser."),
    tag=TAG,
    formats=(Format.PAGE,),
    described=False,
    checks_forgery=False,
)
async def logout(body: LogoutForm, asked: Asked, caller: Caller, store: AccountStore) -> Answer:
    if caller.means is Means.SESSION:
        if not hmac.compare_digest(body.csrf_token.encode(), caller.csrf_token.encode()):
            raise Forbidden(FORGED)
        await store.revoke_secret(caller.secret)
    return _redirect(asked.origin, body.next, set_cookie(SESSION_COOKIE, "", asked.origin, 0, is_secret=True))


@ready(
    "/language/{code}/",
    title=Message("Language"),
    about=Message("Chooses the language of pages in this browser."),
    tag=TAG,
    formats=(Format.PAGE,),
    described=False,
)
async def language_switch(code: str, asked: Asked, filters: Onward) -> Answer:
    if code not in {language.value for language in Language}:
        raise NotFound
    cookie = set_cookie(LANGUAGE_COOKIE, code, asked.origin, 365 * DAY, is_secret=False)
    return _redirect(asked.origin, filters.next, cookie)


@ready(
    "/api-docs/openapi.json",
    title=Message("OpenAPI description"),
    about=Message("The description of this interface for machines (OpenAPI 3.1), as JSON."),
    tag="Service",
    formats=(Format.JSON,),
    changes_with=(),
    example={"openapi": "3.1.0"},
    of=dict[str, Any],
)
async def openapi_json(asked: Asked, description: Description) -> Answer:
    body = description.as_json(asked.origin.base)
    return Answer(200, [(b"content-type", b"application/json"), ENGLISH, REVALIDATE], body)


@ready(
    "/api-docs/openapi.yaml",
    title=Message("OpenAPI description"),
    about=Message("The description of this interface for machines (OpenAPI 3.1), as YAML."),
    tag="Service",
    formats=(Format.JSON,),
    media_type="application/yaml",
    schema={"type": "object"},
    changes_with=(),
)
async def openapi_yaml(asked: Asked, description: Description) -> Answer:
    body = description.as_yaml(asked.origin.base)
    return Answer(200, [(b"content-type", b"application/yaml"), ENGLISH, REVALIDATE], body)


@ready(
    "/api-docs/swagger-ui/",
    title=Message("Documentation of the interface"),
    about=Message("The description of this interface for people, to read and to try (Swagger UI)."),
    tag="Service",
    formats=(Format.PAGE,),
)
async def swagger_ui(asked: Asked, caller: Caller, pages: Pages) -> Answer:
    page = pages.draw("swagger.html", asked, caller)
    return Answer(200, [HTML, DOCUMENTATION_POLICY, REVALIDATE_PRIVATELY], page)


@ready(
    "/favicon.ico",
    title=Message("Icon"),
    about=Message("The icon browsers show beside the address."),
    tag=TAG,
    formats=(Format.JSON,),
    described=False,
)
async def favicon(asked: Asked, assets: Assets) -> Answer:
    return _redirect(asked.origin, assets.path("icon.svg"))


def comes_from_us(headers: Mapping[bytes, bytes], origin: Origin) -> bool:
    """Whether a form was sent from a page of ours, by what the browser says of where it came from."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    host, ours = headers.get(b"host", b"").decode("latin-1"), urlsplit(origin.base)
    known = {"", f"http://{host}", f"https://{host}", f"{ours.scheme}://{ours.netloc}"}
    return headers.get(b"origin", b"").decode("latin-1") in known


def _login_page(pages: Pages, asked: Asked, caller: Caller, onward: str, error: str, status: int) -> Answer:
    page = pages.draw("login.html", asked, caller, onward=onward, error=error)
    return Answer(status, [HTML, NEVER_STORE], page)


def _redirect(origin: Origin, path: str, *headers: Header) -> Answer:
    """On to a path of this service, and never to anywhere else."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    target = urlsplit(origin.base).path + quote(path if is_ours else "/", safe="/?&=%:@!$'()*+,;~-._")
    return Answer(303, [(b"location", target.encode()), NEVER_STORE, *headers])


OPERATIONS = (
    start,
    login_form,
    login,
    logout,
    language_switch,
    openapi_json,
    openapi_yaml,
    swagger_ui,
    favicon,
)
