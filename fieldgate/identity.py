"""Who is making a request."""

import hashlib
from enum import Enum

import msgspec


class AuthMethod(Enum):
    """How the caller was authenticated."""

    NONE = "nothing"
    TOKEN = "token"  # noqa: S105  (the name of a method, not a secret)
    PASSWORD = "password"  # noqa: S105
    SESSION = "session"


class Caller(msgspec.Struct, frozen=True):
    """Who makes the request. `id` is None for anonymous callers."""

    id: int | None = None
    username: str = ""
    is_superuser: bool = False
    is_ifrc: bool = False
    countries: tuple[str, ...] = ()
    auth_method: AuthMethod = AuthMethod.NONE
    secret: str = ""

    @property
    def is_anonymous(self) -> bool:
        return self.id is None

    @property
    def csrf_token(self) -> str:
        """The token that a page sends with a write. It is derived from the session and cannot be used to log in."""
        return csrf_token(self.secret) if self.auth_method is AuthMethod.SESSION else ""


class User(Caller, frozen=True):
    """A caller who is logged in. A handler with a `User` parameter refuses anonymous callers."""

    id: int


ANONYMOUS = Caller()


def csrf_token(session: str) -> str:
    return hashlib.blake2b(session.encode(), digest_size=16, person=b"fieldgate-csrf").hexdigest()
