"""Who is making a request."""

import hashlib
from enum import Enum

import msgspec


class AuthMethod(Enum):
    """What the caller proved itself with."""

    NONE = "nothing"
    TOKEN = "token"  # noqa: S105  (the name of a means, not a secret)
    PASSWORD = "password"  # noqa: S105
    SESSION = "session"


class Caller(msgspec.Struct, frozen=True):
    """Who is asking. `id` is None for the public."""

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
        """What a page must send back with a write: bound to the session, and useless for logging in."""
        return csrf_token(self.secret) if self.auth_method is AuthMethod.SESSION else ""


class User(Caller, frozen=True):
    """A caller who is certainly logged in. A handler that takes a `User` is closed to the public."""

    id: int


ANONYMOUS = Caller()


def csrf_token(session: str) -> str:
    return hashlib.blake2b(session.encode(), digest_size=16, person=b"fieldgate-csrf").hexdigest()
