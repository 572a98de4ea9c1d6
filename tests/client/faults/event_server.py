"""A Fieldgate server process with events that are known exactly."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.processes import FIELDGATE_COMMAND, ServerProcess

CYCLONE, FLOOD = 4, 12


def loaded_event(id_: int) -> dict[str, Any]:
    """What is loaded, as the server returns it: 2,000 cyclones, 200 severe events, the rest floods."""
    day, month, year = 1 + id_ % 28, 1 + id_ % 12, 2010 + id_ % 15
    return {
        "id": id_,
        "name": f"Event {id_} – عاصفة",
        "summary": f"<p>{id_}</p>",
        "glide": f"FL-{id_:06d}",
        "num_affected": id_ * 7 % 1000,
        "disaster_start_date": f"{year}-{month:02}-{day:02}T00:00:00Z",
        "ifrc_severity_level": 2 if id_ <= 200 else 0,
        "is_featured": id_ % 3 == 0,
    }


def expected_order(numbers: range) -> list[int]:
    """The ids in the default order: newest first, then by id."""
    dates = {id_: loaded_event(id_)["disaster_start_date"] for id_ in numbers}
    return sorted(sorted(numbers), key=lambda id_: dates[id_], reverse=True)


@contextmanager
def event_server(folder: Path, number: int, *options: str) -> Iterator[ServerProcess]:
    load_events(folder, number)
    with ServerProcess(folder, "--no-worker", *options) as server:
        yield server


def load_events(folder: Path, number: int) -> None:
    lines = [
        msgspec.json.encode({**loaded_event(id_), "dtype": {"id": CYCLONE if id_ <= 2000 else FLOOD}})
        for id_ in range(1, number + 1)
    ]
    done = subprocess.run(
        [FIELDGATE_COMMAND, "events", "load", "-", "--visibility", "public", "--data", folder],
        input=b"\n".join(lines),
        capture_output=True,
        check=False,
    )
    assert f"created {number}, changed 0, unchanged 0, failed 0" in done.stdout.decode(), done.stderr.decode()
