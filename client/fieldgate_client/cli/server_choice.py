"""Which server a command talks to, and with which token.

A URL on the command line, `--server NAME`, FIELDGATE_URL and the default server are tried in this order. The token is
that of `--token-file`, or FIELDGATE_TOKEN if the server is FIELDGATE_URL, or the stored token of the server.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.stored_servers import StoredServers, is_below
from fieldgate_client.errors import FieldgateError
from fieldgate_client.server_url import parse_list_url, parse_server_url

MAX_TOKEN_BYTES = 10_000


class ChosenServer(msgspec.Struct, frozen=True):
    url: str
    token: str

    def __repr__(self) -> str:
        return f"<ChosenServer {self.url}>"


def choose_server(
    servers: StoredServers,
    *,
    url: str = "",
    name: str = "",
    token_file: str = "",
    environment: Mapping[str, str] = os.environ,
) -> ChosenServer:
    """Choose by the URL if there is one; a name must then belong to it."""
    own_url = environment.get("FIELDGATE_URL", "").strip()
    chosen, stored = "", None
    if name:
        stored = servers.named(name)
        if url and not is_below(url, stored.url):
            raise UsageError(f"{url} is not on the server {name} ({stored.url}). Leave out --server {name}.")
        chosen = parse_list_url(url).server if url else stored.url
    elif url:
        chosen = parse_list_url(url).server
        stored = servers.at(url)
    elif own_url:
        chosen = parse_server_url(own_url)
        stored = servers.at(chosen)
    elif servers.default:
        if environment.get("FIELDGATE_TOKEN", "").strip() and not token_file:  # it may be of another user
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
        return ChosenServer(chosen, read_token(token_file))
    if not name and own_url and is_below(url or chosen, parse_server_url(own_url)):
        token = environment.get("FIELDGATE_TOKEN", "").strip()
        if token:
            return ChosenServer(chosen, check_token(token, "FIELDGATE_TOKEN"))
    return ChosenServer(chosen, stored.token if stored else "")


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
        raise UsageError(f"{source} does not hold a token: it must be one word.")  # never shows what it holds
    return token
