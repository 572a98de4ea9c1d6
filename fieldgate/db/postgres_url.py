"""URLs of PostgreSQL. The driver reads them; here they are checked first, and shown without their password."""

import re
from typing import NamedTuple

_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?", re.DOTALL)
_SECRET_OPTIONS = {"password", "sslpassword"}
_ENCODE = "Characters such as @ : / ? # in a password must be percent-encoded."


class PostgresURL(NamedTuple):
    """The parts, as they are written: several hosts with ports, percent-encoded names, options such as `sslmode=…`."""

    user: str
    password: str
    hosts: str
    database: str
    options: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "PostgresURL":
        """Read a URL. `ValueError` says what is wrong, and never quotes the URL: it can hold a password."""
        scheme, separator, rest = text.partition("://")
        if not separator or scheme.partition("+")[0] not in {"postgresql", "postgres"}:
            raise ValueError("postgresql://… is needed.")
        if re.search(r"%(?![0-9A-Fa-f]{2})|#", rest):
            raise ValueError(f"there is a #, or a % without two hexadecimal digits. {_ENCODE}")
        rest, _, query = rest.partition("?")
        authority, _, database = rest.partition("/")
        credentials, _, hosts = authority.rpartition("@")
        for host in hosts.split(","):
            match = _HOST.fullmatch(host)
            if match is None or not re.fullmatch(r"[0-9]{0,5}", match["port"] or ""):
                raise ValueError(
                    f"a port is not a number, or a host is not a name or an address. {_ENCODE}"
                )
        options = tuple(option for option in query.split("&") if option)
        if any("=" not in option for option in options):
            raise ValueError(f"a parameter after the ? is not of the form name=value. {_ENCODE}")
        if not database and not any(
            option.startswith(("dbname=", "database=")) for option in options
        ):
            raise ValueError("the name of a database is missing at the end of the address.")
        user, _, password = credentials.partition(":")
        url = cls(user, password, hosts, database, options)
        _check_options(url)
        return url

    def without_secrets(self) -> "PostgresURL":
        options = tuple(
            option for option in self.options if option.partition("=")[0] not in _SECRET_OPTIONS
        )
        return self._replace(password="", options=options)

    @property
    def text(self) -> str:
        """The URL as PostgreSQL's own tools and the driver read it."""
        credentials = self.user + (f":{self.password}" if self.password else "")
        options = "?" + "&".join(self.options) if self.options else ""
        return f"postgresql://{credentials}{'@' if credentials else ''}{self.hosts}/{self.database}{options}"

    @property
    def address(self) -> str:
        """For messages."""
        return self._replace(password="***" if self.password else "", options=()).text


def _check_options(url: PostgresURL) -> None:
    """Raise `ValueError` for an option that PostgreSQL's library does not know."""
    from psycopg import ProgrammingError  # not loaded when SQLite is used
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(url.without_secrets().text)
    except ProgrammingError as error:
        raise ValueError(f"{str(error).strip()}.") from None
