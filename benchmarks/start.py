"""Time from start to first response, and memory after many responses."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from benchmarks.memory import largest_resident_bytes
from benchmarks.page_client import PageClient
from benchmarks.processes import PROGRAM, free_port, run_server
from benchmarks.walks import EVENTS, spread_order

WALK_PAGES = 2000  # more than the response cache holds
PAGE_SIZE = 50


class StartedServer(msgspec.Struct, frozen=True):
    """A running server with default settings."""

    pid: int
    url: str
    client: PageClient
    first_body: bytes
    first_answer_seconds: float


class StartResults(msgspec.Struct, frozen=True):
    """Times of several starts, and the memory of the last one in bytes."""

    events: int
    first_answer_seconds: list[float]
    resident_at_first: int
    resident_after_walk: int


@contextmanager
def start_server(data: Path, core: int, environment: Mapping[str, str] | None = None) -> Iterator[StartedServer]:
    """Serve the data of a folder on one core, and request the first page of events."""
    port = free_port()
    command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), "--data", str(data), "--no-worker"]
    started_at = time.perf_counter()
    with (
        run_server(command, port=port, core=core, environment=environment or {}) as pid,
        closing(PageClient(port)) as client,
    ):
        body = client.get(EVENTS)
        yield StartedServer(pid, f"http://127.0.0.1:{port}", client, body, time.perf_counter() - started_at)


def measure_starts(data: Path, events: int, listed: int, core: int, times: int) -> StartResults:
    """Start several times; request pages all over the list from the last one."""
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
