"""The three that are measured, and how each is started: Fieldgate, the peer, and the floor."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import peer_environment
from benchmarks.answer import RecordedResponse
from benchmarks.processes import PROGRAM, free_port, output_of, run_server

# Measured for the peer: one process on one core, wrk with 32 connections on the other, 15 interleaved rounds of 2 s,
# medians in requests per second for the list / the detail / the list with a token:
#   Granian WSGI, 1 thread       534 / 1065 / 347
#   gunicorn gevent              401 /  902 / 293
#   gunicorn sync                386 /  795 / 318
#   gunicorn gthread, 4 threads  384 /  771 / 319
#   gunicorn gthread, 1 thread   364 /  746 / 288
# (gunicorn with its optional C parser installed). The machine was noisy: gunicorn's workers changed places
# between repetitions; Granian led in all but one figure of three repetitions. So the peer gets Granian, and all three
# contenders have the same server. Of gunicorn's workers gthread is the usual one with keep-alive.
PEER_SERVERS = {
    "granian": (
        "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", "{port}",
        "--workers", "1", "--blocking-threads", "1", "--no-ws", "benchmarks.peer.wsgi:application",
    ),
    "gunicorn": (
        "gunicorn", "--bind", "127.0.0.1:{port}", "--workers", "1", "--worker-class", "gthread", "--threads", "4",
        "--keep-alive", "75", "--no-control-socket", "benchmarks.peer.wsgi:application",
    ),
}  # fmt: skip

FILL_TIMEOUT_SECONDS = 600  # seconds
USER = "bench"


@dataclass(frozen=True)
class Contender:
    """A server that is up, the token it knows the benchmark user by, and the validator of what was asked before."""

    name: str
    port: int
    token: str
    etag: str = ""


@contextmanager
def fieldgate(
    folder: Path, core: int, events: int, *, name: str = "fieldgate", database: str = ""
) -> Iterator[Contender]:
    """Us, installed next to the running interpreter, with one user, one token and so many demo events.

    The data is in a file of the folder, unless the address of a database is given. No import worker is at our side:
    it is a program of its own, and would take its time from the same core.
    """
    data = ("--data", str(folder))
    environment = {"FIELDGATE_DATABASE_URL": database} if database else {}
    if database:
        output_of([PROGRAM, "migrate", *data], environment=environment)
    output_of([PROGRAM, "events", "demo", str(events), *data], environment=environment, timeout=FILL_TIMEOUT_SECONDS)
    password = secrets.token_urlsafe() + "\n"
    output_of([PROGRAM, "user", "create", USER, "--password-stdin", *data], environment=environment, stdin=password)
    token = output_of([PROGRAM, "token", "create", USER, *data], environment=environment)
    port = free_port()
    command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), *data, "--workers", "1", "--no-worker"]
    with run_server(command, port=port, core=core, environment=environment):
        yield Contender(name, port, token)


@contextmanager
def peer(folder: Path, core: int, server: str, events: Path, imports: Path) -> Iterator[Contender]:
    """The peer, in its own environment, with one user, one token, and the events and imports of two files."""
    python = str(peer_environment.ensure_ready())
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.peer.settings",
        "PEER_DATABASE": str(folder / "peer.sqlite3"),
    }
    prepare = [python, "-m", "benchmarks.peer.prepare", USER, str(events), str(imports)]
    token = output_of(prepare, environment=environment, timeout=FILL_TIMEOUT_SECONDS)
    port = free_port()
    command = [python, "-m", *(part.format(port=port) for part in PEER_SERVERS[server])]
    with run_server(command, port=port, core=core, environment=environment):
        yield Contender("peer", port, token)


@contextmanager
def floor(folder: Path, core: int, answer: RecordedResponse) -> Iterator[Contender]:
    """Our server with our settings, and no application behind it but a constant answer."""
    recorded = folder / "answer.json"
    recorded.write_bytes(msgspec.json.encode(answer))
    port = free_port()
    command = [
        sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--no-ws",
        "benchmarks.floor:application",
    ]  # fmt: skip
    with run_server(command, port=port, core=core, environment={"FLOOR_ANSWER": str(recorded)}):
        yield Contender("floor", port, token="")
