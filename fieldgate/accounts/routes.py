"""The caller's own account: ways to get a token, tokens, browser sessions and password.

`/token/` and `/get_auth_token` are as the live systems have them, `/api/v2/account/` has the rest.
"""

from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from sqlalchemy import Row

from fieldgate.accounts.account_rules import (
    parse_limits,
    password_error,
    reject_token,
    token_name_error,
)
from fieldgate.accounts.authentication import AccountAuthenticator, authenticated_user
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.schemas import (
    ACCOUNT_PATH,
    IDENTITIES_PATH,
    SESSIONS_PATH,
    TOKENS_PATH,
    AccountRecord,
    AccountTokenRecord,
    IdentityRecord,
    Login,
    LoginRecord,
    NewAccountToken,
    NewTokenBody,
    PasswordBody,
    PasswordChanged,
    SessionRecord,
    TokenRecord,
    user_path,
)
from fieldgate.accounts.sign_on.identities import IdentityStore
from fieldgate.accounts.store import AccountStore, IssuedBy, hash_token, new_token
from fieldgate.db import now
from fieldgate.errors import BadRequest, Forbidden, NotFound, Unauthorized, ValidationError
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import Created, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, Scope, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.settings import Settings

CREDENTIALS_TAG = "Credentials"
TAG = "Account"
TOKEN_PATH = "/token/"  # noqa: S105
MAX_ID_DIGITS = 9

_NEEDS_PASSWORD = Message("Ask for a token with your username and password (Basic credentials).")
credentials = Routes(tag=CREDENTIALS_TAG, scope=Scope.ALL, formats=(Format.JSON,), no_store=True)
routes = Routes(tag=TAG, scope=Scope.ACCOUNT, no_store=True)


@credentials.get(
    TOKEN_PATH,
    response=TokenRecord,
    title=Message("Get a token"),
    description=Message(
        "Returns a new token for the caller, who sends username and password as Basic credentials. "
        "Earlier tokens stay valid; beyond 50 the least recently used is revoked."
    ),
    error_statuses=(403,),
    writes=True,
    rate_cost=4,  # users may read four times as often as they may write
)
async def token_reading(
    context: HandlerContext, user: User, store: AccountStore, settings: Settings
) -> TokenRecord:
    # Another site's page can make a browser GET this with the user's cookie; that must not create tokens.
    if user.auth_method is not AuthMethod.PASSWORD:
        raise Forbidden(_NEEDS_PASSWORD)
    if context.method == "HEAD":  # a response like that of GET, but no token is stored
        return TokenRecord(new_token())
    return TokenRecord(await store.issue_token(user.id, IssuedBy.HTTP, _expiry(settings), by=user))


@credentials.post(
    TOKEN_PATH,
    response=TokenRecord,
    title=Message("Create a token"),
    description=Message(
        "Returns a new token for the caller, as with GET. "
        "Pages of this service can use their session instead of a password."
    ),
)
async def token_creation(user: User, store: AccountStore, settings: Settings) -> Created:
    # A token cannot be used to get another one: a leaked or expiring token could be renewed without end.
    if user.auth_method is AuthMethod.TOKEN:
        raise Forbidden(_NEEDS_PASSWORD)
    return Created(
        TokenRecord(await store.issue_token(user.id, IssuedBy.HTTP, _expiry(settings), by=user))
    )


@credentials.delete(
    TOKEN_PATH,
    title=Message("Revoke tokens"),
    description=Message(
        "Revokes all tokens that the caller obtained over HTTP, including the one in use."
    ),
)
async def token_deletion(user: User, store: AccountStore) -> None:
    if not await store.revoke_http_tokens(user.id, by=user):
        raise NotFound(Message("There is no token to revoke."))


@credentials.post(
    "/get_auth_token",
    response=LoginRecord,
    status=200,
    title=Message("Log in"),
    scope=Scope.NONE,
    description=Message(
        "Returns a new token for a username and password, sent as JSON or as a form."
    ),
    csrf_protected=False,
)
async def get_auth_token(
    body: Login,
    context: HandlerContext,
    accounts: AccountAuthenticator,
    store: AccountStore,
    settings: Settings,
) -> LoginRecord:
    try:
        account = await accounts.log_in(body.username, body.password, context.origin)
    except Unauthorized as error:  # clients of this endpoint expect 400 for a wrong password
        raise BadRequest(error.message) from None
    expires = _expiry(settings)
    user = authenticated_user(account, context.origin)
    token = await store.issue_token(account.id, IssuedBy.HTTP, expires, by=user)
    return LoginRecord(
        token, body.username, account.first_name, account.last_name, expires, account.id
    )


