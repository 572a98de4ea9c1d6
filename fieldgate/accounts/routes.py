"""`/token/` and `/get_auth_token`: the two ways to get a token, as the live systems have them."""

from datetime import datetime, timedelta

from fieldgate.accounts.authentication import AccountAuthenticator
from fieldgate.accounts.schemas import Login, LoginRecord, TokenRecord
from fieldgate.accounts.store import AccountStore, IssuedBy
from fieldgate.accounts.tokens import new_token
from fieldgate.db import now
from fieldgate.errors import BadRequest, Forbidden, NotFound, Unauthorized
from fieldgate.http.injection import ClientAddress, HandlerContext
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Created, delete, get, post
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, User
from fieldgate.settings import Settings

TAG = "Credentials"
PATH = "/token/"

_EXAMPLE = {"token": "fgt_K7mPq2XvN8sRtLw4ZbYcHdJfGg3hUe6kVn9pA5xC"}
_NEEDS_PASSWORD = Message("Ask for a token with your username and password (Basic credentials).")


@get(
    PATH,
    response=TokenRecord,
    title=Message("Get a token"),
    description=Message(
        "Returns a new token for the caller, who sends username and password as Basic credentials. "
        "Earlier tokens stay valid; beyond 50 the least recently used is revoked."
    ),
    tag=TAG,
    formats=(Format.JSON,),
    no_store=True,
    example=_EXAMPLE,
    error_statuses=(403, 429),
    writes=True,
    rate_cost=4,  # users may read four times as often as they may write
)
async def token_reading(context: HandlerContext, user: User, store: AccountStore, settings: Settings) -> TokenRecord:
    # Another site's page can make a browser GET this with the user's cookie; that must not create tokens.
    if user.auth_method is not AuthMethod.PASSWORD:
        raise Forbidden(_NEEDS_PASSWORD)
    if context.method == "HEAD":  # a response like that of GET, but no token is stored
        return TokenRecord(new_token())
    return TokenRecord(await store.issue_token(user.id, IssuedBy.HTTP, _expiry(settings)))


@post(
    PATH,
    response=TokenRecord,
    title=Message("Create a token"),
    description=Message(
        "Returns a new token for the caller, as with GET. "
        "Pages of this service can use their session instead of a password."
    ),
    tag=TAG,
    formats=(Format.JSON,),
    no_store=True,
    example=_EXAMPLE,
    error_statuses=(403, 429),
)
async def token_creation(user: User, store: AccountStore, settings: Settings) -> Created:
    # A token cannot be used to get another one: a leaked or expiring token could be renewed without end.
    if user.auth_method is AuthMethod.TOKEN:
        raise Forbidden(_NEEDS_PASSWORD)
    return Created(TokenRecord(await store.issue_token(user.id, IssuedBy.HTTP, _expiry(settings))))


@delete(
    PATH,
    title=Message("Revoke tokens"),
    description=Message("Revokes all tokens that the caller obtained over HTTP, including the one in use."),
    tag=TAG,
    formats=(Format.JSON,),
    error_statuses=(403, 404, 429),
)
async def token_deletion(user: User, store: AccountStore) -> None:
    if not await store.revoke_http_tokens(user.id):
        raise NotFound(Message("There is no token to revoke."))


@post(
    "/get_auth_token",
    response=LoginRecord,
    status=200,
    title=Message("Log in"),
    description=Message("Returns a new token for a username and password, sent as JSON or as a form."),
    tag=TAG,
    formats=(Format.JSON,),
    no_store=True,
    csrf_protected=False,
    example={
        **_EXAMPLE,
        "username": "amina",
        "first": "Amina",
        "last": "Diallo",
        "expires": "2027-11-15T08:30:00Z",
        "id": 7,
    },
    error_statuses=(413, 415, 429),
)
async def get_auth_token(
    body: Login,
    client: ClientAddress,
    accounts: AccountAuthenticator,
    store: AccountStore,
    settings: Settings,
) -> LoginRecord:
    try:
        account = await accounts.verify_password(body.username, body.password, client.address)
    except Unauthorized as error:  # clients of this endpoint expect 400 for a wrong password
        raise BadRequest(error.message) from None
    expires = _expiry(settings)
    token = await store.issue_token(account.id, IssuedBy.HTTP, expires)
    return LoginRecord(token, body.username, account.first_name, account.last_name, expires, account.id)


def _expiry(settings: Settings) -> datetime:
    return now() + timedelta(seconds=settings.token_lifetime)


OPERATIONS = (token_reading, token_creation, token_deletion, get_auth_token)
