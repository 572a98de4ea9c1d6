"""`login`: check a token and store it for a server, or get one for a user name and password."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fieldgate_client.cli.common_options import FILES, completes
from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.terminal_text import clean_line

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session

SUMMARY = "store the token of a server"
DESCRIPTION = """\
Store a token for a server, so that other commands need none. The token is asked for, or
read from standard input; it is never an argument, as others could see it there. With
--username, a password is asked for and exchanged for a token. The token is checked first,
then stored in a file that only you can read. It is only ever sent to this server."""
EXAMPLES = """\
examples:
  %(prog)s https://field.example
  %(prog)s https://field.example --username amina
  %(prog)s https://kobo.example --name kobo < token.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="the server, such as https://field.example")
    parser.add_argument("--name", help="name of the server in --server; default: its host")
    parser.add_argument("--username", metavar="USER", help="log in with a password instead of a token")
    completes(parser.add_argument("--token-file", metavar="FILE", help="read the token from this file"), FILES)
    parser.add_argument("--default", action="store_true", help="make it the default server")
    parser.add_argument("--language", metavar="CODE", help="language of messages, such as fr")


def run(session: Session) -> int:
    from fieldgate_client.cli.stored_servers import StoredServer, config_file, save_servers
    from fieldgate_client.cli.token_check import check_server, exchange_password
    from fieldgate_client.server_url import is_loopback, parse_server_url

    options, output = session.options, session.output
    if options.username and options.token_file:
        raise UsageError("Use --username or --token-file, not both.")
    url = parse_server_url(options.url or _ask("URL of the server: "))
    name = options.name or urlsplit(url).hostname or url
    if not re.fullmatch(r"[\w.:-]+", name, re.ASCII):  # shells complete it
        raise UsageError("The name of a server can have letters, digits, and . : - _ only. Choose it with --name.")
    servers = session.servers()
    if name in servers.servers and servers.servers[name].url != url:
        raise UsageError(f"{name} is {servers.servers[name].url} already. Choose another --name, or log out first.")
    if url.startswith("http://") and not is_loopback(url):
        output.note(f"Warning: {url} is not encrypted. Others in the network can read the token.")
    if options.username:
        password = _ask_secret(f"Password of {options.username}: ")
        output.hide(password)
        token = exchange_password(url, options.username, password, options.language or "")
    else:
        token = _read_token(options.token_file)
    output.hide(token)
    username = check_server(url, token, options.language or "") or options.username or ""
    servers.add(name, StoredServer(url, token, username))
    if options.default:
        servers.default = name
    file = config_file()
    save_servers(file, servers)
    output.print(f"Logged in to {url}{f' as {clean_line(username)}' if username else ''}. The token is in {file}.")
    if servers.default == name:
        output.print("This is the default server.")
    else:
        output.print(f"Use it with --server {name}; the default is {servers.default}.")
    return ExitCode.OK


def _read_token(file: str | None) -> str:
    from fieldgate_client.cli.server_choice import check_token, read_token

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
    from getpass import getpass

    try:
        return getpass(question, stream=sys.stderr).strip()
    except EOFError:
        raise UsageError("Nothing was entered.") from None