def _expiry(settings: Settings) -> datetime:
    return now() + timedelta(seconds=settings.token_lifetime)


@routes.get(
    ACCOUNT_PATH,
    response=AccountRecord,
    title=Message("Account"),
    description=Message("The caller's own account."),
    scope=Scope.NONE,
)
async def account_detail(user: User, store: AccountStore) -> AccountRecord:
    return await load_account(user, store)


async def load_account(user: User, store: AccountStore) -> AccountRecord:
    row = await store.find_user(user.username)
    if row is None:  # disabled since the request was authenticated
        raise Unauthorized
    return AccountRecord(
        url=Link(ACCOUNT_PATH),
        user=Link(user_path(row.username)),
        uid=row.uid,
        username=row.username,
        first_name=row.first_name,
        last_name=row.last_name,
        is_superuser=row.is_superuser,
        is_ifrc=row.is_ifrc,
        countries=row.countries,
        date_joined=row.created_at,
        last_login=row.last_login_at,
        tokens=Link(TOKENS_PATH),
        sessions=Link(SESSIONS_PATH),
    )


@routes.get_list(
    TOKENS_PATH,
    response=AccountTokenRecord,
    title=Message("Tokens"),
    description=Message(
        "The caller's valid tokens, newest first. A token itself is shown only when it is created."
    ),
)
async def account_token_list(
    page: PageRequest, user: User, store: AccountStore
) -> ListResult[AccountTokenRecord]:
    count, rows = await store.list_tokens_of(user.id, page)
    return ListResult(count, [token_record(row, TOKENS_PATH, user) for row in rows])


def token_record(row: Row[Any], list_path: str, user: User) -> AccountTokenRecord:
    issued_by: Literal["command", "http"] = (
        "http" if row.issued_by == IssuedBy.HTTP.value else "command"
    )
    return AccountTokenRecord(
        url=Link(f"{list_path}{row.id}/"),
        id=row.id,
        name=row.name,
        prefix=row.prefix,
        issued_by=issued_by,
        date_created=row.created_at,
        last_used=row.last_used_at,
        last_used_from=row.last_used_from,
        expires=row.expires_at,
        is_current=row.hash == hash_token(user.secret),
        scopes=row.scopes.split(),
        assets=row.assets,
        networks=row.networks,
    )


@routes.post(
    TOKENS_PATH,
    response=NewAccountToken,
    title=Message("Create a token with a name"),
    scope=Scope.ALL,
    description=Message(
        "Returns a new token, which is shown only once. A token cannot create another one. "
        "Earlier tokens stay valid; beyond 50 the least recently used is revoked."
    ),
)
async def account_token_creation(
    user: User, body: NewTokenBody, store: AccountStore, settings: Settings
) -> Created:
    reject_token(user)
    return await create_named_token(user, body, TOKENS_PATH, store, settings, by=user)


async def create_named_token(
    holder: User | Row[Any],
    body: NewTokenBody,
    list_path: str,
    store: AccountStore,
    settings: Settings,
    *,
    by: User,
) -> Created:
    """Create a token for a user. Raises `Unauthorized` if the user was disabled meanwhile."""
    name, days = body.name.strip(), body.lifetime_days
    if error := token_name_error(name):
        raise ValidationError({"name": [error]})
    limits = parse_limits(
        body.scopes, body.assets or (), body.networks or (), is_superuser=holder.is_superuser
    )
    lifetime = timedelta(seconds=settings.token_lifetime) if days is None else timedelta(days=days)
    expires = now() + lifetime
    created = await store.create_token(holder.id, IssuedBy.HTTP, expires, name, limits, by=by)
    record = token_record(created.row, list_path, by)
    return Created(
        NewAccountToken(**msgspec.structs.asdict(record), token=created.value), record.url
    )


