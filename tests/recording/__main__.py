"""The command line of the recording tool."""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.recording import differences
from tests.recording.checkout import Checkout, new_database
from tests.recording.operations import check_operations
from tests.recording.page_forms import record_page_forms
from tests.recording.reads import record_reads
from tests.recording.recorder import Recorder
from tests.recording.world import build, prepare
from tests.recording.writes import record_writes


def record(
    checkout_path: Path, file: Path, *, database_url: str, only: str, is_quick: bool
) -> None:
    """Record what a checkout answers."""
    start = time.monotonic()

    def show(line: str) -> None:
        sys.stderr.write(f"{checkout_path}: {time.monotonic() - start:4.0f} s, {line}\n")

    with (
        tempfile.TemporaryDirectory(prefix="recording-") as folder,
        new_database(database_url) as own_url,
    ):
        checkout = Checkout(checkout_path.resolve(), Path(folder), own_url)
        show("the world")
        token = prepare(checkout, Path(folder))
        with (
            checkout.serve(),
            Recorder(checkout.base_url, file, only=only, is_quick=is_quick) as recorder,
        ):
            world = build(recorder, token)
            check_operations(recorder)
            for name, part in (
                ("reads", record_reads),
                ("page forms", record_page_forms),
                ("writes", record_writes),
            ):
                for step in part(world):
                    show(f"{recorder.count:5} requests, {name}: {step}")
            show(f"{recorder.count} requests in all")


def compare(old: Path, new: Path, record_with_options: "partial[None]") -> int:
    """Print the differences between two checkouts, which are recorded at the same time, or recordings of them."""
    with tempfile.TemporaryDirectory(prefix="recording-") as folder, ProcessPoolExecutor() as pool:
        files = []
        recordings = []
        for name, place in (("old", old), ("new", new)):
            file = place
            if place.is_dir():
                file = Path(folder) / f"{name}.jsonl.gz"
                recordings.append(pool.submit(record_with_options, place, file))
            files.append(file)
        for recording in recordings:
            recording.result()
        return diff(*files)


def diff(old: Path, new: Path) -> int:
    """Print the differences; return 1 if there are any."""
    kinds = differences.compare(differences.read_recording(old), differences.read_recording(new))
    sys.stdout.write(differences.report(kinds))
    return 1 if kinds else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recording",
        description="Record what checkouts of the service answer, and compare.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    compare_parser = commands.add_parser("compare", help="record two checkouts and compare them")
    compare_parser.add_argument("old", type=Path, help="a checkout, or a recording of one")
    compare_parser.add_argument("new", type=Path, help="a checkout, or a recording of one")
    record_parser = commands.add_parser("record", help="record a checkout")
    record_parser.add_argument("checkout", type=Path)
    record_parser.add_argument("file", type=Path)
    for command in (compare_parser, record_parser):
        command.add_argument(
            "--database-url", default="", help="a PostgreSQL server; default: SQLite"
        )
        command.add_argument(
            "--only",
            default="",
            help="only operations with this text, such as 'GET /api/v2/event'",
        )
        command.add_argument(
            "--quick",
            action="store_true",
            help="every operation, with fewer callers, languages and wrong values",
        )
    options = parser.parse_args(arguments)
    record_with_options = partial(
        record, database_url=options.database_url, only=options.only, is_quick=options.quick
    )
    if options.command == "compare":
        return compare(options.old, options.new, record_with_options)
    record_with_options(options.checkout, options.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
