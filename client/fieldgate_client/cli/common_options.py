"""Options of several commands, and values of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable

FILES = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # for the completion scripts of shtab
SERVER_NAMES = {"bash": "_fieldgate_server_names", "zsh": "_fieldgate_server_names"}


def add_server_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    completes(
        group.add_argument("--server", metavar="NAME", help="a server of `login`, instead of the default"),
        SERVER_NAMES,
    )
    completes(
        group.add_argument("--token-file", metavar="FILE", help="read the token from this file; - is standard input"),
        FILES,
    )
    group.add_argument("--language", metavar="CODE", help="language of names and messages, such as fr")


def add_debug_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show where an error happened")


def completes(action: argparse.Action, kind: object) -> None:
    """What the shell offers for an argument."""
    action.complete = kind  # type: ignore[attr-defined]


def whole_number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"expected a whole number from {low} to {high}, not {text!r}")
        return int(text)

    return parse


def day(text: str) -> str:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a day such as 2026-01-31, not {text!r}") from None


def comma_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
