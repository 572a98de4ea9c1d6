"""A file is read in a process of its own, with limits: whatever is in it, it harms that import alone.

The process is forked from a small server that has the libraries loaded already, so that it starts in
milliseconds. It may use so much memory and processor time and no more, and writes no files. What it answers is
taken as data and nothing else: whoever got hold of it could send anything.
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

GRACE_SECONDS = 10  # seconds of real time beyond the processor time, for a machine that is busy
MAX_RESULT_BYTES = 128 * 1024 * 1024  # bytes: the worker has to hold it

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["fieldgate.imports.sandbox.runner"])


class SandboxLimits(msgspec.Struct, frozen=True):
    memory_bytes: int  # bytes
    cpu_seconds: int


class FailureReason(Enum):
    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"  # of a library
    FAULT = "fault"  # an error of ours that nobody caught


class SandboxFailure(Exception):
    """The process ended without a result. `notes` are for whoever runs the service."""

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
    """One of these."""

    form: xlsform.Form | None = None
    library: xlsform.Library | None = None
    refusal: _Rejection | None = None
    died: FailureReason | None = None
    notes: str = ""


def parse_in_sandbox(data: bytes, name: str, limits: SandboxLimits) -> xlsform.Form | xlsform.Library:
    """What `xlsform.understand` says of a file, or `Refused`, or `Died`. Blocks; call it from a thread."""
    return _run_in_process(xlsform.parse_workbook, (data, name), limits)


def _run_in_process(
    work: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits
) -> xlsform.Form | xlsform.Library:
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_child_main, args=(theirs, work, arguments, limits), daemon=True)
    until = time.monotonic() + limits.cpu_seconds + GRACE_SECONDS
    with _without_main_module():
        process.start()
    theirs.close()
    # It may stop anywhere in its answer and stay: what ends our waiting is its end.
    watch = threading.Timer(limits.cpu_seconds + GRACE_SECONDS, process.kill)
    watch.start()
    try:
        answer = _decoder.decode(ours.recv_bytes(MAX_RESULT_BYTES))
    except EOFError:
        process.join()
        raise SandboxFailure(_failure_reason(process, timed_out=time.monotonic() >= until)) from None
    except (OSError, msgspec.MsgspecError) as error:  # half an answer, or none that we would give
        raise SandboxFailure(
            FailureReason.TIME if time.monotonic() >= until else FailureReason.CRASH, str(error)
        ) from None
    finally:
        watch.cancel()
        process.kill()
        process.join()
        ours.close()
    if answer.refusal is not None:
        refusal = answer.refusal
        raise xlsform.FormRejected(refusal.error_type, refusal.error, refusal.problems, refusal.warnings)
    if read := answer.form or answer.library:
        return read
    raise SandboxFailure(answer.died or FailureReason.FAULT, answer.notes)


@contextmanager
def _without_main_module() -> Iterator[None]:
    """A new process would run the script that was started once more, to load what it defines; we need none of it."""
    program = sys.modules["__main__"].__dict__
    path = program.pop("__file__", None)
    try:
        yield
    finally:
        if path is not None:
            program["__file__"] = path


def _failure_reason(process: ForkServerProcess, *, timed_out: bool) -> FailureReason:
    """Rust aborts where it gets no memory, and the kernel kills where the machine has none left."""
    if timed_out or process.exitcode == -signal.SIGXCPU:
        return FailureReason.TIME
    if process.exitcode in (-signal.SIGABRT, -signal.SIGKILL):
        return FailureReason.MEMORY
    return FailureReason.CRASH


def _child_main(pipe: Connection, work: Callable[..., Any], arguments: tuple[Any, ...], limits: SandboxLimits) -> None:
    gc.disable()  # it is soon over, and looking for what could be freed takes a quarter of its time
    # Who stops the service, by Ctrl-C or a supervisor, means the worker, which finishes this first.
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked_to_stop, signal.SIG_IGN)
    threading.Thread(target=_exit_with_worker, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    # A second apart: at the first limit the signal says why, at the second the process is killed without a word.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _encoder.encode(_call_reader(work, arguments))
    except MemoryError:
        answer = _encoder.encode(_Result(died=FailureReason.MEMORY))
    except Exception:
        answer = _encoder.encode(_Result(died=FailureReason.FAULT, notes=traceback.format_exc()))
    if len(answer) > MAX_RESULT_BYTES:
        answer = _encoder.encode(_Result(died=FailureReason.MEMORY))
    pipe.send_bytes(answer)


def _call_reader(work: Callable[..., Any], arguments: tuple[Any, ...]) -> _Result:
    try:
        read = work(*arguments)
    except xlsform.FormRejected as refused:
        return _Result(refusal=_Rejection(refused.error_type, refused.error, refused.problems, refused.warnings))
    return _Result(library=read) if isinstance(read, xlsform.Library) else _Result(form=read)


def _exit_with_worker() -> None:
    """A worker that was killed can kill nobody, and nobody waits for the result any more."""
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
