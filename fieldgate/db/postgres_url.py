"""URLs of PostgreSQL, as libpq reads them: several hosts, IPv6, sockets, and parameters in the query.

url = PostgresURL.parse("postgresql://user@h1:5432,h2/db?target_session_attrs=read-write")

The driver's own parser differs in details: it decodes "+", ignores `host=` next to a host, and sends parameters that it
does not know to the server.
"""

import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

DEFAULT_PORT = 5432
MAX_PORT = 65535

# They tune libpq's own connections. The driver has nothing like them, and a connection without them is no less safe.
_IGNORED_OPTIONS = {
    "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "gssencmode",
    "sslcompression", "sslsni", "client_encoding", "fallback_application_name", "replication",
}  # fmt: skip
# They restrict who may answer, and the driver cannot: better no connection than one that is not checked.
_UNSUPPORTED_OPTIONS = {"hostaddr", "channel_binding", "require_auth", "requirepeer", "sslcertmode", "sslcrldir"}
_PLACES = {"host", "port", "dbname", "user", "password"}
_LOAD_BALANCING = {"disable", "random"}

_HOST = re.compile(r"(?:\[(?P<ipv6>[^\]]*)\]|(?P<name>[^:\[\]]*))(?::(?P<port>.*))?", re.DOTALL)
_ENCODE = "Characters such as @ : / ? # in a password must be percent-encoded."


class PostgresURL(NamedTuple):
    """All parts, decoded. Without a host the driver tries the sockets of this machine."""

    user: str
    password: str
    hosts: tuple[tuple[str, int], ...]
    database: str
    options: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> "PostgresURL":
        """Read a URL. `ValueError` says what is wrong, and never quotes the URL: it can hold a password."""
        scheme, separator, rest = text.partition("://")
        if not separator or scheme.partition("+")[0] not in {"postgresql", "postgres"}:
            raise ValueError("postgresql://… is needed.")
        rest, _, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        credentials, at, hostspec = authority.partition("@")
        if not at:
            credentials, hostspec = "", authority
        user, _, password = credentials.partition(":")
        found = _parse_query(query)
        hosts = _parse_hosts(hostspec, found.pop("host", ""), found.pop("port", ""))
        url = cls(
            found.pop("user", "") or _decode(user),
            found.pop("password", "") or _decode(password),
            hosts,
            found.pop("dbname", "") or _decode(path),
            found,
        )
        url._check()
        return url

    def _check(self) -> None:
        if unsupported := sorted(_UNSUPPORTED_OPTIONS & self.options.keys()):
            raise ValueError(f"{unsupported[0]} is not supported.")
        if self.options.get("load_balance_hosts", "disable") not in _LOAD_BALANCING:
            raise ValueError("load_balance_hosts must be disable or random.")
        if not self.options.get("connect_timeout", "1").isdecimal():
            raise ValueError("connect_timeout must be a number of seconds.")
        if not self.database:
            raise ValueError("the name of a database is missing at the end of the address.")

    @property
    def connect_timeout(self) -> int | None:
        """Seconds for each host; libpq waits at least two."""
        seconds = int(self.options.get("connect_timeout", "0"))
        return max(seconds, 2) if seconds else None

    @property
    def is_balanced(self) -> bool:
        return self.options.get("load_balance_hosts") == "random"

    def driver_dsn(self, host: tuple[str, int] | None) -> str:
        """The URL of one host in the form that the driver reads."""
        options = {
            name: value
            for name, value in self.options.items()
            if value and name not in _IGNORED_OPTIONS | {"connect_timeout", "load_balance_hosts"}
        }
        if host is not None:
            # Not before the path: there the driver would take a comma or a slash in it for something else.
            options |= {"host": f"[{host[0]}]" if ":" in host[0] else host[0], "port": str(host[1])}
        return self._credentials(self.password) + _path(self.database) + _query(options)

    def to_text(self, *, hide_password: bool, with_options: bool = True) -> str:
        """The URL as libpq reads it."""
        options = self.options if with_options else {}
        if any(host.startswith("/") for host, _ in self.hosts):
            hosts = ""
            places = ",".join(host for host, _ in self.hosts), ",".join(str(port) for _, port in self.hosts)
            options = {**options, "host": places[0], "port": places[1]}
        else:
            hosts = ",".join(
                (f"[{host}]" if ":" in host else quote(host, safe="")) + (f":{port}" if port != DEFAULT_PORT else "")
                for host, port in self.hosts
            )
        password = "***" if hide_password and self.password else self.password
        return self._credentials(password) + hosts + _path(self.database) + _query(options)

    def _credentials(self, password: str) -> str:
        shown = password if password == "***" else quote(password, safe="")  # noqa: S105
        before = quote(self.user, safe="") + (f":{shown}" if password else "")
        return f"postgresql://{before}@" if before else "postgresql://"


def _path(database: str) -> str:
    return "/" + quote(database, safe="")


def _query(options: dict[str, str]) -> str:
    return "?" + urlencode(options, quote_via=quote, safe="") if options else ""


def _parse_query(query: str) -> dict[str, str]:
    """The parameters; "+" is no space, and the last of equal names counts, as in libpq."""
    found: dict[str, str] = {}
    for pair in query.split("&") if query else ():
        name, separator, value = pair.partition("=")
        name = _decode(name)
        if not separator or not re.fullmatch(r"[a-z_][a-z0-9_.]*", name):
            raise ValueError(f"a parameter after the ? is not of the form name=value. {_ENCODE}")
        found["dbname" if name == "database" else name] = _decode(value)
    return {name: value for name, value in found.items() if value or name not in _PLACES}


def _parse_hosts(hostspec: str, hosts: str, ports: str) -> tuple[tuple[str, int], ...]:
    """Hosts and ports of the authority, or those of the query, which override them."""
    found: list[tuple[str, str]] = []
    for each in hostspec.split(",") if hostspec else ():
        match = _HOST.fullmatch(each)
        if match is None:
            raise ValueError(f"a host is not a name or an address. {_ENCODE}")
        found.append((_decode(match["ipv6"] or match["name"] or ""), _decode(match["port"] or "")))
    if hosts:
        names = [name[1:-1] if name.startswith("[") and name.endswith("]") else name for name in hosts.split(",")]
        found = [(name, found[at][1] if len(found) == len(names) else "") for at, name in enumerate(names)]
    if ports:
        given = ports.split(",")
        if len(given) not in {1, max(len(found), 1)}:
            raise ValueError(f"{len(given)} ports do not match {len(found)} hosts.")
        found = [(name, given[0] if len(given) == 1 else given[at]) for at, (name, _) in enumerate(found or [("", "")])]
    return tuple((name or "localhost", _parse_port(port)) for name, port in found if name or port or len(found) > 1)


def _parse_port(text: str) -> int:
    if not text:
        return DEFAULT_PORT
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MAX_PORT:
        raise ValueError(f"a port is not a number from 1 to {MAX_PORT}. {_ENCODE}")
    return int(text)


def _decode(text: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text) or "%00" in text:
        raise ValueError(f"a % is not followed by two hexadecimal digits. {_ENCODE}")
    return unquote(text)
