"""The settings of the service, read from FIELDGATE_* environment variables.

settings = Settings.from_environment(os.environ)
"""

import ipaddress
import re
import shlex
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

import idna
import msgspec
from msgspec import Meta

from fieldgate.providers import Provider, read_providers

PREFIX = "FIELDGATE_"
DAY = 24 * 60 * 60  # seconds
MEBIBYTE = 1024 * 1024

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
LOOPBACK: tuple[Network, ...] = (
    ipaddress.ip_network("127.0.0.0/8"),
    ipaddress.ip_network("::1/128"),
)

# Variables that are options of a command, not settings of the service.
COMMAND_VARIABLES = frozenset({PREFIX + "SYNC_TOKEN", PREFIX + "SOURCE_TOKEN"})
# Variables of `fetch`, `import` and `share`, which are commands of the client library.
CLIENT_VARIABLES = frozenset({PREFIX + "URL", PREFIX + "TOKEN"})

_IMPORT_HOST = re.compile(r"\.?(?:[a-z0-9_-]+\.)*[a-z][a-z0-9-]*(?::[1-9][0-9]{0,4})?", re.ASCII)


class BadSetting(ValueError):
    """A variable has an invalid value. The text names the variable and what is expected."""


class PasswordLogin(Enum):
    """Who can log in with a password."""

    ALL = "all"
    SUPERUSERS = "superusers"
    NONE = "none"

    def allows(self, *, is_superuser: bool) -> bool:
        return self is PasswordLogin.ALL or (self is PasswordLogin.SUPERUSERS and is_superuser)


