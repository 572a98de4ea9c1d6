"""A file is read in a process of its own, with limits: whatever is in it, it harms that import alone.

The process is forked from a small server that has the libraries loaded already, so that it starts in
milliseconds. It may use so much memory and processor time and no more; what it writes goes into a folder that is
removed with it.
"""

import multiprocessing
import os
import resource
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from fieldgate.imports import xlsform

SPARE = 10  # seconds of real time beyond the processor time, for a machine that is busy

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["fieldgate.imports.xlsform"])


class Limits(msgspec.Struct, frozen=True):
    memory: int  # bytes
    seconds: int


class Died(Exception):
    """The process ended without a result: it ran out of memory or time, or crashed."""


def understand(data: bytes, name: str, limits: Limits) -> xlsform.Form | xlsform.Library:
    """What `xlsform.understand` says of a file, or `Refused`, or `Died`. Blocks; call it from a thread."""
    read: xlsform.Form | xlsform.Library = _in_process(xlsform.understand, (data, name), limits)
    return read


def _in_process(work: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits) -> Any:
    folder = tempfile.TemporaryDirectory(prefix="fieldgate-import-")
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_child, args=(theirs, folder.name, work, arguments, limits), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(limits.seconds + SPARE):
            raise Died("time")
        is_result, value = ours.recv()
    except (EOFError, OSError):  # it broke off before, or in the middle of, what it had to say
        raise Died("crash") from None
    finally:
        process.kill()
        process.join()
        ours.close()
        folder.cleanup()
    if is_result:
        return value
    if value is None:
        raise Died("memory")
    raise xlsform.Refused(*value)


def _child(pipe: Connection, folder: str, work: Callable[..., Any], arguments: tuple[Any, ...], limits: Limits) -> None:
    tempfile.tempdir = folder
    threading.Thread(target=_end_with_worker, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        outcome: tuple[bool, Any] = (True, work(*arguments))
    except xlsform.Refused as refused:
        outcome = (False, (refused.error_type, refused.error, refused.problems, refused.warnings))
    except MemoryError:
        outcome = (False, None)
    pipe.send(outcome)


def _end_with_worker() -> None:
    """A worker that was killed can kill nobody, and nobody waits for the result any more."""
    worker = multiprocessing.parent_process()
    if worker is not None:
        worker.join()
        os._exit(1)
