"""Login and logout, the account page, the page behind a one-time link, and the language switch."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fieldgate.accounts.account_rules import password_error
from fieldgate.accounts.authentication import AccountAuthenticator, authenticated_user
from fieldgate.accounts.invitations import INVITATION_PATH, InvitationStore
from fieldgate.accounts.log_routes import OWN_ACCESS_PATH
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.schemas import ACCOUNT_PATH, IDENTITIES_PATH, SESSIONS_PATH, TOKENS_PATH
from fieldgate.accounts.service_account_routes import SERVICE_ACCOUNTS_PATH
from fieldgate.accounts.sign_on.sign_on import SignOn
from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.db import now
from fieldgate.errors import Forbidden, Header, NotFound, Problem
from fieldgate.http.csrf import CSRF_FAILED
from fieldgate.http.injection import HandlerContext
from fieldgate.http.internal_api import InternalClient
from fieldgate.http.links import encode_query
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import Routes
from fieldgate.http.request.authentication import SESSION_COOKIE, read_cookie, set_cookie
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import LANGUAGES_BY_CODE
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import AuthMethod, Caller, Scope, User
from fieldgate.providers import Provider
from fieldgate.settings import Settings
from fieldgate.web.notices import PASSWORD_IS_SET, Notice, set_notice
from fieldgate.web.page_templates import PageTemplates
from fieldgate.web.page_views import FormState
from fieldgate.web.redirects import is_same_origin, language_cookie, redirect, switch_language

HTML_CONTENT_TYPE: Header = (b"content-type", Format.HTML.content_type)
NO_REFERRER: Header = (b"referrer-policy", b"no-referrer")
MAX_LISTED = 100  # tokens and sessions on the account page
MAX_LISTED_LOGINS = 5

REQUIRED = Message("This field is required.")
PASSWORDS_DIFFER = Message("The two passwords are not the same.")
routes = Routes(tag="Pages", scope=Scope.NONE, formats=(Format.HTML,), in_schema=False)


class RedirectQuery(msgspec.Struct, frozen=True):
    next: Annotated[str, Meta(description="Path of this service to go to afterwards.")] = "/"


class LoginQuery(RedirectQuery, frozen=True):
    username: Annotated[str, Meta(description="Username to fill in.")] = ""
    logged_out: Annotated[
        str, Meta(description="Provider at which the user may still be logged in.")
    ] = ""


class LoginForm(msgspec.Struct, frozen=True):
    username: str = ""
    password: str = ""
    next: str = "/"
    switch_language: str = ""


class LogoutForm(msgspec.Struct, frozen=True):
    csrf_token: str
    next: str = "/"


class NewPasswordForm(msgspec.Struct, frozen=True):
    password: str = ""
    repeated: str = ""


@routes.raw(
    "/login/",
    title=Message("Log in"),
    description=Message("The login form."),
    is_simple_page=True,
)
async def login_form(
    context: HandlerContext, query: LoginQuery, templates: PageTemplates, sign_on: SignOn
) -> Response:
    left = sign_on.providers.get(query.logged_out)
    return login_page(
        templates, context, sign_on, next_path=query.next, username=query.username, left=left
    )


@routes.raw(
    "/login/",
    method="POST",
    title=Message("Log in"),
    description=Message("Starts a session in this browser."),
    csrf_protected=False,
)
async def login(
    body: LoginForm,
    context: HandlerContext,
    authenticator: AccountAuthenticator,
    store: AccountStore,
    settings: Settings,
    templates: PageTemplates,
    sign_on: SignOn,
) -> Response:
    request = context.request
    if not is_same_origin(context.headers, request.base_url):
        raise Forbidden(CSRF_FAILED)
    show_form = partial(
        login_page, templates, context, sign_on, next_path=body.next, username=body.username
    )
    if headers := switch_language(context, body.switch_language):
        return show_form(headers=headers)
    missing = {
        name: [REQUIRED] for name in ("username", "password") if not getattr(body, name).strip()
    }
    if missing:
        _set_errors(context, "login", missing, body.username)
        return show_form()
    try:
        account = await authenticator.log_in(body.username.strip(), body.password, context.origin)
    except Problem as problem:
        _set_errors(
            context, "login", {"password": [problem.message]}, body.username, problem.status
        )
        return show_form(
            headers=[header for header in problem.headers if header[0] == b"retry-after"]
        )
    cookie = await start_session(
        context, authenticated_user(account, context.origin), store, settings
    )
    return redirect(request.base_url, body.next, cookie)


async def start_session(
    context: HandlerContext, user: User, store: AccountStore, settings: Settings, provider: str = ""
) -> Header:
    """Log a user in, and return the cookie. The session has the id of the provider as its name, if there is one."""
    lifetime = timedelta(seconds=settings.session_lifetime)
    token = await store.issue_token(user.id, IssuedBy.SESSION, now() + lifetime, provider)
    # A session that this browser had before ends: somebody else may know it.
    if former := read_cookie(context.headers.get(b"cookie", b""), SESSION_COOKIE).decode("latin-1"):
        await store.revoke_by_value(former, by=user)
    return set_cookie(
        SESSION_COOKIE, token, context.request.base_url, settings.session_lifetime, http_only=True
    )


@routes.raw(
    "/logout/",
    method="POST",
    title=Message("Log out"),
    description=Message("Ends the session of this browser."),
    csrf_protected=False,
)
async def logout(
    body: LogoutForm,
    context: HandlerContext,
    request: ParsedRequest,
    caller: Caller,
    store: AccountStore,
) -> Response:
    next_path = body.next
    if caller.auth_method is AuthMethod.SESSION:
        is_right = caller.accepts_csrf_token(body.csrf_token)
        if not is_right or not is_same_origin(context.headers, request.base_url):
            raise Forbidden(CSRF_FAILED)
        if provider := await store.revoke_by_value(caller.secret, by=caller):
            # A link to log out there, too. A form must not lead to another site (Content-Security-Policy).
            next_path = "/login/?" + encode_query([("logged_out", provider)])
    return redirect(
        request.base_url,
        next_path,
        set_cookie(SESSION_COOKIE, "", request.base_url, 0, http_only=True),
    )


@routes.raw(
    "/account/",
    scope=Scope.ACCOUNT,
    title=Message("Account"),
    description=Message("Tokens, password, sessions and language of the user."),
)
async def account_page(
    context: HandlerContext,
    user: User,  # who is not logged in gets the login page
    client: InternalClient,
    templates: PageTemplates,
    sign_on: SignOn,
) -> Response:
    api = client.for_context(context)
    values = {
        "account": await api.get(ACCOUNT_PATH),
        "tokens": await api.get(TOKENS_PATH, {"limit": MAX_LISTED}),
        "sessions": await api.get(SESSIONS_PATH, {"limit": MAX_LISTED}),
        "service_accounts": await api.get(SERVICE_ACCOUNTS_PATH, {"limit": MAX_LISTED}),
        "logins": await api.get(OWN_ACCESS_PATH, {"limit": MAX_LISTED_LOGINS}),
        "identities": await api.get(IDENTITIES_PATH, {"limit": MAX_LISTED}),
        "providers": list(sign_on.providers.values()),
        "has_passwords": sign_on.password_login.allows(is_superuser=user.is_superuser),
    }
    return _page(templates, "accounts/account.html", context, **values)


@routes.raw(
    INVITATION_PATH + "{secret}/",
    title=Message("Set your password"),
    description=Message("The page behind a one-time link."),
    is_simple_page=True,
)
async def invitation_form(
    secret: str, context: HandlerContext, invitations: InvitationStore, templates: PageTemplates
) -> Response:
    row = await invitations.find_user(secret)
    if row is None:
        return _invalid_link(templates, context)
    return _page(
        templates, "accounts/invitation.html", context, headers=[NO_REFERRER], username=row.username
    )


@routes.raw(
    INVITATION_PATH + "{secret}/",
    method="POST",
    title=Message("Set your password"),
    description=Message("Sets a password with a one-time link."),
    csrf_protected=False,
)
async def invitation_use(
    secret: str,
    body: NewPasswordForm,
    context: HandlerContext,
    invitations: InvitationStore,
    passwords: Passwords,
    templates: PageTemplates,
) -> Response:
    request = context.request
    # From a page without a referrer, browsers send `Origin: null`. Who can forge this request knows the link anyway.
    headers = {
        name: value
        for name, value in context.headers.items()
        if (name, value) != (b"origin", b"null")
    }
    if not is_same_origin(headers, request.base_url):
        raise Forbidden(CSRF_FAILED)
    row = await invitations.find_user(secret)
    if row is None:
        return _invalid_link(templates, context)
    errors: dict[str, list[Message]] = {}
    if error := password_error(body.password, row.username):
        errors["password"] = [error]
    elif body.password != body.repeated:
        errors["repeated"] = [PASSWORDS_DIFFER]
    if errors:
        _set_errors(context, "invitation", errors, row.username)
        return _page(
            templates,
            "accounts/invitation.html",
            context,
            headers=[NO_REFERRER],
            username=row.username,
        )
    username = await invitations.redeem(
        secret, await passwords.hash_in_thread(body.password), context.origin
    )
    if username is None:  # used by another request in the meantime
        return _invalid_link(templates, context)
    text = translate(PASSWORD_IS_SET, request.language)
    target = "/login/?" + encode_query([("username", username)])
    # A session of somebody else in this browser must not stay.
    ended = set_cookie(SESSION_COOKIE, "", request.base_url, 0, http_only=True)
    notice = set_notice(Notice(text), b"", request.base_url)
    return redirect(request.base_url, target, notice, ended, NO_REFERRER)


@routes.raw(
    "/language/{code}/",
    title=Message("Language"),
    description=Message("Chooses the language of pages in this browser."),
    is_simple_page=True,
)
async def language_switch(code: str, request: ParsedRequest, query: RedirectQuery) -> Response:
    if code not in LANGUAGES_BY_CODE:
        raise NotFound
    cookie = language_cookie(LANGUAGES_BY_CODE[code], request.base_url)
    return redirect(request.base_url, query.next, cookie)


def login_page(
    templates: PageTemplates,
    context: HandlerContext,
    sign_on: SignOn,
    *,
    next_path: str,
    username: str = "",
    left: Provider | None = None,
    problem: Problem | None = None,
    headers: Sequence[Header] = (),
) -> Response:
    """The login page. `left`: the provider where somebody who logged out may still be logged in."""
    if problem is not None:
        # For the links of the page: the path of a callback is for one use.
        context.request = msgspec.structs.replace(
            context.request, path="/login/", query_params={"next": next_path}
        )
        _set_errors(context, "login", {"": [problem.message]}, "", problem.status)
    return _page(
        templates,
        "login.html",
        context,
        headers=headers,
        next_path=next_path,
        username=username,
        left=left,
        providers=sign_on.providers.values(),
        password_login=sign_on.password_login.value,
    )


def _page(
    templates: PageTemplates,
    template: str,
    context: HandlerContext,
    *,
    status: int = HTTPStatus.OK,
    headers: Sequence[Header] = (),
    **values: Any,
) -> Response:
    """A page that must not be stored: it has secrets, or forms that set them. A form with errors has a status."""
    page = templates.render_page(template, context, **values)
    if context.form is not None:
        status = context.form.status
    return Response(status, [HTML_CONTENT_TYPE, NO_STORE, *page.headers, *headers], page.body)


def _set_errors(
    context: HandlerContext,
    form: str,
    errors: Mapping[str, Sequence[Message]],
    username: str,
    status: int = HTTPStatus.BAD_REQUEST,
) -> None:
    """Make the page show a form again, with its errors by field."""
    language = context.request.language
    texts = {
        field: [translate(message, language) for message in messages]
        for field, messages in errors.items()
    }
    context.form = FormState(form, {"username": [username]}, texts, {}, status)


def _invalid_link(templates: PageTemplates, context: HandlerContext) -> Response:
    """The same page for links that are used, expired, replaced or never existed."""
    return _page(
        templates,
        "accounts/invalid_link.html",
        context,
        status=HTTPStatus.NOT_FOUND,
        headers=[NO_REFERRER],
    )
