"""The command `fieldgate-client`: one module per command.

Modules of commands import the client inside of functions, so that --help is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

PROG = "fieldgate-client"


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run a command and return its exit code."""
    from fieldgate_client.cli.exit_codes import ExitCode
    from fieldgate_client.cli.parser import build_parser
    from fieldgate_client.cli.session import Session

    try:
        options = build_parser(prog).parse_args(arguments)
    except SystemExit as ended:  # --help, --version, or wrong arguments, which are printed
        return int(ended.code or 0)
    session = Session(f"{prog} {options.command}", options)
    try:
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
            import traceback

            session.output.print_traceback(traceback.format_exc())
        return session.report_error(error)


def _discard_output() -> None:
    """The reader of standard output is gone: Python must not try to write what is left at the end."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
