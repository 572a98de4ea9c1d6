"""From the start of the program to its first answer, and what it holds in memory once it has answered a lot."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from benchmarks.asking import Asking
from benchmarks.memory import largest
from benchmarks.processes import PROGRAM, free_port, serving
from benchmarks.walks import EVENTS, spread

WALKED = 2000  # pages: more than are ever kept
PAGE = 50


class Started(msgspec.Struct, frozen=True):
    """A server that is up, with the settings anybody gets."""

    pid: int
    asking: Asking
    first_body: bytes
    first_answer_seconds: float


class Starts(msgspec.Struct, frozen=True):
    """What several starts took, and the memory of the last one, in bytes."""

    events: int
    first_answer_seconds: list[float]
    resident_at_first: int
    resident_after_walk: int


@contextmanager
def started(data: Path, core: int, environment: Mapping[str, str] | None = None) -> Iterator[Started]:
    """Serve the data of a folder on one core, beginning with the first page of events."""
    port = free_port()
    command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), "--data", str(data), "--no-worker"]
    began = time.perf_counter()
    with serving(command, port=port, core=core, environment=environment or {}) as pid, closing(Asking(port)) as asking:
        body = asking.get(EVENTS)
        yield Started(pid, asking, body, time.perf_counter() - began)


def starts(data: Path, events: int, listed: int, core: int, times: int) -> Starts:
    """Start again and again; the last one is asked for pages all over the list."""
    seconds = []
    for number in range(times):
        with started(data, core) as server:
            seconds.append(server.first_answer_seconds)
            if number == times - 1:
                at_first = largest(server.pid)
                for offset in spread(listed - PAGE)[:WALKED]:
                    server.asking.get(f"{EVENTS}?limit={PAGE}&offset={offset}")
                return Starts(events, seconds, at_first, largest(server.pid))
    raise ValueError("at least one start is needed")
