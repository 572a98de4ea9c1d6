"""Demo events in a folder, made once: a million take minutes, and more than one measurement needs them."""

import time
from pathlib import Path

import msgspec

from benchmarks.processes import PROGRAM, output_of

PATIENCE = 2 * 60 * 60  # seconds
_FACTS = "made.json"


class Made(msgspec.Struct, frozen=True):
    """Where the events are, how long it took to make and load them, and the size of the database."""

    data: Path
    seconds: float
    bytes: int


def made_events(folder: Path, count: int) -> Made:
    """So many events, those that are there from before if there are."""
    data = folder / str(count)
    facts = data / _FACTS
    if not facts.is_file():
        began = time.perf_counter()
        output_of([PROGRAM, "events", "demo", str(count), "--data", str(data)], patience=PATIENCE)
        seconds = time.perf_counter() - began
        size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
        facts.write_bytes(msgspec.json.encode(Made(data, seconds, size), enc_hook=str))
    return msgspec.json.decode(facts.read_bytes(), type=Made, dec_hook=lambda kind, text: kind(text))
