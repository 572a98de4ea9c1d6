"""The command line of the recording tool."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.recording import differences
from tests.recording.checkout import Checkout, new_database
from tests.recording.operations import check_operations
from tests.recording.page_forms import record_page_forms
from tests.recording.reads import record_reads
from tests.recording.recorder import Recorder
from tests.recording.world import build, prepare
from tests.recording.writes import record_writes


def record(checkout_path: Path, file: Path, database_url: str = "", only: str = "") -> int:
    """Record what a checkout answers; return the number of requests."""
    start = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="recording-") as folder,
        new_database(database_url) as own_url,
    ):
        checkout = Checkout(checkout_path.resolve(), Path(folder), own_url)
        _print(f"== {checkout_path}: the world")
        token = prepare(checkout, Path(folder))
        with checkout.serve(), Recorder(checkout.base_url, file, only) as recorder:
            world = build(recorder, token)
            check_operations(recorder)
            for name, part in (
                ("reads", record_reads),
                ("page forms", record_page_forms),
                ("writes", record_writes),
            ):
                for step in part(world):
                    seconds = time.monotonic() - start
                    _print(f"{seconds:4.0f} s, {recorder.count:5} requests, {name}: {step}")
            _print(f"{recorder.count} requests in {time.monotonic() - start:.0f} s")
            return recorder.count


def diff(old: Path, new: Path) -> int:
    """Print the differences; return 1 if there are any."""
    kinds = differences.compare(differences.read_recording(old), differences.read_recording(new))
    sys.stdout.write(differences.report(kinds))
    return 1 if kinds else 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, places in (
        ("compare", ("old_checkout", "new_checkout")),
        ("record", ("checkout", "file")),
        ("diff", ("old_file", "new_file")),
    ):
        command = commands.add_parser(name)
        for place in places:
            command.add_argument(place, type=Path)
        if name != "diff":
            command.add_argument(
                "--database-url", default="", help="a PostgreSQL server; default: SQLite"
            )
            command.add_argument(
                "--only",
                default="",
                help="only operations with this text, such as 'GET /api/v2/event'",
            )
    options = parser.parse_args(arguments)
    if options.command == "diff":
        return diff(options.old_file, options.new_file)
    if options.command == "record":
        record(options.checkout, options.file, options.database_url, options.only)
        return 0
    with tempfile.TemporaryDirectory(prefix="recording-") as folder:
        files = [Path(folder) / "old.jsonl.gz", Path(folder) / "new.jsonl.gz"]
        for checkout, file in zip((options.old_checkout, options.new_checkout), files, strict=True):
            record(checkout, file, options.database_url, options.only)
        return diff(*files)


def _print(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
