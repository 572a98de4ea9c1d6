"""`completion`: a script that completes commands, options, files and names of servers in a shell."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fieldgate_client.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from fieldgate_client.cli.session import Session

SUMMARY = "print a script that completes commands in bash or zsh"
DESCRIPTION = "Print a script for the completion of commands, options, files and names of servers."
EXAMPLES = """\
examples:
  %(prog)s bash > ~/.local/share/bash-completion/completions/fieldgate-client
  %(prog)s zsh > ~/.zfunc/_fieldgate-client     (with fpath+=~/.zfunc in ~/.zshrc)
"""
_PREAMBLE = {
    "bash": """\
_fieldgate_server_names() {
  compgen -W "$(fieldgate-client servers --names 2>/dev/null)" -- "$1"
}
""",
    "zsh": """\
_fieldgate_server_names() {
  local -a names=(${(f)"$(fieldgate-client servers --names 2>/dev/null)"})
  compadd -a names
}
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(_PREAMBLE), help="the shell")


def run(session: Session) -> int:
    try:
        import shtab
    except ImportError:
        from fieldgate_client.errors import MissingExtra

        raise MissingExtra("shtab", "cli") from None
    from fieldgate_client.cli import PROG
    from fieldgate_client.cli.parser import build_parser

    script = shtab.complete(build_parser(PROG), shell=session.options.shell, preamble=_PREAMBLE[session.options.shell])
    sys.stdout.write(script if script.endswith("\n") else script + "\n")
    return ExitCode.OK
