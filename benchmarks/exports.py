"""Download times of exports, in each format."""

import time
from http.client import HTTPConnection

import click
import msgspec

from benchmarks.contenders import Contender
from fieldgate.events.export.serializers import SERIALIZERS

FORMATS = tuple(serializer.file_suffix for serializer in SERIALIZERS.values())
TIMEOUT_SECONDS = 10 * 60
CHUNK_BYTES = 1024 * 1024


class Export(msgspec.Struct, frozen=True):
    """The downloads of one format."""

    format: str
    events: int
    bytes: int
    seconds: list[float]

    @property
    def megabytes(self) -> float:
        return self.bytes / 1_000_000


def download(contender: Contender, kind: str, *, events: int, times: int) -> Export:
    """Download the file several times and discard it."""
    length, seconds = 0, []
    for _ in range(times):
        started_at = time.perf_counter()
        length = _fetch(contender.port, f"/api/v2/event/export/?format={kind}")
        seconds.append(time.perf_counter() - started_at)
    return Export(kind, events, length, seconds)


def _fetch(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        if response.status != 200:
            raise click.ClickException(f"{path} returned {response.status}.")
        length = 0
        while chunk := response.read(CHUNK_BYTES):
            length += len(chunk)
        return length
    finally:
        connection.close()