class RateQuota(msgspec.Struct, frozen=True):
    """So many requests at once, and as many again in each of these times."""

    requests: int
    seconds: int


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings. `docs/operations.md` lists them too; a test compares the two."""

    data: Annotated[Path, Meta(description="Folder of the SQLite file `fieldgate.db`.")] = Path(
        "data"
    )
    database_url: Annotated[
        str,
        Meta(description="`postgresql://…` or `sqlite:///…`; empty: SQLite in the data folder."),
    ] = ""
    database_pooler: Annotated[
        bool, Meta(description="A connection pooler such as PgBouncer is in front of PostgreSQL.")
    ] = False
    host: Annotated[str, Meta(description="Address to bind to.")] = "127.0.0.1"
    port: Annotated[int, Meta(description="Port to bind to.")] = 8000
    base_url: Annotated[
        str,
        Meta(
            description="Public URL of the service, used for links; by default the host of the request."
        ),
    ] = ""
    allowed_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Host names to answer for, separated by commas; `.example.org` covers subdomains."
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[Network, ...],
        Meta(
            description="Addresses or networks of proxies whose `X-Forwarded-*` headers are trusted."
        ),
    ] = ()
    hsts_max_age: Annotated[
        int | None,
        Meta(
            description="How long browsers must use https from then on; `0s` makes them forget it, `off` sends nothing."
        ),
    ] = 365 * DAY
    cors_origins: Annotated[
        tuple[str, ...],
        Meta(description="Origins whose scripts may read the responses; `*` is any."),
    ] = ("*",)
    cors_credentials: Annotated[
        bool,
        Meta(
            description="Let scripts of the listed origins send cookies; needs a list of origins."
        ),
    ] = False
    token_lifetime: Annotated[
        int,
        Meta(
            description="How long a token obtained over HTTP is valid, for example `365d` or `12h`."
        ),
    ] = 365 * DAY
    session_lifetime: Annotated[int, Meta(description="How long a login in the browser lasts.")] = (
        14 * DAY
    )
    sign_on: Annotated[
        tuple[Provider, ...],
        Meta(description="TOML file with providers of single sign-on; needs `FIELDGATE_BASE_URL`."),
    ] = ()
    password_login: Annotated[
        PasswordLogin,
        Meta(description="Who can log in with a password: `all`, `superusers` or `none`."),
    ] = PasswordLogin.ALL
    response_cache_size: Annotated[
        int, Meta(description="Memory for cached responses, per process, for example `8MiB`.")
    ] = 8 * MEBIBYTE
    record_cache_size: Annotated[
        int, Meta(description="Memory for cached event records, per process, for example `24MiB`.")
    ] = 24 * MEBIBYTE
    max_upload: Annotated[
        int, Meta(description="Largest file that can be imported, for example `25MiB`.")
    ] = 25 * MEBIBYTE
    max_storage_per_user: Annotated[
        int,
        Meta(
            description="Bytes that a user can store, with service accounts, for example `5GiB`; `0`: any number."
        ),
    ] = 0
    max_queued_imports: Annotated[
        int,
        Meta(
            description="Imports of a user that can wait or be in work at a time; `0`: any number."
        ),
    ] = 100
    upload_bytes_in_flight: Annotated[
        int,
        Meta(
            description="Bytes of uploads that one process receives at the same time, for example `128MiB`."
        ),
    ] = 128 * MEBIBYTE
    spool: Annotated[
        str,
        Meta(description="Folder for uploads in progress; empty: the system's temporary folder."),
    ] = ""
    import_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts that files may be fetched from, separated by commas; `.example.org` covers subdomains."
        ),
    ] = ()
    import_lease: Annotated[
        int,
        Meta(
            description="How long an import stays assigned to a worker that no longer reports, for example `30s`."
        ),
    ] = 30
    import_memory: Annotated[
        int, Meta(description="Memory for reading one file, for example `1GiB`.")
    ] = 1024 * MEBIBYTE
    import_seconds: Annotated[
        int, Meta(description="Processor time for reading one file, for example `60s`.")
    ] = 60
    import_retention: Annotated[
        int, Meta(description="How long finished imports are listed, for example `90d`.")
    ] = 90 * DAY
    trash_days: Annotated[
        int, Meta(description="Days until a deleted form is deleted for good; `0`: at once.")
    ] = 30
    log_days: Annotated[
        int, Meta(description="Days that entries of the log are kept; `0` keeps them for good.")
    ] = 744
    invite_days: Annotated[
        int, Meta(description="Days in which an invitation to own forms can be accepted.")
    ] = 14
    teams_by_users: Annotated[
        bool,
        Meta(description="Whether every user can create teams (`yes`), or only superusers (`no`)."),
    ] = True
    read_rate: Annotated[
        RateQuota | None,
        Meta(
            description="Read requests (GET, HEAD, OPTIONS) of one user, for example `600/1m`; or `off`."
        ),
    ] = RateQuota(12_000, 60)
    write_rate: Annotated[
        RateQuota | None,
        Meta(description="Write requests of one user, for example `600/1m`; or `off`."),
    ] = RateQuota(3_000, 60)
    address_read_rate: Annotated[
        RateQuota | None,
        Meta(description="Read requests without credentials from one address; or `off`."),
    ] = RateQuota(6_000, 60)
    address_write_rate: Annotated[
        RateQuota | None,
        Meta(
            description="Write requests without credentials from one address, and invalid credentials; or `off`."
        ),
    ] = RateQuota(600, 60)
    rate_limit_exempt: Annotated[
        tuple[Network, ...],
        Meta(description="Addresses or networks without rate limits; `none` for no exception."),
    ] = LOOPBACK
    metrics_from: Annotated[
        tuple[Network, ...], Meta(description="Addresses or networks that may read `/metrics`.")
    ] = LOOPBACK
    max_connections: Annotated[
        int,
        Meta(
            description="Connections at a time, per process. Further ones wait until one is closed."
        ),
    ] = 10_000
    idle_timeout: Annotated[
        int,
        Meta(
            description="Time for all headers of a request, and between two requests of a connection."
        ),
    ] = 75
    max_requests_in_flight: Annotated[
        int,
        Meta(
            description="Requests at a time, per process; further ones get 503. Health checks always work."
        ),
    ] = 1000
    access_log: Annotated[bool, Meta(description="Log every request.")] = True
    log_level: Annotated[str, Meta(description="`debug`, `info`, `warning` or `error`.")] = "info"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the FIELDGATE_* variables; a blank one counts as not set."""
        values: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            variable = PREFIX + field.name.upper()
            if value := environment.get(variable, "").strip():
                try:
                    parse = _PARSERS.get(field.name) or _PARSERS[get_args(field.type)[0]]
                    values[field.name] = parse(value)
                except ValueError as error:
                    raise BadSetting(f"{variable}: {error}") from None
        settings = cls(**values)
        if settings.cors_credentials and "*" in settings.cors_origins:
            raise BadSetting(
                f"{PREFIX}CORS_CREDENTIALS: list the origins in {PREFIX}CORS_ORIGINS; `*` is not enough."
            )
        if settings.sign_on and not settings.base_url:
            raise BadSetting(
                f"{PREFIX}SIGN_ON: set {PREFIX}BASE_URL, too. Providers send people back to it."
            )
        if settings.password_login is not PasswordLogin.ALL and not settings.sign_on:
            raise BadSetting(
                f"{PREFIX}PASSWORD_LOGIN: set {PREFIX}SIGN_ON, too. Otherwise nobody could log in."
            )
        return settings

    @property
    def database(self) -> str:
        """The URL of the database: `database_url`, or else the SQLite file in the data folder."""
        return self.database_url or f"sqlite:///{self.data / 'fieldgate.db'}"

    @property
    def data_option(self) -> str:
        """For commands in messages: ` --data DIR`, empty if `database_url` chooses the database."""
        return "" if self.database_url else f" --data {shlex.quote(str(self.data))}"


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """FIELDGATE_* variables that have no effect: neither settings nor options of a command."""
    settings = {PREFIX + field.name.upper() for field in msgspec.structs.fields(Settings)}
    known = settings | COMMAND_VARIABLES | CLIENT_VARIABLES
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def _integer_between(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
            raise ValueError(f"expected a whole number from {low} to {high}, not {text!r}.")
        return int(text)

    return read


def _parse_bool(text: str) -> bool:
    word = text.lower()
    if word not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise ValueError(f"expected `true` or `false`, not {text!r}.")
    return word in {"1", "true", "yes", "on"}


def _parse_list(text: str) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in text.split(",") if word.strip())


