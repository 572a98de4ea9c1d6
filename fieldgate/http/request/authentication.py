"""Who is calling: the Authorization header, the session cookie of pages, and protection against forged writes.

This room reads the headers; whether a token or password is right, the accounts room knows (`Authenticator`).
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import Protocol

from fieldgate.errors import Forbidden, Unauthorized
from fieldgate.http.request.cookies import read_cookie
from fieldgate.i18n.messages import Message
from fieldgate.identity import ANONYMOUS, Caller, Means, User

SESSION_COOKIE = b"fieldgate_session"
CSRF_HEADER = b"x-csrftoken"
LONGEST = 4096  # characters of a credential; nobody means more

NO_TOKEN = Message("The Authorization header names a scheme but holds no token.")
BAD_TOKEN = Message("This token is not valid. Check it, or get a new one.")
BAD_BASIC = Message("The Basic credentials cannot be read: they must be base64 of username:password.")
UNKNOWN_SCHEME = Message("This way of logging in is not known here. Use Token, Bearer or Basic.")
FORGED = Message("This request lacks the page's CSRF token. Reload the page and try again.")


class Authenticator(Protocol):
    """What this room needs from the accounts: who holds this secret? None if nobody does."""

    async def by_token(self, token: str) -> User | None: ...

    async def by_session(self, token: str) -> User | None: ...

    async def by_password(self, username: str, password: str, client: str) -> User:
        """The user, or `Unauthorized`, or `TooManyRequests`."""
        ...


async def identify(headers: Mapping[bytes, bytes], client: str, accounts: Authenticator) -> Caller:
    """The caller of a request. Wrong credentials are an error everywhere, public endpoints included."""
    authorization = headers.get(b"authorization", b"").decode("latin-1").strip()
    if authorization:
        return await _by_authorization(authorization, client, accounts)
    token = read_cookie(headers.get(b"cookie", b""), SESSION_COOKIE).decode("latin-1")
    if token:
        # A session that is over is no error: the page is shown as to the public, and offers to log in.
        return await accounts.by_session(token) or ANONYMOUS
    return ANONYMOUS


async def _by_authorization(authorization: str, client: str, accounts: Authenticator) -> Caller:
    scheme, *parts = authorization.split(maxsplit=1)
    rest = parts[0] if parts else ""
    known = scheme.lower()
    if len(authorization) > LONGEST:
        raise Unauthorized(BAD_TOKEN)
    if known in {"token", "bearer"}:
        if not rest:
            raise Unauthorized(NO_TOKEN)
        return await _by_token(rest, accounts)
    if known == "basic":
        username, password = _basic(rest)
        return await accounts.by_password(username, password, client)
    if not rest:  # a bare token, as one client in production sends it
        return await _by_token(scheme, accounts)
    raise Unauthorized(UNKNOWN_SCHEME)


async def _by_token(token: str, accounts: Authenticator) -> User:
    user = await accounts.by_token(token)
    if user is None:
        raise Unauthorized(BAD_TOKEN)
    return user


def _basic(encoded: str) -> tuple[str, str]:
    try:
        raw = base64.b64decode(encoded, validate=True)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
    except (binascii.Error, ValueError):
        raise Unauthorized(BAD_BASIC) from None
    username, colon, password = text.partition(":")
    if not colon or "\0" in text:
        raise Unauthorized(BAD_BASIC)
    return username, password


def refuse_forgery(caller: Caller, headers: Mapping[bytes, bytes]) -> None:
    """A write that only a cookie vouches for must carry the token that the page was given."""
    if caller.means is not Means.SESSION:
        return
    given = headers.get(CSRF_HEADER, b"").decode("latin-1")
    if not hmac.compare_digest(given.encode(), caller.csrf_token.encode()):
        raise Forbidden(FORGED)
