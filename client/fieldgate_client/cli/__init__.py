"""The command `fieldgate-client`: the arguments of all commands, and `completion`, a script for shells."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fieldgate_client.cli.check_forms import CHECK
from fieldgate_client.cli.exit_codes import EXIT_CODES_HELP, ExitCode
from fieldgate_client.cli.fetch import FETCH, expand_filters
from fieldgate_client.cli.import_forms import IMPORT
from fieldgate_client.cli.login import LOGIN, LOGOUT, SERVERS
from fieldgate_client.cli.session import Command, Session
from fieldgate_client.cli.share import EXPLAIN, PERMISSIONS, SHARE
from fieldgate_client.cli.team import TEAM
from fieldgate_client.exports.table import load_library
from fieldgate_client.version import __version__

PROG = "fieldgate-client"
DESCRIPTION = "Read complete lists, import forms and share assets on Fieldgate, KoboToolbox and IFRC GO servers."
ENVIRONMENT_HELP = """\
environment:
  FIELDGATE_URL    the server, if neither a URL nor --server is given
  FIELDGATE_TOKEN  the token for FIELDGATE_URL; it is sent to no other server

"""
# What shells offer, by the metavar of an argument: functions of shtab, and of the preamble.
_COMPLETIONS = {
    "FILE": {"bash": "_shtab_compgen_files", "zsh": "_files"},
    "SERVER": {"bash": "_fieldgate_server_names", "zsh": "_fieldgate_server_names"},
}
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


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run a command and return its exit code."""
    try:
        options = build_parser(prog).parse_args(
            expand_filters(sys.argv[1:] if arguments is None else arguments)
        )
    except SystemExit as ended:  # --help, --version, or wrong arguments, which are printed
        return int(ended.code or 0)
    session = Session(f"{prog} {options.command}", options)
    try:
        with _interrupted_by_sigterm():
            code = int(options.run(session))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        session.output.note("Interrupted.")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return ExitCode.OK
    except Exception as error:
        if options.debug:
            session.output.print_traceback(traceback.format_exc())
        return session.report_error(error)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """A supervisor that ends the command leaves no temporary files behind either."""
    is_ours = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGTERM")
    if not is_ours:
        yield
        return
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _discard_output() -> None:
    """The reader of standard output is gone: Python must not try to write what is left at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def build_parser(prog: str) -> argparse.ArgumentParser:
    """`prog` is the name in usage and messages: `fieldgate` has some of the commands, too."""
    parser = argparse.ArgumentParser(
        prog,
        description=DESCRIPTION,
        epilog=ENVIRONMENT_HELP + EXIT_CODES_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fieldgate-client {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name, each in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=each.summary,
            description=each.description,
            epilog=f"{each.examples}\n{EXIT_CODES_HELP}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        each.add_arguments(command)
        for action in command._actions:
            if action.metavar in _COMPLETIONS:
                action.complete = _COMPLETIONS[action.metavar]  # type: ignore[attr-defined]
        command.add_argument("--debug", action="store_true", help="show where an error happened")
        command.set_defaults(run=each.run)
    return parser


def _add_completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=sorted(_PREAMBLE), help="the shell")


def print_completion(session: Session) -> int:
    shtab = load_library("shtab", "cli")
    script = shtab.complete(
        build_parser(PROG), shell=session.options.shell, preamble=_PREAMBLE[session.options.shell]
    )
    sys.stdout.write(script if script.endswith("\n") else script + "\n")
    return ExitCode.OK


COMPLETION = Command(
    summary="print a script that completes commands in bash or zsh",
    description="Print a script for the completion of commands, options, files and names of servers.",
    examples="""\
examples:
  %(prog)s bash > ~/.local/share/bash-completion/completions/fieldgate-client
  %(prog)s zsh > ~/.zfunc/_fieldgate-client     (with fpath+=~/.zfunc in ~/.zshrc)
""",
    add_arguments=_add_completion_arguments,
    run=print_completion,
)
COMMANDS = {
    "fetch": FETCH,
    "import": IMPORT,
    "check": CHECK,
    "share": SHARE,
    "explain": EXPLAIN,
    "team": TEAM,
    "permissions": PERMISSIONS,
    "login": LOGIN,
    "logout": LOGOUT,
    "servers": SERVERS,
    "completion": COMPLETION,
}
