"""Parsers that misbehave in the sandbox process. It imports this module, so keep the imports few."""

import mmap
import os
import resource
import select
import signal
import struct
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fieldgate.imports.sandbox import runner
from fieldgate.imports.xlsform import Form, parse_workbook


def exhaust_memory(size: int) -> bytes:
    return b"x" * size


def reserve_memory(size: int) -> Form:
    """Reserve memory and use a page of it, as Calamine does for the size that a sheet claims to have."""
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as reserved:
        reserved[0] = 1
        return Form({}, {}, None, None, None, "", 0, [])


def use_memory_briefly(size: int) -> Form:
    """Use memory and free it before the watchdog has looked, maybe."""
    b"x" * size
    return Form({}, {}, None, None, None, "", 0, [])


def process_limits(_: bytes) -> Form:
    with Path("/proc/self/oom_score_adj").open() as oom_score:
        content = {
            "oom_score": int(oom_score.read()),
            "processes": resource.getrlimit(resource.RLIMIT_NPROC),
        }
    content["niceness"] = os.getpriority(os.PRIO_PROCESS, 0)
    return Form(content, {}, None, None, None, "", 0, [])


def wait_for_low_priority(_: bytes) -> Form:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    while os.getpriority(os.PRIO_PROCESS, 0) == before:
        pass
    return Form({"niceness": os.getpriority(os.PRIO_PROCESS, 0)}, {}, None, None, None, "", 0, [])


def loop_forever(_: bytes) -> None:
    while True:
        pass


def get_no_processor_time(_: bytes) -> None:
    """Stop, as if the machine were busy with other work."""
    os.kill(os.getpid(), signal.SIGSTOP)


def work_and_abort(_: bytes) -> None:
    """Work for more than half of the processor time of the test, and abort."""
    while time.process_time() < 1.2:
        pass
    os.abort()


def wait_and_abort(data: bytes, name: str, use_first_reader: bool = True) -> Any:
    """Wait for longer than the processor time of the test, and abort. The second reader parses the file."""
    if use_first_reader:
        select.select([], [], [], 3.5)
        os.abort()
    return parse_workbook(data, name, use_first_reader=False)


def crash(_: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def receive_stop_signals(data: bytes) -> Any:
    """Get the signals that a terminal or a supervisor sends to all processes of a service, then parse."""
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), stop_signal)
    return parse_workbook(data, "form")


def raise_error(_: bytes) -> None:
    raise KeyError("an error of ours")


def exit_early(_: bytes) -> None:
    sys.exit(3)


def write_to_memory_file(_: bytes) -> None:
    """Write to a file that is in no folder: only the limit of file sizes prevents it."""
    os.write(os.memfd_create("file"), b"content")


def die_mid_result(_: bytes) -> None:
    """Begin a result of a thousand bytes and die."""
    os.write(_pipe().fileno(), struct.pack("!i", 1000) + b"x" * 10)
    os.kill(os.getpid(), signal.SIGKILL)


def return_unserializable(_: bytes) -> Any:
    return lambda: None


def return_oversized(_: bytes) -> Form:
    return Form({}, {}, None, None, None, "x" * (runner.MAX_RESULT_BYTES + 1), 0, [])


def send_bytes(data: bytes) -> None:
    """Send any bytes, as an attacker in control of the process could."""
    _pipe().send_bytes(data)
    signal.pause()


def send_half_and_hang(_: bytes) -> None:
    os.write(_pipe().fileno(), struct.pack("!i", 1000) + b"x" * 10)
    signal.pause()


def send_endless(_: bytes) -> None:
    os.write(_pipe().fileno(), struct.pack("!i", 2**31 - 1))
    signal.pause()


def close_and_hang(_: bytes) -> None:
    _pipe().close()
    signal.pause()


def _pipe() -> Connection:
    """Return the pipe of the process, a local variable some frames above."""
    frame = sys._getframe(1)
    while "pipe" not in frame.f_locals:
        assert frame.f_back is not None
        frame = frame.f_back
    found: Connection = frame.f_locals["pipe"]
    return found
