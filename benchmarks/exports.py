"""All events as one file: how fast it comes, in each format."""

import time
from http.client import HTTPConnection

import click
import msgspec

from benchmarks.contenders import Contender

FORMATS = ("csv", "ndjson", "xlsx")
TIMEOUT_SECONDS = 600  # seconds
CHUNK_BYTES = 1024 * 1024  # bytes


class Export(msgspec.Struct, frozen=True):
    """The downloads of one kind of file."""

    format: str
    events: int
    bytes: int
    seconds: list[float]

    @property
    def megabytes(self) -> float:
        return self.bytes / 1_000_000


def download(contender: Contender, kind: str, *, events: int, times: int) -> Export:
    """Fetch the file again and again, and throw it away."""
    length, seconds = 0, []
    for _ in range(times):
        began = time.perf_counter()
        length = _fetch(contender.port, f"/api/v2/event/export/?format={kind}")
        seconds.append(time.perf_counter() - began)
    return Export(kind, events, length, seconds)


def _fetch(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        if response.status != 200:
            raise click.ClickException(f"{path} was answered {response.status}.")
        length = 0
        while part := response.read(CHUNK_BYTES):
            length += len(part)
        return length
    finally:
        connection.close()
