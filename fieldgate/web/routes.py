"""Start page, login and logout, language switch, and API documentation."""

import hmac
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.schemas import Login
from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.db import now
from fieldgate.errors import Forbidden, Header, NotFound, Problem
from fieldgate.http.injection import ClientAddress, HandlerContext
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.openapi.document import OpenAPIDocument
from fieldgate.http.operations import raw
from fieldgate.http.request.authentication import CSRF_FAILED, SESSION_COOKIE
from fieldgate.http.request.cookies import set_cookie
from fieldgate.http.request.request_parsing import LANGUAGE_COOKIE, ParsedRequest
from fieldgate.http.response.response_builder import RenderedPage
from fieldgate.http.response.responses import NO_CACHE, NO_STORE, PRIVATE_NO_CACHE, Response, content_language
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import AuthMethod, Caller
from fieldgate.settings import DAY, Settings
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.redirects import is_same_origin, redirect
from fieldgate.web.static_files import StaticFiles

TAG = "Pages"
HTML_CONTENT_TYPE: Header = (b"content-type", Format.HTML.content_type)
ENGLISH_CONTENT: Header = content_language(Language.ENGLISH)  # the OpenAPI description is in English only
DOCS_CSP: Header = (
    b"content-security-policy",
    # Swagger UI needs style attributes; everything else still has to come from this service.
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
)


class RedirectQuery(msgspec.Struct, frozen=True):
    next: Annotated[str, Meta(description="Path of this service to go to afterwards.")] = "/"


class LoginForm(Login, frozen=True):
    next: str = "/"


class LogoutForm(msgspec.Struct, frozen=True):
    csrf_token: str
    next: str = "/"


@raw(
    "/",
    title=Message("Start page"),
    description=Message("What this service offers."),
    tag=TAG,
    formats=(Format.HTML,),
    in_schema=False,
)
async def start(context: HandlerContext, templates: PageTemplates) -> Response:
    return html_response(templates.render_page("start.html", context))


@raw(
    "/login/",
    title=Message("Log in"),
    description=Message("The login form."),
    tag=TAG,
    formats=(Format.HTML,),
    in_schema=False,
)
async def login_form(context: HandlerContext, query: RedirectQuery, templates: PageTemplates) -> Response:
    return _login_page(templates, context, query.next, "", 200)


@raw(
    "/login/",
    method="POST",
    title=Message("Log in"),
    description=Message("Starts a session in this browser."),
    tag=TAG,
    formats=(Format.HTML,),
    in_schema=False,
    csrf_protected=False,
)
async def login(
    body: LoginForm,
    context: HandlerContext,
    client: ClientAddress,
    authenticator: AccountAuthenticator,
    store: AccountStore,
    settings: Settings,
    templates: PageTemplates,
) -> Response:
    request = context.request
    if not is_same_origin(context.headers, request.base_url):
        raise Forbidden(CSRF_FAILED)
    try:
        account = await authenticator.verify_password(body.username, body.password, client.address)
    except Problem as problem:
        message = translate(problem.message, request.language)
        page = _login_page(templates, context, body.next, message, problem.status)
        page.headers += [header for header in problem.headers if header[0] == b"retry-after"]
        return page
    lifetime = timedelta(seconds=settings.session_lifetime)
    token = await store.issue_token(account.id, IssuedBy.SESSION, now() + lifetime)
    cookie = set_cookie(SESSION_COOKIE, token, request.base_url, settings.session_lifetime, http_only=True)
    return redirect(request.base_url, body.next, cookie)


@raw(
    "/logout/",
    method="POST",
    title=Message("Log out"),
    description=Message("Ends the session of this browser."),
    tag=TAG,
    formats=(Format.HTML,),
    in_schema=False,
    csrf_protected=False,
)
async def logout(body: LogoutForm, request: ParsedRequest, caller: Caller, store: AccountStore) -> Response:
    if caller.auth_method is AuthMethod.SESSION:
        if not hmac.compare_digest(body.csrf_token.encode(), caller.csrf_token.encode()):
            raise Forbidden(CSRF_FAILED)
        await store.revoke_by_value(caller.secret)
    return redirect(request.base_url, body.next, set_cookie(SESSION_COOKIE, "", request.base_url, 0, http_only=True))


@raw(
    "/language/{code}/",
    title=Message("Language"),
    description=Message("Chooses the language of pages in this browser."),
    tag=TAG,
    formats=(Format.HTML,),
    in_schema=False,
)
async def language_switch(code: str, request: ParsedRequest, query: RedirectQuery) -> Response:
    if code not in LANGUAGES_BY_CODE:
        raise NotFound
    cookie = set_cookie(LANGUAGE_COOKIE, code, request.base_url, 365 * DAY, http_only=False)
    return redirect(request.base_url, query.next, cookie)


@raw(
    "/api-docs/openapi.json",
    title=Message("OpenAPI description"),
    description=Message("The OpenAPI 3.1 description of the API, as JSON."),
    tag="Service",
    formats=(Format.JSON,),
    depends_on=(),
    example={"openapi": "3.1.0"},
    response=dict[str, Any],
)
async def openapi_json(request: ParsedRequest, document: OpenAPIDocument) -> Response:
    body = document.as_json(request.base_url.url)
    return Response(200, [(b"content-type", b"application/json"), ENGLISH_CONTENT, NO_CACHE], body)


@raw(
    "/api-docs/openapi.yaml",
    title=Message("OpenAPI description"),
    description=Message("The OpenAPI 3.1 description of the API, as YAML."),
    tag="Service",
    formats=(Format.JSON,),
    media_type="application/yaml",
    schema={"type": "object"},
    depends_on=(),
)
async def openapi_yaml(request: ParsedRequest, document: OpenAPIDocument) -> Response:
    body = document.as_yaml(request.base_url.url)
    return Response(200, [(b"content-type", b"application/yaml"), ENGLISH_CONTENT, NO_CACHE], body)


@raw(
    "/api-docs/swagger-ui/",
    title=Message("API documentation"),
    description=Message("Interactive API documentation (Swagger UI)."),
    tag="Service",
    formats=(Format.HTML,),
)
async def swagger_ui(context: HandlerContext, templates: PageTemplates) -> Response:
    page = templates.render_page("swagger.html", context)
    return html_response(page, DOCS_CSP)


@raw(
    "/favicon.ico",
    title=Message("Icon"),
    description=Message("The icon of the site."),
    tag=TAG,
    formats=(Format.JSON,),
    in_schema=False,
)
async def favicon(request: ParsedRequest, static_files: StaticFiles) -> Response:
    return redirect(request.base_url, static_files.url_path("icon.svg"))


def html_response(page: RenderedPage, *headers: Header, status: int = 200) -> Response:
    """The response with a page that a handler rendered. A page that is shown once is not stored."""
    is_stored = status == HTTPStatus.OK and not page.headers
    caching = PRIVATE_NO_CACHE if is_stored else NO_STORE
    return Response(status, [HTML_CONTENT_TYPE, caching, *headers, *page.headers], page.body)


def _login_page(templates: PageTemplates, context: HandlerContext, next_path: str, error: str, status: int) -> Response:
    page = templates.render_page("login.html", context, next_path=next_path, error=error)
    return Response(status, [HTML_CONTENT_TYPE, NO_STORE, *page.headers], page.body)


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
