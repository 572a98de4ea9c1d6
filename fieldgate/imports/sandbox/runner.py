"""Read a workbook in a separate process with limits, so that a hostile file can only make its own import fail.

The process is forked from a server that has the libraries loaded, so it starts in milliseconds. Its memory (see
`watchdog`) and processor time are limited, and it cannot write files (see `confinement`). Its result is decoded as
plain data, never unpickled: the process may be under the control of the author of the file.
"""

import gc
import math
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message, MessageData, message_from_data, message_to_data
from fieldgate.imports import xlsform
from fieldgate.imports.sandbox.confinement import confine_process, offer_to_oom_killer
from fieldgate.imports.sandbox.watchdog import FailureReason as FailureReason
from fieldgate.imports.sandbox.watchdog import Watchdog, can_watch_memory
from fieldgate.runtime.process_limits import lower_priority

QUICK_SECONDS = 1.0  # most forms take less
GRACE_SECONDS = 30  # by the clock, in addition to the processor time, for a busy machine
MAX_RESULT_BYTES = 128 * 1024 * 1024  # the worker holds it in memory
# Address space in addition to the memory, where that can be watched. A reader reserves 40 bytes for each cell of the
# largest sheet of an xls file: 1,048,576 rows and 256 columns.
RESERVED_BYTES = 16 * 1024**3
# Native code gave up: Rust aborts if an allocation fails or a panic cannot be handled.
ABORT_CODES = tuple(
    -number
    for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP)
)

UNEXPECTED_RESULT = "the result is of another kind"

MAX_SOCKET_FOLDER_CHARS = 60  # systems allow about 100 characters, and the names in it have 35
SHORT_FOLDER = "/tmp"  # noqa: S108 -- a new folder with a random name is created in it

# Modules that the fork server loads.
PRELOADED_MODULES = [
    "fieldgate.imports.sandbox.runner",
    "fieldgate.imports.xlsform.content_importer",
]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOADED_MODULES)
_main_module_lock = threading.Lock()


OnStart = Callable[[ForkServerProcess], None]


class SandboxLimits(msgspec.Struct, frozen=True):
    memory_bytes: int
    cpu_seconds: int
    grace_seconds: int = GRACE_SECONDS


class SandboxFailure(Exception):
    """The process ended without a result. `details` are for the log; `aborted` if native code ended it."""

    def __init__(
        self,
        reason: FailureReason,
        details: str = "",
        *,
        aborted: bool = False,
        cpu_seconds: float = 0.0,
    ) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.details = details
        self.aborted = aborted
        self.cpu_seconds = cpu_seconds  # that the process used


class SandboxNotStarted(OSError):
    """No process could be started: the fork server was killed, or the machine is out of processes or memory."""


class _Rejection(msgspec.Struct):
    """The arguments of `FormRejected`."""

    error_type: str
    error: Message
    problems: list[xlsform.Issue]
    warnings: list[xlsform.Issue]
    excerpts: list[xlsform.SheetExcerpt]


class _Result(msgspec.Struct, omit_defaults=True):
    """Exactly one of the first five is set."""

    form: xlsform.Form | None = None
    library: xlsform.Library | None = None
    workbook: bytes | None = None
    rejection: _Rejection | None = None
    failure: FailureReason | None = None
    details: str = ""


def parse_in_sandbox(
    data: bytes,
    name: str,
    limits: SandboxLimits,
    asset_uid: str | None = None,
    on_start: OnStart | None = None,
) -> xlsform.Form | xlsform.Library:
    """Run `xlsform.parse_workbook` in a sandbox process. Blocks: call it from a thread.

    Raise FormRejected if the workbook is not valid, SandboxFailure if the process ended without a result, and
    SandboxNotStarted if there was none.
    """
    parsed = _run_with_both_readers(
        xlsform.parse_workbook, (data, name, asset_uid), limits, on_start
    )
    if isinstance(parsed, bytes):  # the process is not trusted
        raise SandboxFailure(FailureReason.CRASH, UNEXPECTED_RESULT)
    return parsed


