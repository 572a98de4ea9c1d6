"""`login`, `logout` and `servers`: tokens for servers, checked and stored, also in exchange for a password."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from getpass import getpass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.session import Command, Session
from fieldgate_client.cli.stored_servers import (
    StoredServer,
    check_token,
    config_file,
    read_token,
    save_servers,
)
from fieldgate_client.client import Client
from fieldgate_client.connection import Connection, ConnectionOptions
from fieldgate_client.errors import (
    FieldgateError,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    UnexpectedResponse,
)
from fieldgate_client.retries import RetryPolicy
from fieldgate_client.server_url import is_loopback, parse_server_url
from fieldgate_client.terminal_text import clean_line

# A wrong token is refused everywhere. Which of these exist depends on the server.
_CHECKED_PATHS = ("account/", "permissions/", "event/")
_TIMEOUT_SECONDS = 60


def _add_login_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", nargs="?", help="the server, such as https://field.example"
    )
    parser.add_argument("--name", help="name of the server in --server; default: its host")
    parser.add_argument(
        "--username", metavar="USER", help="log in with a password instead of a token"
    )
    parser.add_argument(
        "--scopes",
        metavar="LIST",
        help="with --username: what the token is for, such as read,imports",
    )
    parser.add_argument("--token-file", metavar="FILE", help="read the token from this file")
    parser.add_argument("--default", action="store_true", help="make it the default server")
    parser.add_argument("--language", metavar="CODE", help="language of messages, such as fr")


def log_in(session: Session) -> int:
    options, output = session.options, session.output
    if options.username and options.token_file:
        raise UsageError("Use --username or --token-file, not both.")
    if options.scopes and not options.username:
        raise UsageError("--scopes needs --username: a token has its scopes from the start.")
    url = parse_server_url(options.url or _ask("URL of the server: "))
    name = options.name or urlsplit(url).hostname or url
    if not re.fullmatch(r"[\w.:-]+", name, re.ASCII):  # shells complete it
        raise UsageError(
            "The name of a server can have letters, digits, and . : - _ only. Choose it with --name."
        )
    servers = session.servers()
    if name in servers.servers and servers.servers[name].url != url:
        raise UsageError(
            f"{name} is {servers.servers[name].url} already. Choose another --name, or log out first."
        )
    if url.startswith("http://") and not is_loopback(url):
        output.note(f"Warning: {url} is not encrypted. Others in the network can read the token.")
    if options.username:
        password = _ask_secret(f"Password of {options.username}: ")
        output.hide(password)
        scopes = re.split(r"[\s,]+", options.scopes.strip()) if options.scopes else []
        token = exchange_password(url, options.username, password, options.language or "", scopes)
    else:
        token = _read_token(options.token_file)
    output.hide(token)
    username = check_server(url, token, options.language or "") or options.username or ""
    servers.add(name, StoredServer(url, token, username))
    if options.default:
        servers.default = name
    file = config_file()
    save_servers(file, servers)
    output.print(
        f"Logged in to {url}{f' as {clean_line(username)}' if username else ''}. The token is in {file}."
    )
    if servers.default == name:
        output.print("This is the default server.")
    else:
        output.print(f"Use it with --server {name}; the default is {servers.default}.")
    return ExitCode.OK


def _read_token(file: str | None) -> str:
    if file:
        return read_token(file)
    return check_token(_ask_secret("Token: "), "The token")


def _ask(question: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError("Give the URL of the server, such as https://field.example.")
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _ask_secret(question: str) -> str:
    """Without echo on a terminal; otherwise the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    try:
        return getpass(question, stream=sys.stderr).strip()
    except EOFError:
        raise UsageError("Nothing was entered.") from None


def _add_logout_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="SERVER", nargs="?", help="name of the server; default: the default server"
    )


def log_out(session: Session) -> int:
    servers = session.servers()
    name = session.options.name or servers.default
    if not name:
        raise UsageError(
            "You are not logged in."
            if not servers.servers
            else "Name one of these: " + ", ".join(servers.servers)
        )
    removed = servers.remove(name)
    save_servers(config_file(), servers)
    session.output.print(
        f"Logged out of {name}. The token was removed from this computer, but stays valid. "
        f"To revoke it on Fieldgate, open {removed.url}/api/v2/account/tokens/"
    )
    return ExitCode.OK


