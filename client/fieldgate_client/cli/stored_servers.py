"""Servers and their tokens, in a file that only its owner can read.

A token is only sent to the server it belongs to: it is found by name, or by the address of a URL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.errors import FieldgateError

FOLDER = "fieldgate-client"
FILE = "servers.json"


class StoredServer(msgspec.Struct, frozen=True):
    url: str
    token: str
    username: str = ""

    def __repr__(self) -> str:
        return f"<StoredServer {self.url}>"  # without the token, also in tracebacks


class StoredServers(msgspec.Struct):
    """All servers by name, and the name of the default."""

    default: str = ""
    servers: dict[str, StoredServer] = {}

    def named(self, name: str) -> StoredServer:
        if name not in self.servers:
            known = f" Known servers: {', '.join(self.servers)}." if self.servers else ""
            raise UsageError(
                f"There is no server named {name!r}.{known} Add one with: fieldgate-client login URL --name {name}"
            )
        return self.servers[name]

    def at(self, url: str) -> StoredServer | None:
        """The server of a URL: of the same origin, with the longest path that the URL begins with."""
        matching = [each for each in self.servers.values() if is_below(url, each.url)]
        return max(matching, key=lambda each: len(each.url), default=None)

    def add(self, name: str, server: StoredServer) -> None:
        self.servers[name] = server
        if self.default not in self.servers:
            self.default = name

    def remove(self, name: str) -> StoredServer:
        removed = self.named(name)
        del self.servers[name]
        if self.default == name:
            self.default = next(iter(self.servers)) if len(self.servers) == 1 else ""
        return removed


def is_below(url: str, server: str) -> bool:
    """Whether a URL is on this server, and in its folder if it has one."""
    wanted, base = urlsplit(url), urlsplit(server)
    if (wanted.scheme, wanted.hostname, _port(wanted.scheme, wanted.port)) != (
        base.scheme,
        base.hostname,
        _port(base.scheme, base.port),
    ):
        return False
    return f"{wanted.path.rstrip('/')}/".startswith(f"{base.path.rstrip('/')}/")


def _port(scheme: str, port: int | None) -> int | None:
    return port or {"http": 80, "https": 443}.get(scheme)


def config_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where servers are stored: below $XDG_CONFIG_HOME, or the usual folder of the platform."""
    if environment.get("XDG_CONFIG_HOME"):
        folder = Path(environment["XDG_CONFIG_HOME"])
    elif sys.platform == "win32":
        folder = Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path.home() / ".config"
    return folder / FOLDER / FILE


def load_servers(file: Path) -> StoredServers:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return StoredServers()
    except OSError as error:
        raise FieldgateError(f"{file} cannot be read: {error.strerror or error}") from None
    try:
        return msgspec.json.decode(content, type=StoredServers)
    except msgspec.MsgspecError as error:
        raise FieldgateError(f"{file} is damaged: {error}. Delete it, and log in again.") from None


def save_servers(file: Path, servers: StoredServers) -> None:
    """Write the file under another name with mode 0600, then rename it."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(msgspec.json.format(msgspec.json.encode(servers), indent=2) + b"\n")
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise FieldgateError(f"{file} cannot be written: {error.strerror or error}") from None


def is_readable_by_others(file: Path) -> bool:
    if os.name != "posix":
        return False
    try:
        return bool(file.stat().st_mode & 0o077)
    except OSError:
        return False
