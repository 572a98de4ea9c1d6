"""Run commands and `fieldgate serve` in processes of their own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import pytest

from tests import command_server

FIELDGATE_COMMAND = Path(sys.executable).parent / "fieldgate"
TIMEOUT_SECONDS = 60


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_command(
    *arguments: str, data: Path, stdin: str = "", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and wait until it ends."""
    return command_server.run(
        [*arguments, "--data", str(data)],
        stdin=stdin,
        environment={**os.environ, **(environment or {})},
        timeout=TIMEOUT_SECONDS,
    )


class ServerProcess:
    """`fieldgate serve`; stopped at the end of the block."""

    def __init__(
        self,
        data: Path,
        *options: str,
        environment: dict[str, str] | None = None,
        port: int | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """`timeout`: seconds until it must be ready."""
        self._timeout = timeout
        self.port = port or free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.data = data
        self.output = ""
        self.log = ""
        self._ready = threading.Event()
        self._command: list[str | Path] = [
            FIELDGATE_COMMAND,
            "serve",
            "--port",
            str(self.port),
            "--data",
            data,
            *options,
        ]
        self._environment = {**os.environ, **(environment or {})}

    def __enter__(self) -> "ServerProcess":
        self.process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read_stream, args=(stream,), daemon=True)
            for stream in ("stdout", "stderr")
        ]
        for reader in self._readers:
            reader.start()
        self._ready.wait(self._timeout)
        if "listening on" not in self.output:
            self.stop()
            pytest.fail(f"did not start:\n{self.output}\n{self.log}")
        return self

    def _read_stream(self, name: str) -> None:
        for line in getattr(self.process, name):
            if name == "stdout":
                self.output += line
                if "listening on" in line:
                    self._ready.set()
            else:
                self.log += line
        self._ready.set()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> int:
        """Stop with SIGTERM, as a supervisor does, and return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(TIMEOUT_SECONDS)
        for reader in self._readers:
            reader.join(TIMEOUT_SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return status

    def log_entry(self, request_id: str) -> dict[str, Any]:
        """Wait for the access log line of a request."""
        until = time.monotonic() + TIMEOUT_SECONDS
        while True:
            lines = [json.loads(line) for line in self.log.splitlines() if line.endswith("}")]
            found: list[dict[str, Any]] = [
                line for line in lines if line.get("request_id") == request_id
            ]
            if found:
                return found[0]
            assert time.monotonic() < until, self.log
            time.sleep(0.05)

    def printed_value(self, word: str) -> str:
        """The value that was printed after a word at the start of a line."""
        found = re.search(rf"^{word}\s+(\S+)$", self.output, re.MULTILINE)
        assert found, self.output
        return found[1]

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.base_url, timeout=TIMEOUT_SECONDS)


def wait_for_exit(pids: list[int]) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while left := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def descendants(parent: int) -> list[int]:
    own = children(parent)
    return own + [pid for child in own for pid in descendants(child)]


def is_running(pid: int) -> bool:
    """Whether the process is running; a zombie is not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(parent: int) -> list[int]:
    """Children of all threads: the import worker is not started by the main thread."""
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    found: list[int] = []
    for each in lists:
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found += map(int, each.read_text().split())
    return sorted(found)
