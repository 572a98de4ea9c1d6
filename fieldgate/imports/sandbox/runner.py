"""Read a workbook in a separate process with limits, so that a hostile file can only make its own import fail.

The process is forked from a server that has the libraries loaded, so it starts in milliseconds. Its memory and
processor time are limited, and it cannot write files (see `confinement`). Its result is decoded as plain data, never
unpickled: the process may be under the control of the author of the file.
"""

import gc
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

import msgspec

from fieldgate.i18n.message_data import MessageData, message_from_data, message_to_data
from fieldgate.i18n.messages import Message
from fieldgate.imports import xlsform
from fieldgate.imports.sandbox.confinement import confine_process

GRACE_SECONDS = 10  # wall clock time in addition to the processor time, for a busy machine
MAX_RESULT_BYTES = 128 * 1024 * 1024  # the worker holds it in memory

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["fieldgate.imports.sandbox.runner", "fieldgate.imports.xlsform.content_importer"])
_start_lock = threading.Lock()


OnStart = Callable[[ForkServerProcess], None]


class SandboxLimits(msgspec.Struct, frozen=True):
    memory_bytes: int
    cpu_seconds: int


class FailureReason(Enum):
    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"  # in a library
    FAULT = "fault"  # an uncaught exception in our code


class SandboxFailure(Exception):
    """The process ended without a result. `details` are for the log."""

    def __init__(self, reason: FailureReason, details: str = "") -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.details = details


class _Rejection(msgspec.Struct):
    error_type: str
    error: Message
    problems: list[xlsform.Issue]
    warnings: list[xlsform.Issue]


class _Result(msgspec.Struct, omit_defaults=True):
    """Exactly one of the first four is set."""

    form: xlsform.Form | None = None
    library: xlsform.Library | None = None
    rejection: _Rejection | None = None
    failure: FailureReason | None = None
    details: str = ""


def parse_in_sandbox(data: bytes, name: str, limits: SandboxLimits) -> xlsform.Form | xlsform.Library:
    """Run `xlsform.parse_workbook` in a sandbox process. Blocks: call it from a thread.

    Raise FormRejected if the workbook is not valid, SandboxFailure if the process ended without a result.
    """
    return _run_in_process(xlsform.parse_workbook, (data, name), limits)


def parse_content_in_sandbox(
    content: xlsform.EncodedContent, limits: SandboxLimits, on_start: OnStart | None = None
) -> xlsform.Form:
    """Run `xlsform.parse_content` in a sandbox process, like `parse_in_sandbox`.

    `on_start` receives the process, to end it early.
    """
    parsed = _run_in_process(xlsform.parse_content, (content,), limits, on_start)
    if isinstance(parsed, xlsform.Library):  # the process is not trusted
        raise SandboxFailure(FailureReason.CRASH, "the result is a library")
    return parsed


def _run_in_process(
    parse: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits, on_start: OnStart | None = None
) -> xlsform.Form | xlsform.Library:
    result = _receive_result(parse, arguments, limits, on_start)
    if rejection := result.rejection:
        raise xlsform.FormRejected(rejection.error_type, rejection.error, rejection.problems, rejection.warnings)
    if parsed := result.form or result.library:
        return parsed
    raise SandboxFailure(result.failure or FailureReason.FAULT, result.details)


def _receive_result(
    parse: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits, on_start: OnStart | None
) -> _Result:
    receiver, sender = _context.Pipe(duplex=False)
    process = _context.Process(target=_child_main, args=(sender, parse, arguments, limits), daemon=True)
    deadline = time.monotonic() + limits.cpu_seconds + GRACE_SECONDS
    with _without_main_module():
        process.start()
    sender.close()
    if on_start is not None:
        on_start(process)
    # The process may send half a result and hang. The end of the process ends recv_bytes.
    watchdog = threading.Timer(limits.cpu_seconds + GRACE_SECONDS, process.kill)
    watchdog.start()
    try:
        return _decoder.decode(receiver.recv_bytes(MAX_RESULT_BYTES))
    except EOFError:
        process.join()
        raise SandboxFailure(_failure_reason(process, timed_out=time.monotonic() >= deadline)) from None
    except (OSError, msgspec.MsgspecError) as error:  # an incomplete or invalid result
        reason = FailureReason.TIME if time.monotonic() >= deadline else FailureReason.CRASH
        raise SandboxFailure(reason, str(error)) from None
    finally:
        watchdog.cancel()
        process.kill()
        process.join()
        receiver.close()


@contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep multiprocessing from importing the main script in the new process: nothing of it is needed.

    The name of the script is global, so processes are started one at a time.
    """
    main_module = sys.modules["__main__"].__dict__
    with _start_lock:
        path = main_module.pop("__file__", None)
        try:
            yield
        finally:
            if path is not None:
                main_module["__file__"] = path


def _failure_reason(process: ForkServerProcess, *, timed_out: bool) -> FailureReason:
    if timed_out or process.exitcode == -signal.SIGXCPU:
        return FailureReason.TIME
    # Rust aborts if an allocation fails; the kernel kills a process if the machine is out of memory.
    if process.exitcode in (-signal.SIGABRT, -signal.SIGKILL):
        return FailureReason.MEMORY
    return FailureReason.CRASH


def _child_main(pipe: Connection, parse: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits) -> None:
    gc.disable()  # the process is short-lived, and collecting takes a quarter of its time
    confine_process()
    # Ctrl-C or a supervisor may signal the whole group; the worker finishes this import before it stops.
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop_signal, signal.SIG_IGN)
    threading.Thread(target=_exit_with_worker, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    # At the soft limit SIGXCPU tells the worker the reason; at the hard limit, a second later, SIGKILL does not.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    try:
        encoded = _encoder.encode(_call_parser(parse, arguments))
    except MemoryError:
        encoded = _encoder.encode(_Result(failure=FailureReason.MEMORY))
    except Exception:
        encoded = _encoder.encode(_Result(failure=FailureReason.FAULT, details=traceback.format_exc()))
    if len(encoded) > MAX_RESULT_BYTES:
        encoded = _encoder.encode(_Result(failure=FailureReason.MEMORY))
    pipe.send_bytes(encoded)


def _call_parser(parse: Callable[..., Any], arguments: tuple[Any, ...]) -> _Result:
    try:
        parsed = parse(*arguments)
    except xlsform.FormRejected as error:
        return _Result(rejection=_Rejection(error.error_type, error.error, error.problems, error.warnings))
    return _Result(library=parsed) if isinstance(parsed, xlsform.Library) else _Result(form=parsed)


def _exit_with_worker() -> None:
    """End this process when the worker ends: a killed worker cannot end it, and nobody waits for the result."""
    worker = multiprocessing.parent_process()
    if worker is not None:
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
