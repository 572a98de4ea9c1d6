"""The three measured servers and how they are started: Fieldgate, the peer and the floor."""

import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks import peer_environment
from benchmarks.processes import PROGRAM, free_port, output_of, run_server
from benchmarks.recorded_response import RecordedResponse

# Measured for the peer: one process on one core, wrk with 32 connections on the other, 15 interleaved rounds of 2 s,
# medians in requests per second for the list / the detail / the list with a token:
#   Granian WSGI, 1 thread       534 / 1065 / 347
#   gunicorn gevent              401 /  902 / 293
#   gunicorn sync                386 /  795 / 318
#   gunicorn gthread, 4 threads  384 /  771 / 319
#   gunicorn gthread, 1 thread   364 /  746 / 288
# (gunicorn with its optional C parser installed). The machine was noisy: the order of gunicorn's workers
# changed between repetitions; Granian led in all but one figure of three repetitions. So the peer uses Granian, and all
# three contenders have the same server. With gunicorn, gthread is the usual worker for keep-alive.
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

# Requests from this machine are exempt by default; this also leaves out the question whether they are.
NO_RATE_LIMITS = {
    "FIELDGATE_READ_RATE": "off",
    "FIELDGATE_WRITE_RATE": "off",
    "FIELDGATE_ADDRESS_READ_RATE": "off",
    "FIELDGATE_ADDRESS_WRITE_RATE": "off",
}
FILL_TIMEOUT_SECONDS = 10 * 60
USER = "bench"


@dataclass(frozen=True)
class Contender:
    """A running server, the token of the benchmark user, and the ETag of an earlier response."""

    name: str
    port: int
    token: str
    etag: str = ""


# Limits that apply to this machine, too, and that no load reaches.
RATE_LIMITS = {
    "FIELDGATE_READ_RATE": "100000000/1m",
    "FIELDGATE_WRITE_RATE": "100000000/1m",
    "FIELDGATE_ADDRESS_READ_RATE": "100000000/1m",
    "FIELDGATE_ADDRESS_WRITE_RATE": "100000000/1m",
    "FIELDGATE_RATE_LIMIT_EXEMPT": "none",
}


@contextmanager
def fieldgate(
    folder: Path,
    core: int,
    events: int,
    *,
    name: str = "fieldgate",
    database: str = "",
    limits: Mapping[str, str] = NO_RATE_LIMITS,
) -> Iterator[Contender]:
    """Run Fieldgate, as installed beside this interpreter, with one user, one token and demo events.

    The data is in the folder unless `database` is given. There is no import worker: it is a separate process and would
    take time from the same core.
    """
    data = ("--data", str(folder))
    environment = dict(limits)
    if database:
        environment["FIELDGATE_DATABASE_URL"] = database
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
def peer(
    folder: Path,
    core: int,
    server: str,
    events: Path,
    imports: Path,
    assignments: Path | None = None,
    *,
    is_browsable: bool = False,
) -> Iterator[Contender]:
    """Run the peer in its own environment, with one user, one token, and the events, imports and assignments of files.

    Browsers get pages only if it is browsable: other benchmarks measure it without that.
    """
    python = str(peer_environment.ensure_ready())
    environment = {
        "DJANGO_SETTINGS_MODULE": "benchmarks.peer.settings",
        "PEER_DATABASE": str(folder / "peer.sqlite3"),
        "PEER_BROWSABLE": "1" if is_browsable else "",
    }
    prepare = [python, "-m", "benchmarks.peer.prepare", USER, str(events), str(imports)]
    prepare += [str(assignments)] if assignments else []
    token = output_of(prepare, environment=environment, timeout=FILL_TIMEOUT_SECONDS)
    port = free_port()
    command = [python, "-m", *(part.format(port=port) for part in PEER_SERVERS[server])]
    with run_server(command, port=port, core=core, environment=environment):
        yield Contender("peer", port, token)


@contextmanager
def floor(folder: Path, core: int, response: RecordedResponse) -> Iterator[Contender]:
    """Run the bare server with the same settings. It sends a constant response."""
    recorded = folder / "response.json"
    recorded.write_bytes(msgspec.json.encode(response))
    port = free_port()
    command = [
        sys.executable, "-m", "granian", "--interface", "asgi", "--loop", "uvloop",
        "--host", "127.0.0.1", "--port", str(port), "--workers", "1", "--no-ws",
        "benchmarks.floor:application",
    ]  # fmt: skip
    with run_server(command, port=port, core=core, environment={"FLOOR_ANSWER": str(recorded)}):
        yield Contender("floor", port, token="")