def _add_servers_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--default", metavar="SERVER", help="make this the default server")
    parser.add_argument("--names", action="store_true", help="print the names only")


def show_servers(session: Session) -> int:
    options, output = session.options, session.output
    servers = session.servers()
    if options.default:
        servers.named(options.default)
        servers.default = options.default
        save_servers(config_file(), servers)
    if options.names:
        for name in servers.servers:
            output.print(name)
    elif servers.servers:
        rows = [
            [name, each.username, "default" if name == servers.default else "", each.url]
            for name, each in servers.servers.items()
        ]
        output.print_table(["name", "user", "", "url"], rows)
    else:
        output.note("No servers are stored. Log in with: fieldgate-client login URL")
    return ExitCode.OK


def check_server(url: str, token: str, language: str = "") -> str:
    """Raise `NotAuthenticated` for a wrong token. Return the user name, if the server tells it."""
    options = ConnectionOptions(retries=RetryPolicy(attempts=2))
    with Client(url, token, language=language, options=options) as client:
        for path in _CHECKED_PATHS:
            try:
                found = client.get(path, limit=1)
            except NotFound:
                continue
            username = found.get("username") if isinstance(found, dict) else None
            return username if isinstance(username, str) else ""
    raise FieldgateError(
        f"{url} has none of the lists of Fieldgate, KoboToolbox or IFRC GO. Check the address."
    )


def exchange_password(
    url: str, username: str, password: str, language: str = "", scopes: Sequence[str] = ()
) -> str:
    """A token for a user name and password: `/token/` of Fieldgate and KoboToolbox, `/get_auth_token` of IFRC GO.

    Only Fieldgate has tokens with `scopes`.
    """
    token = asyncio.run(_request_token(url, username, password, language, scopes)).get("token")
    if not isinstance(token, str) or not token:
        raise UnexpectedResponse(f"{url} did not answer with a token.")
    return check_token(token, "The answer of the server")


async def _request_token(
    url: str, username: str, password: str, language: str, scopes: Sequence[str]
) -> dict[str, Any]:
    credentials = b64encode(f"{username}:{password}".encode()).decode()
    once = RetryPolicy(attempts=1)
    basic = ConnectionOptions(
        timeout=_TIMEOUT_SECONDS, retries=once, headers={"Authorization": f"Basic {credentials}"}
    )
    async with Connection(url, options=basic, language=language) as connection:
        if scopes:
            wanted = {"name": "fieldgate-client", "scopes": list(scopes)}
            created = await connection.send("POST", "/api/v2/account/tokens/", json=wanted)
            return msgspec.json.decode(created.body, type=dict[str, Any])
        with suppress(NotFound):
            return await connection.fetch_json("/token/", dict[str, Any], {"format": "json"})
    options = ConnectionOptions(timeout=_TIMEOUT_SECONDS, retries=once)
    async with Connection(url, options=options, language=language) as connection:
        try:
            sent = {"username": username, "password": password}
            answer = await connection.send("POST", "/get_auth_token", json=sent)
            return msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            raise UnexpectedResponse(f"{url} did not answer with a token.") from None
        except InvalidRequest as error:  # its answer to a wrong password
            raise NotAuthenticated(
                error.message or "The user name or password is wrong.", status=error.status, url=url
            ) from None


LOGIN = Command(
    summary="store the token of a server",
    description="""\
Store a token for a server, so that other commands need none. The token is asked for, or
read from standard input; it is never an argument, as others could see it there. With
--username, a password is asked for and exchanged for a token. The token is checked first,
then stored in a file that only you can read. It is only ever sent to this server.""",
    examples="""\
examples:
  %(prog)s https://field.example
  %(prog)s https://field.example --username amina
  %(prog)s https://kobo.example --name kobo < token.txt
""",
    add_arguments=_add_login_arguments,
    run=log_in,
)
LOGOUT = Command(
    summary="remove the stored token of a server",
    description="Remove a server and its token from this computer. The token itself stays valid until it is revoked.",
    examples="""\
examples:
  %(prog)s
  %(prog)s field.example
""",
    add_arguments=_add_logout_arguments,
    run=log_out,
)
SERVERS = Command(
    summary="list stored servers, and choose the default",
    description="List the servers that you logged in to, without their tokens.",
    examples="""\
examples:
  %(prog)s
  %(prog)s --default field.example
""",
    add_arguments=_add_servers_arguments,
    run=show_servers,
)
