"""From the start of the program to its first answer, and what it holds in memory once it has answered a lot."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from benchmarks.asking import PageClient
from benchmarks.memory import largest_resident_bytes
from benchmarks.processes import PROGRAM, free_port, run_server
from benchmarks.walks import EVENTS, spread_order

WALK_PAGES = 2000  # pages: more than are ever kept
PAGE_SIZE = 50


class StartedServer(msgspec.Struct, frozen=True):
    """A server that is up, with the settings anybody gets."""

    pid: int
    client: PageClient
    first_body: bytes
    first_answer_seconds: float


class StartResults(msgspec.Struct, frozen=True):
    """What several starts took, and the memory of the last one, in bytes."""

    events: int
    first_answer_seconds: list[float]
    resident_at_first: int
    resident_after_walk: int


@contextmanager
def start_server(data: Path, core: int, environment: Mapping[str, str] | None = None) -> Iterator[StartedServer]:
    """Serve the data of a folder on one core, beginning with the first page of events."""
    port = free_port()
    command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), "--data", str(data), "--no-worker"]
    began = time.perf_counter()
    with (
        run_server(command, port=port, core=core, environment=environment or {}) as pid,
        closing(PageClient(port)) as asking,
    ):
        body = asking.get(EVENTS)
        yield StartedServer(pid, asking, body, time.perf_counter() - began)


def measure_starts(data: Path, events: int, listed: int, core: int, times: int) -> StartResults:
    """Start again and again; the last one is asked for pages all over the list."""
    seconds = []
    for number in range(times):
        with start_server(data, core) as server:
            seconds.append(server.first_answer_seconds)
            if number == times - 1:
                at_first = largest_resident_bytes(server.pid)
                for offset in spread_order(listed - PAGE_SIZE)[:WALK_PAGES]:
                    server.client.get(f"{EVENTS}?limit={PAGE_SIZE}&offset={offset}")
                return StartResults(events, seconds, at_first, largest_resident_bytes(server.pid))
    raise ValueError("at least one start is needed")
