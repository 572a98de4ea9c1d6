"""The three that are measured, and how each is started: Fieldgate, the peer, and the floor."""

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import peer_environment
from benchmarks.exchange import Answer
from benchmarks.processes import free_port, output_of, serving

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

FILL_PATIENCE = 600  # seconds


@dataclass(frozen=True)
class Contender:
    """A server that is up, and the token it knows the benchmark user by."""

    name: str
    port: int
    token: str


# Half of what we keep by default: a walk around all events is then longer than the memory for answers, and comes
# back to an answer only when it was let go. With more, one event alone would soon be warm.
KEPT_ANSWERS = "16MiB"


@contextmanager
def fieldgate(folder: Path, core: int, events: int) -> Iterator[Contender]:
    """Us, installed next to the running interpreter, with one user, one token and so many demo events."""
    program = str(Path(sys.executable).with_name("fieldgate"))
    data = ("--data", str(folder))
    output_of([program, "events", "demo", str(events), *data], patience=FILL_PATIENCE)
    output_of([program, "user", "create", "bench", "--password-stdin", *data], given=secrets.token_urlsafe() + "\n")
    token = output_of([program, "token", "create", "bench", *data])
    port = free_port()
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port), *data, "--workers", "1"]
    with serving(command, port=port, core=core, environment={"FIELDGATE_KEPT_ANSWERS": KEPT_ANSWERS}):
        yield Contender("fieldgate", port, token)


@contextmanager
def peer(folder: Path, core: int, server: str, events: Path) -> Iterator[Contender]:
    """The peer, in its own environment, with one user, one token and the events of a file."""
    python = str(peer_environment.ready())
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.peer.settings",
        "PEER_DATABASE": str(folder / "peer.sqlite3"),
    }
    token = output_of(
        [python, "-m", "benchmarks.peer.prepare", str(events)], environment=environment, patience=FILL_PATIENCE
    )
    port = free_port()
    command = [python, "-m", *(part.format(port=port) for part in PEER_SERVERS[server])]
    with serving(command, port=port, core=core, environment=environment):
        yield Contender("peer", port, token)


@contextmanager
def floor(folder: Path, core: int, answer: Answer) -> Iterator[Contender]:
    """Our server with our settings, and no application behind it but a constant answer."""
    recorded = folder / "answer.json"
    recorded.write_bytes(msgspec.json.encode(answer))
    port = free_port()
    command = [
        sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--no-ws",
        "benchmarks.floor:application",
    ]  # fmt: skip
    with serving(command, port=port, core=core, environment={"FLOOR_ANSWER": str(recorded)}):
        yield Contender("floor", port, token="")