def parse_content_in_sandbox(
    content: xlsform.EncodedContent, limits: SandboxLimits, on_start: OnStart | None = None
) -> xlsform.Form:
    """Run `xlsform.parse_content` in a sandbox process, like `parse_in_sandbox`.

    `on_start` receives the process, to end it early.
    """
    parsed = run_in_process(xlsform.parse_content, (content,), limits, on_start)
    if not isinstance(parsed, xlsform.Form):  # the process is not trusted
        raise SandboxFailure(FailureReason.CRASH, UNEXPECTED_RESULT)
    return parsed


def annotate_in_sandbox(
    data: bytes,
    comments: Sequence[xlsform.IssueComment],
    limits: SandboxLimits,
    on_start: OnStart | None = None,
) -> bytes:
    """Run `xlsform.annotate_workbook` in a sandbox process, like `parse_content_in_sandbox`."""
    written = _run_with_both_readers(
        xlsform.annotate_workbook, (data, list(comments)), limits, on_start
    )
    if not isinstance(written, bytes):  # the process is not trusted
        raise SandboxFailure(FailureReason.CRASH, UNEXPECTED_RESULT)
    return written


def start_fork_server() -> None:
    """Start the server that processes are forked from, and wait until it has loaded the libraries. Blocks."""
    process = _context.Process(target=_do_nothing, daemon=True)
    with _without_main_module():
        process.start()
    process.join()


def _do_nothing() -> None:
    """The first process ends as soon as the fork server could start it."""


def _run_with_both_readers(
    read: Callable[..., Any],
    arguments: tuple[Any, ...],
    limits: SandboxLimits,
    on_start: OnStart | None = None,
) -> xlsform.Form | xlsform.Library | bytes:
    """Call a function that reads a file, the first of its arguments; again with the second reader if it aborts.

    An exception of the first reader lets the process try the second. An abort needs another process.
    """
    try:
        return run_in_process(read, arguments, limits, on_start)
    except SandboxFailure as failure:
        seconds_left = limits.cpu_seconds - math.ceil(failure.cpu_seconds)
        if not failure.aborted or seconds_left < 1 or not xlsform.has_second_reader(arguments[0]):
            raise
    remaining = msgspec.structs.replace(limits, cpu_seconds=seconds_left)
    return run_in_process(read, (*arguments, False), remaining, on_start)


def run_in_process(
    parse: Callable[..., Any],
    arguments: tuple[Any, ...],
    limits: SandboxLimits,
    on_start: OnStart | None = None,
) -> xlsform.Form | xlsform.Library | bytes:
    """Call a function in a sandbox process, and return its result.

    The process is not trusted: the caller must check the type of the result.
    """
    result = _receive_result(parse, arguments, limits, on_start)
    if rejection := result.rejection:
        raise xlsform.FormRejected(*msgspec.structs.astuple(rejection))
    if parsed := result.form or result.library or result.workbook:
        return parsed
    raise SandboxFailure(result.failure or FailureReason.FAULT, result.details)


def _receive_result(
    parse: Callable[..., Any],
    arguments: tuple[Any, ...],
    limits: SandboxLimits,
    on_start: OnStart | None,
) -> _Result:
    receiver, process = _start_process(parse, arguments, limits)
    if on_start is not None:
        on_start(process)
    # The process may send half a result and hang. The end of the process ends recv_bytes.
    seconds = limits.cpu_seconds + limits.grace_seconds
    started = time.monotonic()
    watchdog = Watchdog(process.pid or 0, process.kill, limits.memory_bytes, seconds)
    try:
        with watchdog:
            try:
                return _decoder.decode(receiver.recv_bytes(MAX_RESULT_BYTES))
            except EOFError:
                process.join()
                details, reason = "", _failure_reason(process)
            except (OSError, msgspec.MsgspecError) as error:  # an incomplete or invalid result
                details, reason = str(error), FailureReason.CRASH
        if killed_for := watchdog.killed_for:
            raise SandboxFailure(killed_for, details)
        used = time.monotonic() - started if watchdog.cpu_seconds is None else watchdog.cpu_seconds
        raise SandboxFailure(
            reason, details, aborted=process.exitcode in ABORT_CODES, cpu_seconds=used
        )
    finally:
        process.kill()
        process.join()
        receiver.close()


