"""Who is making a request."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from enum import Enum

import msgspec

_CSRF_BYTES = 16

# What the log calls other credentials than tokens, which have names.
CREDENTIAL_KINDS = frozenset(
    {"session", "password", "link", "provider", "command", "worker", "import"}
)


class AuthMethod(Enum):
    """How the caller was authenticated."""

    NONE = "nothing"
    TOKEN = "token"  # noqa: S105  (the name of a method, not a secret)
    PASSWORD = "password"  # noqa: S105
    SESSION = "session"


class Scope(Enum):
    """What an operation needs that is called with a token. Sessions and passwords have all scopes."""

    NONE = ""  # anybody may call it, with any token
    READ = "read"
    IMPORTS = "imports"  # create, change and delete forms
    SHARING = "sharing"
    EVENTS_WRITE = "events:write"
    ACCOUNT = "account"
    ADMIN = "admin"  # what only superusers may do
    ALL = "all"


class TokenLimits(msgspec.Struct, frozen=True):
    """What a token may be used for. It can never do more than its user."""

    scopes: frozenset[str] = frozenset({Scope.ALL.value})
    assets: frozenset[str] | None = None  # uids; None: all of the user
    networks: tuple[str, ...] = ()  # CIDR; empty: all

    def allows(self, scope: Scope) -> bool:
        return scope is Scope.NONE or not self.scopes.isdisjoint((scope.value, Scope.ALL.value))

    def includes_asset(self, uid: str) -> bool:
        return self.assets is None or uid in self.assets


NO_LIMITS = TokenLimits()


class Origin(msgspec.Struct, frozen=True):
    """Where a request came from, for the log. Only what is logged is decoded."""

    address: str = ""
    headers: Mapping[bytes, bytes] = {}
    raw_request_id: bytes = b""
    method: str = ""

    @property
    def source(self) -> str:
        """The program of the caller, as it names itself."""
        return self.headers.get(b"user-agent", b"").decode("latin-1")

    @property
    def request_id(self) -> str:
        return self.raw_request_id.decode("latin-1")


class Caller(msgspec.Struct, frozen=True):
    """Who makes the request. `id` is None for anonymous callers."""

    id: int | None = None
    username: str = ""
    is_superuser: bool = False
    is_ifrc: bool = False
    countries: tuple[str, ...] = ()
    auth_method: AuthMethod = AuthMethod.NONE
    secret: str = ""
    uid: str = ""
    credential: str = ""  # for the log: session, password, command, or the name of a token
    origin: Origin = Origin()
    limits: TokenLimits = NO_LIMITS
    owner_id: int | None = None  # of a service account

    @property
    def quota_id(self) -> int | None:
        """Whose quotas and slots a request uses: of a service account its owner's, or more accounts would get more."""
        return self.id if self.owner_id is None else self.owner_id

    @property
    def is_anonymous(self) -> bool:
        return self.id is None

    @property
    def sees_everything(self) -> bool:
        """Whether the caller sees what only superusers see. With a token for some assets, that is nothing else."""
        return self.is_superuser and self.limits.assets is None

    @property
    def csrf_secret(self) -> bytes:
        """What CSRF tokens are made from; empty without a session. No page shows it, and it is no login."""
        return _csrf_secret(self.secret) if self.auth_method is AuthMethod.SESSION else b""

    def new_csrf_token(self) -> str:
        """The token that a page sends with a write; empty without a session."""
        return csrf_token(self.secret) if self.auth_method is AuthMethod.SESSION else ""

    def accepts_csrf_token(self, token: str) -> bool:
        """Whether a token was made for the session of the caller."""
        try:
            given = bytes.fromhex(token)
        except ValueError:
            return False
        if len(given) != 2 * _CSRF_BYTES or not self.csrf_secret:
            return False
        return hmac.compare_digest(_xor(given[:_CSRF_BYTES], given[_CSRF_BYTES:]), self.csrf_secret)


class User(Caller, frozen=True):
    """A caller who is logged in. A handler with a `User` parameter refuses anonymous callers."""

    id: int

    @property
    def quota_id(self) -> int:
        return self.id if self.owner_id is None else self.owner_id


NO_ORIGIN = Origin()
ANONYMOUS = Caller()
OPERATOR = Caller(credential="command")  # of the command line
WORKER = Caller(credential="worker")  # what workers do by themselves


def csrf_token(session: str) -> str:
    """Return a new CSRF token of a session: random bytes, and the secret of the session masked with them.

    No two pages have the same one. Otherwise somebody who sees how long compressed pages are, and chooses a text that
    the page repeats, could guess it piece by piece (BREACH).
    """
    mask = secrets.token_bytes(_CSRF_BYTES)
    return (mask + _xor(mask, _csrf_secret(session))).hex()


def _csrf_secret(session: str) -> bytes:
    return hashlib.blake2b(
        session.encode(), digest_size=_CSRF_BYTES, person=b"fieldgate-csrf"
    ).digest()


def _xor(first: bytes, second: bytes) -> bytes:
    return (int.from_bytes(first) ^ int.from_bytes(second)).to_bytes(_CSRF_BYTES)
