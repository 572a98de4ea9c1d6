"""What a process with limits may do instead of its work. It loads this module: that must not take long."""

import os
import signal
import struct
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fieldgate.imports.sandbox import runner
from fieldgate.imports.xlsform import Form, parse_workbook


def exhaust_memory(size: int) -> bytes:
    """Memory without end, as a parser can be made to take it."""
    return b"x" * size


def loop_forever(_: bytes) -> None:
    while True:
        pass


def crash(_: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def receive_stop_signals(data: bytes) -> Any:
    """As all processes of a service are, when a terminal or a supervisor stops it."""
    for asked_to_stop in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), asked_to_stop)
    return parse_workbook(data, "form")


def raise_error(_: bytes) -> None:
    raise KeyError("an error of ours")


def exit_early(_: bytes) -> None:
    sys.exit(3)


def write_file(path: str) -> None:
    Path(path).write_bytes(b"left behind")


def die_mid_result(_: bytes) -> None:
    """Begins an answer of a thousand bytes, and is no more."""
    os.write(_pipe().fileno(), struct.pack("!i", 1000) + b"x" * 10)
    os.kill(os.getpid(), signal.SIGKILL)


def return_unserializable(_: bytes) -> Any:
    return lambda: None


def return_oversized(_: bytes) -> Form:
    return Form({}, {}, None, None, None, "x" * (runner.MAX_RESULT_BYTES + 1), 0, [])


def send_bytes(data: bytes) -> None:
    """An answer of somebody who got hold of the process."""
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


def parse_without_writing(book: bytes) -> Any:
    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        assert event != "open" or not arguments[2] & (os.O_WRONLY | os.O_RDWR), arguments

    sys.dont_write_bytecode = True
    sys.addaudithook(refuse)
    return parse_workbook(book, "household")


def _pipe() -> Connection:
    """That of the process, some frames above."""
    frame = sys._getframe(1)
    while "pipe" not in frame.f_locals:
        assert frame.f_back is not None
        frame = frame.f_back
    found: Connection = frame.f_locals["pipe"]
    return found
