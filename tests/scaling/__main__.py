"""`python -m tests.scaling`: measure services that share one PostgreSQL, and write docs/scaling.md."""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.servers import CHECKOUT
from tests.scaling.fill import FULL, Sizes
from tests.scaling.scaling_page import render
from tests.scaling.scaling_site import ScalingSite
from tests.scaling.sections import SECTIONS, Amounts


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops everything, as Ctrl-C does
    options = _parser().parse_args()
    if options.render:
        results = json.loads(options.render.read_text())
    else:
        subprocess.run([CHECKOUT / "scripts" / "need", "wrk", "wrk"], check=True)
        sizes = Sizes(
            options.events, options.assets, options.assignments, options.users, options.teams
        )
        amounts = Amounts(seconds=options.seconds, writes=options.writes, loaded=options.loaded)
        chosen = [name for name in SECTIONS if not options.only or name in options.only]
        results = measure(sizes, amounts, chosen, options.keep, options.json)
    if options.write:
        options.write.write_text(render(results))


def measure(
    sizes: Sizes,
    amounts: Amounts,
    sections: Sequence[str],
    keep: Path | None = None,
    file: Path | None = None,
) -> dict[str, Any]:
    """The results of sections by name. They are saved after each."""
    results: dict[str, Any] = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "cores": len(os.sched_getaffinity(0)),
        "sizes": {name: getattr(sizes, name) for name in sizes.__struct_fields__},
    }
    with ScalingSite(sizes, keep) as site:
        results["database_bytes"] = site.database_bytes()
        for name in sections:
            results[name] = SECTIONS[name](site, amounts)
            if file is not None:
                file.write_text(json.dumps(results, indent=1))
    return results


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.scaling", description=__doc__)
    for name in FULL.__struct_fields__:
        parser.add_argument(f"--{name}", type=int, default=getattr(FULL, name), metavar="N")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, metavar="SECTION", help=", ".join(SECTIONS)
    )
    parser.add_argument(
        "--seconds", type=int, default=Amounts().seconds, help="length of a round of load"
    )
    parser.add_argument(
        "--writes", type=int, default=Amounts().writes, help="whose visibility is measured"
    )
    parser.add_argument(
        "--loaded", type=int, default=Amounts().loaded, help="events that `events load` writes"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="folder that keeps the filled database"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="file of the results")
    parser.add_argument(
        "--render", type=Path, metavar="FILE", help="use these results, and measure nothing"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page: docs/scaling.md"
    )
    return parser


if __name__ == "__main__":
    main()
