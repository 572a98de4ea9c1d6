"""Ways to read a whole list, each in a process of its own: `python -m benchmarks.list_readers JOB`.

The job and the result are JSON. This module loads little, so that the memory of the process is that of the reader.
"""

import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.memory import cpu_seconds, peak_resident_bytes

LIST = "event/"
PAGE_SIZE = 1000
EXPORT_CHUNK_BYTES = 1024 * 1024
# What requests sends where no other libraries for compression are installed.
USUAL_ENCODINGS, NO_ENCODING = "gzip, deflate", "identity"


class Job(msgspec.Struct, frozen=True):
    """What to read, and how."""

    reader: str
    url: str
    filters: dict[str, str] = {}
    concurrency: int = 4
    is_compressed: bool = False
    is_repeated: bool = False  # measure the second time, when the server may have responses ready
    is_verified: bool = False  # compare the records instead of measuring
    server_pids: list[int] = []


class ReadResult(msgspec.Struct, frozen=True):
    records: int
    seconds: float
    cpu_seconds: float
    server_seconds: float  # processor time of the server meanwhile
    peak_bytes: int  # resident memory
    digest: str = ""  # of all records
    typed_digest: str = ""  # of the fields that typed records have

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds


Record = Any
Reader = Callable[[Job], Iterator[list[Record]]]


def read_with_requests(job: Job) -> Iterator[list[Record]]:
    """The usual loop: one page after the other until one is empty."""
    import requests

    offset = 0
    with requests.Session() as session:
        session.headers["Accept-Encoding"] = USUAL_ENCODINGS if job.is_compressed else NO_ENCODING
        while True:
            parameters = {**job.filters, "limit": str(PAGE_SIZE), "offset": str(offset)}
            response = session.get(f"{job.url}/api/v2/{LIST}", params=parameters, timeout=600)
            response.raise_for_status()
            records = response.json()["results"]
            if not records:
                return
            yield records
            offset += PAGE_SIZE


def read_export(job: Job) -> Iterator[list[Record]]:
    """The server's export, as lines of JSON."""
    import httpx

    rest = b""
    headers = {"Accept-Encoding": USUAL_ENCODINGS if job.is_compressed else NO_ENCODING}
    url = f"{job.url}/api/v2/{LIST}export/"
    with httpx.stream("GET", url, params={**job.filters, "format": "ndjson"}, headers=headers, timeout=600) as response:
        response.raise_for_status()
        for chunk in response.iter_bytes(EXPORT_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            yield lines
    if rest:
        raise ValueError("The export ends within a line.")


def read_typed(job: Job) -> Iterator[list[Record]]:
    with _client(job) as client:
        yield from client.events(**job.filters).pages()


def read_dicts(job: Job) -> Iterator[list[Record]]:
    with _client(job) as client:
        yield from client.list(LIST, **job.filters).pages()


def read_json(job: Job) -> Iterator[list[Record]]:
    with _client(job) as client:
        for page in client.events(**job.filters).raw_pages():
            yield [bytes(record) for record in page] if job.is_verified else page


def write_ndjson(job: Job) -> Iterator[list[Record]]:
    with _client(job) as client, TemporaryDirectory() as folder:
        file = Path(folder) / "events.ndjson"
        written = client.events(**job.filters).to_ndjson(file)
        yield file.read_bytes().splitlines() if job.is_verified else [None] * written


def _client(job: Job) -> Any:
    from fieldgate_client import Client
    from fieldgate_client.connection import ConnectionOptions

    options = ConnectionOptions(compression=job.is_compressed)
    return Client(job.url, page_size=PAGE_SIZE, concurrency=job.concurrency, options=options)


READERS: dict[str, Reader] = {
    "requests": read_with_requests,
    "export": read_export,
    "typed": read_typed,
    "dicts": read_dicts,
    "json": read_json,
    "ndjson": write_ndjson,
}


def run(job: Job) -> ReadResult:
    """Read the list. Libraries are loaded before, by reading an empty list or the same one."""
    read = READERS[job.reader]
    for _ in read(job if job.is_repeated else msgspec.structs.replace(job, filters={"id": "0"})):
        pass
    if job.is_verified:
        return _verify(read(job))
    records = 0
    server_before = cpu_seconds(job.server_pids)
    started_at, cpu_before = time.perf_counter(), time.process_time()
    for page in read(job):
        records += len(page)
    seconds, cpu = time.perf_counter() - started_at, time.process_time() - cpu_before
    return ReadResult(records, seconds, cpu, cpu_seconds(job.server_pids) - server_before, peak_resident_bytes())


def _verify(pages: Iterable[list[Record]]) -> ReadResult:
    """Digests of the records, in whatever form and order they come."""
    from fieldgate_client.records import Event

    digests, typed_digests = [], []
    for record in (record for page in pages for record in page):
        if isinstance(record, bytes):
            record = msgspec.json.decode(record)
        if not isinstance(record, Event):
            digests.append(_digest(record))
            record = msgspec.convert(record, Event, strict=False)
        typed_digests.append(_digest(record))
    total, typed_total = (
        hashlib.sha256(b"".join(sorted(each))).hexdigest() if each else "" for each in (digests, typed_digests)
    )
    return ReadResult(len(typed_digests), 0, 0, 0, peak_resident_bytes(), total, typed_total)


def _digest(record: Record) -> bytes:
    return hashlib.sha256(msgspec.json.encode(record, order="sorted")).digest()


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(run(msgspec.json.decode(sys.argv[1], type=Job))))
