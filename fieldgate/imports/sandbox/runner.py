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

from fieldgate.i18n.messages import Message
from fieldgate.imports import xlsform

SPARE = 10  # seconds of real time beyond the processor time, for a machine that is busy
LONGEST_ANSWER = 128 * 1024 * 1024  # bytes: the worker has to hold it

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["fieldgate.imports.sandbox.runner"])


class Limits(msgspec.Struct, frozen=True):
    memory: int  # bytes
    seconds: int


class Why(Enum):
    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"  # of a library
    FAULT = "fault"  # an error of ours that nobody caught


class Died(Exception):
    """The process ended without a result. `notes` are for whoever runs the service."""

    def __init__(self, why: Why, notes: str = "") -> None:
        super().__init__(why.value)
        self.why = why
        self.notes = notes


class _Refusal(msgspec.Struct):
    error_type: str
    error: Message
    problems: list[xlsform.Problem]
    warnings: list[xlsform.Problem]


class _Sentence(msgspec.Struct):
    text: str
    values: dict[str, str | int]


class _Answer(msgspec.Struct, omit_defaults=True):
    """One of these."""

    form: xlsform.Form | None = None
    library: xlsform.Library | None = None
    refusal: _Refusal | None = None
    died: Why | None = None
    notes: str = ""


def understand(data: bytes, name: str, limits: Limits) -> xlsform.Form | xlsform.Library:
    """What `xlsform.understand` says of a file, or `Refused`, or `Died`. Blocks; call it from a thread."""
    return _in_process(xlsform.understand, (data, name), limits)


def _in_process(work: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits) -> xlsform.Form | xlsform.Library:
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_child, args=(theirs, work, arguments, limits), daemon=True)
    until = time.monotonic() + limits.seconds + SPARE
    with _without_program():
        process.start()
    theirs.close()
    # It may stop anywhere in its answer and stay: what ends our waiting is its end.
    watch = threading.Timer(limits.seconds + SPARE, process.kill)
    watch.start()
    try:
        answer = _decoder.decode(ours.recv_bytes(LONGEST_ANSWER))
    except EOFError:
        process.join()
        raise Died(_why(process, late=time.monotonic() >= until)) from None
    except (OSError, msgspec.MsgspecError) as error:  # half an answer, or none that we would give
        raise Died(Why.TIME if time.monotonic() >= until else Why.CRASH, str(error)) from None
    finally:
        watch.cancel()
        process.kill()
        process.join()
        ours.close()
    if answer.refusal is not None:
        refusal = answer.refusal
        raise xlsform.Refused(refusal.error_type, refusal.error, refusal.problems, refusal.warnings)
    if read := answer.form or answer.library:
        return read
    raise Died(answer.died or Why.FAULT, answer.notes)


@contextmanager
def _without_program() -> Iterator[None]:
    """A new process would run the script that was started once more, to load what it defines; we need none of it."""
    program = sys.modules["__main__"].__dict__
    path = program.pop("__file__", None)
    try:
        yield
    finally:
        if path is not None:
            program["__file__"] = path


def _why(process: ForkServerProcess, *, late: bool) -> Why:
    """Rust aborts where it gets no memory, and the kernel kills where the machine has none left."""
    if late or process.exitcode == -signal.SIGXCPU:
        return Why.TIME
    if process.exitcode in (-signal.SIGABRT, -signal.SIGKILL):
        return Why.MEMORY
    return Why.CRASH


def _child(pipe: Connection, work: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits) -> None:
    gc.disable()  # it is soon over, and looking for what could be freed takes a quarter of its time
    # Who stops the service, by Ctrl-C or a supervisor, means the worker, which finishes this first.
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asked_to_stop, signal.SIG_IGN)
    threading.Thread(target=_end_with_worker, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    # A second apart: at the first limit the signal says why, at the second the process is killed without a word.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = _encoder.encode(_answer(work, arguments))
    except MemoryError:
        answer = _encoder.encode(_Answer(died=Why.MEMORY))
    except Exception:
        answer = _encoder.encode(_Answer(died=Why.FAULT, notes=traceback.format_exc()))
    if len(answer) > LONGEST_ANSWER:
        answer = _encoder.encode(_Answer(died=Why.MEMORY))
    pipe.send_bytes(answer)


def _answer(work: Callable[..., Any], arguments: tuple[Any, ...]) -> _Answer:
    try:
        read = work(*arguments)
    except xlsform.Refused as refused:
        return _Answer(refusal=_Refusal(refused.error_type, refused.error, refused.problems, refused.warnings))
    return _Answer(library=read) if isinstance(read, xlsform.Library) else _Answer(form=read)


def _end_with_worker() -> None:
    """A worker that was killed can kill nobody, and nobody waits for the result any more."""
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join()
        os._exit(1)


def _plain(value: object) -> _Sentence:
    if isinstance(value, Message):
        return _Sentence(value.text, value.values)  # type: ignore[arg-type]  # checked where it is decoded
    raise NotImplementedError(f"{type(value).__name__} cannot be sent")


def _meant(_: type, value: Any) -> Message:
    sentence = msgspec.convert(value, _Sentence)
    return Message(sentence.text, **sentence.values)


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
_decoder = msgspec.msgpack.Decoder(_Answer, dec_hook=_meant)
