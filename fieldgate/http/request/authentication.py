"""Authentication by the Authorization header or the session cookie.

This module parses the headers; an `Authenticator`, which `accounts` implements, checks tokens and passwords.
"""

import base64
import binascii
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import Protocol
from urllib.parse import urlsplit

from fieldgate.errors import Header, Unauthorized
from fieldgate.http.request.hosts import BaseURL
from fieldgate.i18n.messages import Message
from fieldgate.identity import ANONYMOUS, Caller, User

SESSION_COOKIE = b"fieldgate_session"
MAX_COOKIE_CHARS = 4096  # longer cookies are ignored
MAX_CREDENTIAL_CHARS = 4096  # of an Authorization header

MISSING_TOKEN = Message("The Authorization header has a scheme but no token.")
INVALID_TOKEN = Message("This token is not valid. Check it, or get a new one.")
INVALID_BASIC = Message(
    "The Basic credentials cannot be read: they must be base64 of username:password."
)
UNKNOWN_SCHEME = Message("This authentication scheme is not supported. Use Token, Bearer or Basic.")


class Authenticator(Protocol):
    """Finds the user of a credential; None if it is not valid."""

    async def by_token(self, token: str, client: str) -> User | None:
        """Return the user, or raise `Forbidden` if the token is not for the address of the client."""
        ...

    async def by_session(self, token: str, client: str) -> User | None: ...

    async def by_password(self, username: str, password: str, client: str) -> User:
        """Return the user, or raise `Unauthorized` or `TooManyRequests`. The password can be a token of the user."""
        ...


async def authenticate(
    headers: Mapping[bytes, bytes], client_address: str, authenticator: Authenticator
) -> Caller:
    """Return the caller. Invalid credentials are an error everywhere, on public endpoints too."""
    authorization = headers.get(b"authorization", b"").decode("latin-1").strip()
    if authorization:
        return await _authenticate_header(authorization, client_address, authenticator)
    token = read_cookie(headers.get(b"cookie", b""), SESSION_COOKIE).decode("latin-1")
    if token:
        # An expired session is not an error: the page is shown as to the public, with a login link.
        return await authenticator.by_session(token, client_address) or ANONYMOUS
    return ANONYMOUS


async def _authenticate_header(
    authorization: str, client_address: str, authenticator: Authenticator
) -> Caller:
    parts = authorization.split(maxsplit=1)
    scheme, rest = parts if len(parts) > 1 else (authorization, "")
    known = scheme.lower()
    if len(authorization) > MAX_CREDENTIAL_CHARS:
        raise Unauthorized(INVALID_TOKEN)
    if known == "basic":
        username, password = _decode_basic(rest)
        return await authenticator.by_password(username, password, client_address)
    if known == "token" or known == "bearer":
        token, missing = rest, MISSING_TOKEN
    else:  # a token without a scheme, as one client in production sends it
        token, missing = ("" if rest else scheme), UNKNOWN_SCHEME
    if not token:
        raise Unauthorized(missing)
    user = await authenticator.by_token(token, client_address)
    if user is None:
        raise Unauthorized(INVALID_TOKEN)
    return user


def _decode_basic(encoded: str) -> tuple[str, str]:
    try:
        raw = base64.b64decode(encoded, validate=True)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
    except (binascii.Error, ValueError):
        raise Unauthorized(INVALID_BASIC) from None
    username, colon, password = text.partition(":")
    if not colon or "\0" in text:
        raise Unauthorized(INVALID_BASIC)
    return username, password


def read_cookie(header: bytes, name: bytes) -> bytes:
    """The value of one cookie, or b"". Malformed cookies of others are skipped."""
    if name in header:
        for pair in header.split(b";"):
            key, _, value = pair.strip().partition(b"=")
            if key == name and len(value) <= MAX_COOKIE_CHARS:
                return value
    return b""


def set_cookie(
    name: bytes, value: str, base_url: BaseURL, max_age: int, *, http_only: bool
) -> Header:
    """The header that sets a cookie for the whole service; `max_age` 0 removes it."""
    cookie: SimpleCookie = SimpleCookie()
    key = name.decode()
    cookie[key] = value
    cookie[key].update(
        {"path": urlsplit(base_url.url).path + "/", "max-age": str(max_age), "samesite": "Lax"}
    )
    cookie[key]["httponly"] = http_only
    cookie[key]["secure"] = base_url.is_secure
    return (b"set-cookie", cookie[key].OutputString().encode())
