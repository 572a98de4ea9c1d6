"""Demo events in a folder, created once: a million take minutes, and several measurements need them."""

import time
from pathlib import Path

import msgspec

from benchmarks.processes import PROGRAM, output_of

TIMEOUT_SECONDS = 2 * 60 * 60
_METADATA_FILE = "made-with-index.json"


class DemoData(msgspec.Struct, frozen=True):
    """The folder of the events and their index, the time it took to create the events, and the size of the database."""

    data: Path
    seconds: float
    bytes: int


def ensure_demo_events(folder: Path, count: int) -> DemoData:
    """Create this many events, unless the folder has them already."""
    data = folder / str(count)
    metadata = data / _METADATA_FILE
    if not metadata.is_file():
        started_at = time.perf_counter()
        output_of([PROGRAM, "events", "demo", str(count), "--data", str(data)], timeout=TIMEOUT_SECONDS)
        seconds = time.perf_counter() - started_at
        size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
        metadata.write_bytes(msgspec.json.encode(DemoData(data, seconds, size), enc_hook=str))
    return msgspec.json.decode(metadata.read_bytes(), type=DemoData, dec_hook=lambda kind, text: kind(text))
