"""The command `fieldgate-client`."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fieldgate_client.cli.exit_codes import ExitCode
from fieldgate_client.cli.fetch import expand_filters
from fieldgate_client.cli.parser import PROG, build_parser
from fieldgate_client.cli.session import Session


def main(arguments: Sequence[str] | None = None, prog: str = PROG) -> int:
    """Run a command and return its exit code."""
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
