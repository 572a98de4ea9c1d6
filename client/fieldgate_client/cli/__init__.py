"""The command `fieldgate-client`: one module per command.

Modules of commands import the client inside of functions, so that --help is fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PROG = "fieldgate-client"


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run a command and return its exit code."""
    from fieldgate_client.cli.exit_codes import ExitCode
    from fieldgate_client.cli.filter_options import expand_filters
    from fieldgate_client.cli.parser import build_parser
    from fieldgate_client.cli.session import Session

    try:
        options = build_parser(prog).parse_args(expand_filters(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as ended:  # --help, --version, or wrong arguments, which are printed
        return int(ended.code or 0)
    session = Session(f"{prog} {options.command}", options)
    try:
        with _interrupted_by_sigterm():
            code = int(options.run(session))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        is_resumable = getattr(options, "resume", False)
        session.output.note(f"Interrupted.{' Run the same command again to continue.' if is_resumable else ''}")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return ExitCode.OK
    except Exception as error:
        if options.debug:
            import traceback

            session.output.print_traceback(traceback.format_exc())
        return session.report_error(error)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """A supervisor that ends the command leaves no temporary files behind either."""
    import signal
    import threading

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