@routes.delete(
    TOKENS_PATH + "{id}/",
    title=Message("Revoke a token"),
    scope=Scope.ALL,
    description=Message(
        "Revokes one of the caller's tokens. It is refused from the next request on."
    ),
)
async def account_token_deletion(id: str, user: User, store: AccountStore) -> None:
    await revoke_token_of(user.id, id, store, by=user)


async def revoke_token_of(user_id: int, id: str, store: AccountStore, *, by: User) -> None:
    if not (_is_id(id) and await store.revoke_token_of(user_id, int(id), by=by)):
        raise NotFound(Message("There is no valid token with the id {id}.", id=id[:50]))


def _is_id(id: str) -> bool:
    return id.isascii() and id.isdigit() and len(id) <= MAX_ID_DIGITS


@routes.get_list(
    SESSIONS_PATH,
    response=SessionRecord,
    title=Message("Sessions"),
    description=Message("The browsers in which the caller is logged in, newest first."),
)
async def account_session_list(
    page: PageRequest, user: User, store: AccountStore
) -> ListResult[SessionRecord]:
    count, rows = await store.list_sessions_of(user.id, page)
    return ListResult(count, [session_record(row, user) for row in rows])


def session_record(row: Row[Any], user: User) -> SessionRecord:
    return SessionRecord(
        id=row.id,
        date_created=row.created_at,
        last_used=row.last_used_at,
        expires=row.expires_at,
        is_current=row.hash == hash_token(user.secret),
    )


@routes.delete(
    SESSIONS_PATH,
    title=Message("End sessions"),
    scope=Scope.ALL,
    description=Message(
        "Logs the caller out in all other browsers. The session of this request stays valid."
    ),
)
async def account_session_deletion(user: User, store: AccountStore) -> None:
    await store.end_sessions(user.id, keep=user.secret, by=user)


@routes.get_list(
    IDENTITIES_PATH,
    response=IdentityRecord,
    title=Message("Single sign-on"),
    description=Message("Accounts at providers with which the caller can log in, oldest first."),
)
async def account_identity_list(
    page: PageRequest, user: User, identities: IdentityStore, settings: Settings
) -> ListResult[IdentityRecord]:
    count, rows = await identities.list_of(user.id, page)
    names = {each.issuer: each.name for each in settings.sign_on}
    records = [
        IdentityRecord(
            url=Link(f"{IDENTITIES_PATH}{row.id}/"),
            id=row.id,
            provider=names.get(row.issuer),
            issuer=row.issuer,
            subject=row.subject,
            date_created=row.created_at,
            last_login=row.last_login_at,
        )
        for row in rows
    ]
    return ListResult(count, records)


@routes.delete(
    IDENTITIES_PATH + "{id}/",
    title=Message("Remove an account at a provider"),
    scope=Scope.ALL,
    description=Message(
        "The caller can no longer log in with it. The last one stays if the caller has no password. Not with a token."
    ),
    error_statuses=(409,),
)
async def account_identity_deletion(
    id: str, user: User, identities: IdentityStore, settings: Settings
) -> None:
    reject_token(user)
    if not _is_id(id):
        raise NotFound
    await identities.unlink(user, int(id), settings)


@routes.post(
    ACCOUNT_PATH + "password/",
    response=PasswordChanged,
    status=200,
    title=Message("Change the password"),
    scope=Scope.ALL,
    description=Message(
        "Sets a new password. Needs the current one. All other browser sessions end; tokens stay valid."
    ),
)
async def account_password_change(
    user: User,
    body: PasswordBody,
    context: HandlerContext,
    authenticator: AccountAuthenticator,
    passwords: Passwords,
    store: AccountStore,
) -> PasswordChanged:
    if error := password_error(body.new_password, user.username):
        raise ValidationError({"new_password": [error]})
    try:
        await authenticator.verify_password(
            user.username, body.current_password, context.client.address
        )
    except Unauthorized:
        raise ValidationError(
            {"current_password": [Message("This is not your current password.")]}
        ) from None
    if body.new_password == body.current_password:
        raise ValidationError(
            {"new_password": [Message("This is your current password. Choose another one.")]}
        )
    new_hash = await passwords.hash_in_thread(body.new_password)
    keep = user.secret if user.auth_method is AuthMethod.SESSION else ""
    return PasswordChanged(
        await store.set_password(user.username, new_hash, keep_session=keep, by=user)
    )
