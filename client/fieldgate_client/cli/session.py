"""What every command gets: its options, the output, and a client of the chosen server."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from fieldgate_client.cli.exit_codes import describe_error
from fieldgate_client.cli.output import Output
from fieldgate_client.cli.stored_servers import (
    StoredServer,
    StoredServers,
    choose_server,
    config_file,
    is_readable_by_others,
    load_servers,
    unused_token_note,
)
from fieldgate_client.client import Client
from fieldgate_client.connection import ConnectionOptions, RetryNotice
from fieldgate_client.retries import RetryPolicy
from fieldgate_client.walk import DEFAULT_CONCURRENCY, DEFAULT_PAGE_SIZE

SHORT_RETRIES = 2  # of commands that a person waits for
LONG_RETRIES = 7
MAX_CONCURRENT_REQUESTS = 8


class Command(NamedTuple):
    """A command with its help. `run` returns the exit code."""

    summary: str
    description: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Session], int]


class Session:
    def __init__(self, prog: str, options: argparse.Namespace) -> None:
        self.prog = prog
        self.options = options
        self.output = Output(prog)

    def servers(self) -> StoredServers:
        file = config_file()
        servers = load_servers(file)
        for server in servers.servers.values():
            self.output.hide(server.token)
        if servers.servers and is_readable_by_others(file):
            self.output.note(
                f"Warning: others can read the tokens in {file}. Run: chmod 600 {file}"
            )
        return servers

    def choose_server(self, url: str = "") -> StoredServer:
        if note := unused_token_note():
            self.output.note(f"Warning: {note}")
        options = self.options
        chosen = choose_server(
            self.servers(), url=url, name=options.server or "", token_file=options.token_file or ""
        )
        self.output.hide(chosen.token)
        return chosen

    def open_client(
        self, url: str = "", on_retry: Callable[[RetryNotice], None] | None = None
    ) -> Client:
        """A client of the server that the URL, the options or the environment choose."""
        chosen = self.choose_server(url)
        options = self.options
        retries = getattr(options, "retries", None)
        concurrency = getattr(options, "concurrency", None) or DEFAULT_CONCURRENCY
        return Client(
            chosen.url,
            chosen.token,
            language=options.language or "",
            page_size=getattr(options, "page_size", None) or DEFAULT_PAGE_SIZE,
            concurrency=concurrency,
            options=ConnectionOptions(
                retries=RetryPolicy(attempts=1 + (SHORT_RETRIES if retries is None else retries)),
                max_concurrent=max(MAX_CONCURRENT_REQUESTS, concurrency),
                on_retry=on_retry,  # otherwise they are logged, which prints them
            ),
        )

    def report_error(self, error: Exception) -> int:
        """Print an exception as one line, and return its exit code."""
        code, text = describe_error(
            error, "" if self.options.command == "login" else "fieldgate-client login"
        )
        first, *others = text.splitlines() or [""]
        self.output.error(first)
        for line in others:
            self.output.note(line)
        return code


def add_server_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument(
        "--server", metavar="SERVER", help="name of a server of `login`, instead of the default"
    )
    group.add_argument(
        "--token-file", metavar="FILE", help="read the token from this file; - is standard input"
    )
    group.add_argument(
        "--language", metavar="CODE", help="language of names and messages, such as fr"
    )


def add_retries_option(parser: argparse._ActionsContainer, default: int) -> None:
    parser.add_argument(
        "--retries",
        type=whole_number(0, 50),
        default=default,
        metavar="N",
        help=f"how often a failed request is repeated, default {default}",
    )


def whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {low} to {high}, not {text!r}"
            )
        return int(text)

    return parse


def day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a day such as 2026-01-31, not {text!r}"
        ) from None


def comma_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
