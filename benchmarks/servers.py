"""The measured servers, each pinned to one core: Fieldgate, the peer and the floor."""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import click

CHECKOUT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("fieldgate")
PEER_LOCK = CHECKOUT / "requirements" / "peer.txt"
PEER_FOLDER = CHECKOUT / "benchmarks" / ".venv-peer"
START_TIMEOUT_SECONDS = 300
STOP_TIMEOUT_SECONDS = 15


@dataclass(frozen=True)
class Server:
    """A running server, and the tokens of its users."""

    name: str
    port: int
    pid: int
    tokens: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def run_fieldgate(
    name: str,
    program: Path,
    data: Path,
    core: int,
    tokens: Mapping[str, str],
    *,
    has_import_worker: bool = False,
) -> Iterator[Server]:
    """Serve the data of a folder. The import worker would take time from the same core.

    It runs in the data folder: in this checkout, `python -m fieldgate worker` of a baseline would run our code.
    """
    more = [] if has_import_worker else ["--no-worker"]
    data = data.absolute()
    environment = {
        "FIELDGATE_MAX_QUEUED_IMPORTS": "0"
    }  # without a worker, all imports stay in the queue
    with _run(
        [program, "serve", "--data", data, *more], core, environment, working_folder=data
    ) as (port, pid):
        yield Server(name, port, pid, tokens)


@contextmanager
def run_peer(folder: Path, core: int) -> Iterator[Server]:
    """Run the peer in its own environment, with the data of the files in a folder."""
    python = _peer_python()
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.peer.settings",
        "PEER_DATABASE": str(folder / "peer.sqlite3"),
        "PEER_PERMISSIONS": str(folder / "permissions"),
    }
    tokens = json.loads(output_of([python, "-m", "benchmarks.peer.fill", folder], environment))
    server = [
        "-m",
        "granian",
        "--interface",
        "wsgi",
        "--blocking-threads",
        1,
        "--no-ws",
        "--factory",
    ]
    with _run([python, *server, "django.core.wsgi:get_wsgi_application"], core, environment) as (
        port,
        pid,
    ):
        yield Server("peer", port, pid, tokens)


@contextmanager
def run_floor(recorded: Path, core: int) -> Iterator[Server]:
    """Run the bare server of Fieldgate, which repeats a recorded response."""
    server = [
        "-m",
        "granian",
        "--interface",
        "asgi",
        "--loop",
        "uvloop",
        "--no-ws",
        "benchmarks.floor:application",
    ]
    with _run([sys.executable, *server], core, {"FLOOR_RESPONSE": str(recorded)}) as (port, pid):
        yield Server("floor", port, pid)


def output_of(
    command: Sequence[object], environment: Mapping[str, str] | None = None, stdin: str = ""
) -> str:
    """The output of a command, which must succeed."""
    words = [str(word) for word in command]
    environment = {**os.environ, **(environment or {})}
    finished = subprocess.run(
        words, cwd=CHECKOUT, env=environment, input=stdin, stdout=subprocess.PIPE, text=True
    )
    if finished.returncode:
        raise click.ClickException(f"This failed: {' '.join(words)}")
    return finished.stdout.strip()


def resident_megabytes(pid: int) -> float:
    """Memory of the largest process of a server: the one that answers."""
    pids = [pid]
    for each in pids:
        for thread in Path(f"/proc/{each}/task").iterdir():
            pids += map(int, (thread / "children").read_text().split())
    pages = max(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


@contextmanager
def _run(
    command: Sequence[object],
    core: int,
    environment: Mapping[str, str] | None = None,
    working_folder: Path = CHECKOUT,
) -> Iterator[tuple[int, int]]:
    """Run a server during the block. Yields its port and its process id once it sends the first page of events.

    It has a session of its own, so that Ctrl-C reaches only the benchmark. Its output is discarded: writing a log
    would be measured, too.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [str(word) for word in (*command, "--host", "127.0.0.1", "--port", port)],
        cwd=working_folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(os.sched_setaffinity, 0, {core}),
    )
    try:
        _wait_for_page(process, port)
        yield port, process.pid
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what is left of its workers
        process.wait()


def _wait_for_page(process: subprocess.Popen[bytes], port: int) -> None:
    """Until it is ready, a server refuses connections or answers with 503."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with (
            suppress(OSError),
            urlopen(f"http://127.0.0.1:{port}/api/v2/event/", timeout=START_TIMEOUT_SECONDS),
        ):
            return
        time.sleep(0.01)
    raise click.ClickException(f"The server does not answer. Run it to see why: {process.args!r}")


def _peer_python() -> Path:
    """The Python of the peer, with the packages of its lock file. It is installed again whenever that changes."""
    python, stamp = PEER_FOLDER / "bin" / "python", PEER_FOLDER / "made-from.sha256"
    wanted = hashlib.sha256(PEER_LOCK.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(PEER_FOLDER, ignore_errors=True)
        output_of([CHECKOUT / "scripts" / "make-venv", sys.executable, PEER_FOLDER])
        output_of([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", PEER_LOCK])
        stamp.write_text(wanted)
    return python