def _parse_import_hosts(text: str) -> tuple[str, ...]:
    return tuple(_parse_import_host(word) for word in _parse_list(text))


def _parse_import_host(word: str) -> str:
    """A host name in ASCII (IDNA), with an optional port. IP addresses are refused: the last label is not a number."""
    name, colon, port = word.partition(":")
    try:
        name = ".".join(
            label if label.isascii() else idna.alabel(label).decode() for label in name.split(".")
        )
    except idna.IDNAError:
        name = ""
    if not _IMPORT_HOST.fullmatch(name + colon + port):
        raise ValueError(f"expected host names such as forms.example.org, not {word!r}.")
    return name + colon + port


def _parse_networks(text: str) -> tuple[Network, ...]:
    words = () if text.lower() == "none" else _parse_list(text)
    return tuple(ipaddress.ip_network(word, strict=False) for word in words)


def parse_duration(text: str) -> int:
    """`90d`, `12h`, `30m` or `45s` in seconds; at most 999999 of a unit, so that dates do not overflow."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([dhms])", text, re.ASCII)
    if match is None:
        raise ValueError(f"expected a duration such as 90d, 12h or 30m, not {text!r}.")
    return int(match[1]) * {"d": DAY, "h": 60 * 60, "m": 60, "s": 1}[match[2]]


def _parse_hsts_max_age(text: str) -> int | None:
    if text.lower() == "off":
        return None
    return 0 if text == "0s" else parse_duration(text)


def _parse_size(text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,12})\s*(|KiB|MiB|GiB)", text, re.ASCII)
    if match is None:
        raise ValueError(f"expected a size such as 64MiB, not {text!r}.")
    return int(match[1]) * {"": 1, "KiB": 1024, "MiB": MEBIBYTE, "GiB": 1024 * MEBIBYTE}[match[2]]


def _parse_rate(text: str) -> RateQuota | None:
    if text.lower() == "off":
        return None
    number, _, duration = text.partition("/")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", number, re.ASCII) or not re.fullmatch(
        r"[1-9][0-9]{0,3}[hms]", duration
    ):
        raise ValueError(f"expected a rate such as 600/1m, or `off`, not {text!r}.")
    return RateQuota(int(number), parse_duration(duration))


def _parse_folder(text: str) -> str:
    if not Path(text).is_dir():
        raise ValueError(f"there is no folder {text!r}.")
    return text


def _parse_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"expected a URL such as https://field.example.org, not {text!r}.")
    return text.rstrip("/")


def _parse_password_login(text: str) -> PasswordLogin:
    try:
        return PasswordLogin(text.lower())
    except ValueError:
        raise ValueError(f"expected all, superusers or none, not {text!r}.") from None


def _parse_log_level(text: str) -> str:
    if text.lower() not in {"debug", "info", "warning", "error"}:
        raise ValueError(f"expected debug, info, warning or error, not {text!r}.")
    return text.lower()


# By type, and by name where the type does not say enough.
_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    bool: _parse_bool,
    Path: Path,
    tuple[str, ...]: _parse_list,
    tuple[Network, ...]: _parse_networks,
    RateQuota | None: _parse_rate,
    "port": _integer_between(0, 65535),
    "base_url": _parse_url,
    "hsts_max_age": _parse_hsts_max_age,
    "token_lifetime": parse_duration,
    "session_lifetime": parse_duration,
    "response_cache_size": _parse_size,
    "record_cache_size": _parse_size,
    "max_upload": _parse_size,
    "max_storage_per_user": _parse_size,
    "max_queued_imports": _integer_between(0, 1_000_000),
    "upload_bytes_in_flight": _parse_size,
    "spool": _parse_folder,
    "import_hosts": _parse_import_hosts,
    "import_lease": parse_duration,
    "import_memory": _parse_size,
    "import_seconds": parse_duration,
    "import_retention": parse_duration,
    "trash_days": _integer_between(0, 36_500),
    "log_days": _integer_between(0, 36_500),
    "invite_days": _integer_between(1, 3650),
    "max_connections": _integer_between(10, 1_000_000),
    "idle_timeout": parse_duration,
    "max_requests_in_flight": _integer_between(1, 1_000_000),
    "log_level": _parse_log_level,
    "sign_on": lambda text: read_providers(Path(text)),
    "password_login": _parse_password_login,
}
