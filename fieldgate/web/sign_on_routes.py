"""Single sign-on in the browser: to the provider, back from it, and logging out there."""

import base64
import hmac
from collections.abc import Hashable
from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.accounts.sign_on.sign_on import Answer, Attempt, SignOn
from fieldgate.accounts.store import AccountStore
from fieldgate.errors import BadRequest, Forbidden, Header, Problem
from fieldgate.http.csrf import CSRF_FAILED
from fieldgate.http.injection import HandlerContext
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import Routes
from fieldgate.http.request.authentication import read_cookie, set_cookie
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Scope
from fieldgate.overload import caller_key
from fieldgate.settings import Settings
from fieldgate.web.account_routes import NO_REFERRER, login_page, start_session
from fieldgate.web.notices import Notice, set_notice
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.redirects import redirect

ATTEMPT_COOKIE = b"fieldgate_sign_on"
ATTEMPT_SECONDS = 15 * 60
MAX_NEXT_BYTES = 1000  # browsers drop cookies beyond 4096 bytes
PROVIDER_COST = 10  # of the rate limit: requests to the provider

routes = Routes(
    tag="Pages",
    scope=Scope.NONE,
    formats=(Format.HTML,),
    in_schema=False,
    is_simple_page=True,
    rate_cost=PROVIDER_COST,
)


class StartQuery(msgspec.Struct, frozen=True):
    next: Annotated[str, Meta(description="Path of this service to go to afterwards.")] = "/"
    link: Annotated[
        str, Meta(description="CSRF token of the caller: link an account instead of logging in.")
    ] = ""


class CallbackQuery(msgspec.Struct, frozen=True):
    code: Annotated[str, Meta(description="What is exchanged for an ID token.")] = ""
    state: Annotated[str, Meta(description="What ties the answer to this browser.")] = ""
    iss: Annotated[str | None, Meta(description="Issuer of the answer.")] = None
    error: Annotated[str, Meta(description="Why the provider refused.")] = ""
    error_description: Annotated[str, Meta(description="The same in words, for the operator.")] = ""


@routes.raw(
    "/login/{provider}/",
    title=Message("Log in"),
    description=Message("Sends the browser to a provider of single sign-on."),
)
async def sign_on_start(
    provider: str,
    query: StartQuery,
    context: HandlerContext,
    language: Language,
    sign_on: SignOn,
    templates: PageTemplates,
) -> Response:
    # A link of another site must not make somebody link an account that is not theirs.
    if query.link and not context.caller.accepts_csrf_token(query.link):
        raise Forbidden(CSRF_FAILED)
    if context.method == "HEAD":  # begins nothing, so that an attempt of this browser stays
        return login_page(templates, context, sign_on, next_path=query.next)
    is_short = query.next.isprintable() and len(query.next.encode()) <= MAX_NEXT_BYTES
    try:
        async with sign_on.place(provider, _caller_key(context)):
            attempt, url = await sign_on.begin(
                provider, query.next if is_short else "/", language.value, query.link
            )
    except Problem as problem:
        return login_page(templates, context, sign_on, problem=problem, next_path=query.next)
    return Response(
        303, [(b"location", url.encode()), NO_STORE, NO_REFERRER, _cookie(attempt, context)]
    )


@routes.raw(
    "/login/{provider}/callback/",
    title=Message("Log in"),
    description=Message("Where a provider of single sign-on sends the browser back to."),
)
async def sign_on_callback(
    provider: str,
    query: CallbackQuery,
    context: HandlerContext,
    sign_on: SignOn,
    store: AccountStore,
    settings: Settings,
    templates: PageTemplates,
) -> Response:
    if context.method == "HEAD":  # nobody logs in, and neither the code nor the attempt is used up
        return login_page(templates, context, sign_on, next_path="/")
    base_url = context.request.base_url
    forget = set_cookie(ATTEMPT_COOKIE, "", base_url, 0, http_only=True)
    attempt = _read_attempt(context)
    try:
        if (
            attempt is None
            or attempt.provider != provider
            or not _is_same(attempt.state, query.state)
        ):
            raise BadRequest(
                Message("This login was not begun in this browser, or is too old. Log in again.")
            )
        answer = Answer(query.code, query.iss, query.error, query.error_description)
        async with sign_on.place(provider, _caller_key(context)):
            user = await sign_on.finish(attempt, answer, context.caller, context.origin)
    except Problem as problem:
        next_path = "/" if attempt is None else attempt.next_path
        # Not without a referrer: browsers would send the form of this page with `Origin: null`, which is refused.
        return login_page(
            templates, context, sign_on, problem=problem, next_path=next_path, headers=[forget]
        )
    if attempt.link:
        message = Message(
            "You can log in with {provider} now.", provider=sign_on.providers[provider].name
        )
        notice = set_notice(
            Notice(translate(message, context.request.language)),
            context.caller.csrf_secret,
            base_url,
        )
        return redirect(base_url, "/account/", forget, notice, NO_REFERRER)
    cookie = await start_session(context, user, store, settings, provider)
    return redirect(base_url, attempt.next_path, cookie, forget, NO_REFERRER)


@routes.raw(
    "/login/{provider}/logout/",
    title=Message("Log out"),
    description=Message("Sends the browser to a provider of single sign-on, to log out there."),
)
async def sign_on_logout(
    provider: str, context: HandlerContext, sign_on: SignOn, templates: PageTemplates
) -> Response:
    try:
        async with sign_on.place(provider, _caller_key(context)):
            url = await sign_on.logout_url(provider)
    except Problem as problem:
        return login_page(templates, context, sign_on, problem=problem, next_path="/")
    return Response(303, [(b"location", url.encode()), NO_STORE])


def _caller_key(context: HandlerContext) -> Hashable:
    return caller_key(context.caller, context.client.address)


def _cookie(attempt: Attempt, context: HandlerContext) -> Header:
    value = base64.urlsafe_b64encode(msgspec.json.encode(attempt)).decode()
    return set_cookie(
        ATTEMPT_COOKIE, value, context.request.base_url, ATTEMPT_SECONDS, http_only=True
    )


def _read_attempt(context: HandlerContext) -> Attempt | None:
    value = read_cookie(context.headers.get(b"cookie", b""), ATTEMPT_COOKIE)
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(value.strip(b'"')), type=Attempt)
    except (ValueError, RecursionError, msgspec.DecodeError):
        return None


def _is_same(expected: str, given: str) -> bool:
    return bool(expected) and hmac.compare_digest(
        expected.encode(), given.encode("utf-8", "surrogatepass")
    )