def _start_process(
    parse: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits
) -> tuple[Connection, ForkServerProcess]:
    """Start a process, and return it with the end of the pipe that receives its result."""
    receiver, sender = _context.Pipe(duplex=False)
    process = _context.Process(
        target=_child_main, args=(sender, parse, arguments, limits), daemon=True
    )
    try:
        with _without_main_module():
            process.start()
    except (OSError, EOFError) as error:
        receiver.close()
        raise SandboxNotStarted(f"{type(error).__name__}: {error}") from error
    finally:
        sender.close()
    return receiver, process


@contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep multiprocessing from importing the main script in the new process: nothing of it is needed.

    The name of the script is global, so processes are started one at a time.
    """
    main_module = sys.modules["__main__"].__dict__
    with _main_module_lock:
        path = main_module.pop("__file__", None)
        try:
            with _short_temporary_folder():
                yield
        finally:
            if path is not None:
                main_module["__file__"] = path


@contextmanager
def _short_temporary_folder() -> Iterator[None]:
    """Keep the socket of the fork server out of a temporary folder with a long path: no socket could have it.

    While a process starts, `multiprocessing` creates a folder for the socket, and removes it when the program ends.
    """
    usual = tempfile.gettempdir()
    if len(usual) <= MAX_SOCKET_FOLDER_CHARS:
        yield
        return
    tempfile.tempdir = SHORT_FOLDER
    try:
        yield
    finally:
        tempfile.tempdir = usual


def _failure_reason(process: ForkServerProcess) -> FailureReason:
    if process.exitcode == -signal.SIGXCPU:
        return FailureReason.TIME
    # Rust aborts if an allocation fails; the kernel kills a process if the machine is out of memory.
    if process.exitcode in (-signal.SIGABRT, -signal.SIGKILL):
        return FailureReason.MEMORY
    return FailureReason.CRASH


def _child_main(
    pipe: Connection, parse: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits
) -> None:
    gc.disable()  # the process is short-lived, and collecting takes a quarter of its time
    offer_to_oom_killer()
    confine_process()
    is_watched = can_watch_memory()
    # Ctrl-C or a supervisor may signal the whole group; the worker finishes this import before it stops.
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop_signal, signal.SIG_IGN)
    threading.Thread(target=_watch_worker, args=(threading.get_native_id(),), daemon=True).start()
    address_space = limits.memory_bytes + (RESERVED_BYTES if is_watched else 0)
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    # Each process would have its own limits. It does not bind root.
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # At the soft limit SIGXCPU tells the worker the reason; at the hard limit, a second later, SIGKILL does not.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    try:
        encoded = _encoder.encode(_call_parser(parse, arguments))
    except MemoryError:
        encoded = _encoder.encode(_Result(failure=FailureReason.MEMORY))
    except Exception:
        encoded = _encoder.encode(
            _Result(failure=FailureReason.FAULT, details=traceback.format_exc())
        )
    if len(encoded) > MAX_RESULT_BYTES or (is_watched and _peak_memory() > limits.memory_bytes):
        encoded = _encoder.encode(_Result(failure=FailureReason.MEMORY))
    pipe.send_bytes(encoded)


def _peak_memory() -> int:
    """Return the most bytes that were resident. The watchdog may miss a short peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _call_parser(parse: Callable[..., Any], arguments: tuple[Any, ...]) -> _Result:
    try:
        parsed = parse(*arguments)
    except xlsform.FormRejected as error:
        return _Result(
            rejection=_Rejection(*(getattr(error, name) for name in _Rejection.__struct_fields__))
        )
    if isinstance(parsed, bytes):
        return _Result(workbook=parsed)
    return _Result(library=parsed) if isinstance(parsed, xlsform.Library) else _Result(form=parsed)


def _watch_worker(reader: int) -> None:
    """End this process when the worker ends: a killed worker cannot end it, and nobody waits for the result.

    What takes longer than most forms gets a low priority, so that it does not delay requests and other forms.
    """
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join(QUICK_SECONDS)
        lower_priority(reader)
        worker.join()
        os._exit(1)


def _encode_message(value: object) -> MessageData:
    if isinstance(value, Message):
        return message_to_data(value)
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


def _decode_message(_: type, value: Any) -> Message:
    return message_from_data(msgspec.convert(value, MessageData))


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_message)
_decoder = msgspec.msgpack.Decoder(_Result, dec_hook=_decode_message)
