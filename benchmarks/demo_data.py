"""Demo events in a folder, made once: a million take minutes, and more than one measurement needs them."""

import time
from pathlib import Path

import msgspec

from benchmarks.processes import PROGRAM, output_of

TIMEOUT_SECONDS = 2 * 60 * 60  # seconds
_METADATA_FILE = "made.json"


class DemoData(msgspec.Struct, frozen=True):
    """Where the events are, how long it took to make and load them, and the size of the database."""

    data: Path
    seconds: float
    bytes: int


def ensure_demo_events(folder: Path, count: int) -> DemoData:
    """So many events, those that are there from before if there are."""
    data = folder / str(count)
    facts = data / _METADATA_FILE
    if not facts.is_file():
        began = time.perf_counter()
        output_of([PROGRAM, "events", "demo", str(count), "--data", str(data)], timeout=TIMEOUT_SECONDS)
        seconds = time.perf_counter() - began
        size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
        facts.write_bytes(msgspec.json.encode(DemoData(data, seconds, size), enc_hook=str))
    return msgspec.json.decode(facts.read_bytes(), type=DemoData, dec_hook=lambda kind, text: kind(text))
