"""Servers and their tokens, in a file that only its owner can read, and which of them a command talks to.

A URL on the command line, `--server NAME`, FIELDGATE_URL and the default server are tried in this order. The token is
that of `--token-file`, or FIELDGATE_TOKEN if the server is FIELDGATE_URL, or the stored token of the server. A token is
only sent to the server it belongs to.
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
from fieldgate_client.server_url import origin, parse_list_url, parse_server_url

FOLDER = "fieldgate-client"
FILE = "servers.json"
MAX_TOKEN_BYTES = 10_000


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
    path, folder = urlsplit(url).path.rstrip("/"), urlsplit(server).path.rstrip("/")
    return origin(url) == origin(server) and f"{path}/".startswith(f"{folder}/")


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


def choose_server(
    servers: StoredServers,
    *,
    url: str = "",
    name: str = "",
    token_file: str = "",
    environment: Mapping[str, str] = os.environ,
) -> StoredServer:
    """Choose by the URL if there is one; a name must then belong to it."""
    own_url = environment.get("FIELDGATE_URL", "").strip()
    chosen, stored = "", None
    if name:
        stored = servers.named(name)
        if url and not is_below(url, stored.url):
            raise UsageError(
                f"{url} is not on the server {name} ({stored.url}). Leave out --server {name}."
            )
        chosen = parse_list_url(url).server if url else stored.url
    elif url:
        chosen = parse_list_url(url).server
        stored = servers.at(url)
    elif own_url:
        chosen = parse_server_url(own_url)
        stored = servers.at(chosen)
    elif servers.default:
        if (
            environment.get("FIELDGATE_TOKEN", "").strip() and not token_file
        ):  # it may be of another user
            raise UsageError(
                "FIELDGATE_TOKEN is set, but not the server that it belongs to. Set FIELDGATE_URL, or unset "
                "FIELDGATE_TOKEN to go on with the login that is stored."
            )
        stored = servers.named(servers.default)
        chosen = stored.url
    else:
        raise UsageError(
            "No server is chosen. Log in first with: fieldgate-client login URL, or set FIELDGATE_URL. "
            "Lists and forms can also be given as a whole URL."
        )
    if token_file:
        return StoredServer(chosen, read_token(token_file))
    if not name and own_url and is_below(url or chosen, parse_server_url(own_url)):
        token = environment.get("FIELDGATE_TOKEN", "").strip()
        if token:
            return StoredServer(chosen, check_token(token, "FIELDGATE_TOKEN"))
    return StoredServer(chosen, stored.token if stored else "")


def unused_token_note(environment: Mapping[str, str] = os.environ) -> str:
    if environment.get("FIELDGATE_TOKEN") and not environment.get("FIELDGATE_URL"):
        return "FIELDGATE_TOKEN is not used: set FIELDGATE_URL to the server that it belongs to."
    return ""


def read_token(file: str) -> str:
    """The token in a file; `-` is standard input."""
    try:
        if file == "-":
            content = sys.stdin.readline(MAX_TOKEN_BYTES)
        else:
            with Path(file).open(encoding="utf-8") as opened:
                content = opened.read(MAX_TOKEN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise FieldgateError(
            f"The token file {file} cannot be read: {getattr(error, 'strerror', '') or error}"
        ) from None
    return check_token(content.strip(), f"The token file {file}")


def check_token(token: str, source: str) -> str:
    """A token is one word of visible ASCII characters: anything else would break the header, or is no token."""
    if not token:
        raise UsageError(f"{source} is empty.")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{source} does not hold a token: it must be one word."
        )  # never shows what it holds
    return token
