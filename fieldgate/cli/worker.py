"""`fieldgate worker`: process imports."""

import asyncio
import logging.config
import os
import signal
from pathlib import Path

import click

from fieldgate.cli.common import data_option, load_settings, open_database
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS
from fieldgate.metrics.access_log import logging_config
from fieldgate.runtime.child_processes import PARENT_PID_VARIABLE, exit_with_parent
from fieldgate.runtime.temporary_folder import use_own_temporary_folder
from fieldgate.settings import Settings


@click.command()
@click.option(
    "--quick",
    is_flag=True,
    help="Leave large files, and users whose files took long lately, to other workers.",
)
@data_option
def worker(quick: bool, data: Path | None) -> None:
    """Process imports until stopped. Any number of workers, on any machine, share the work.

    It prints a line when it is ready.
    """
    settings = load_settings(data)
    logging.config.dictConfig(logging_config(settings.log_level))
    if PARENT_PID_VARIABLE not in os.environ:  # else `serve` has made a folder
        use_own_temporary_folder()
    asyncio.run(_run_worker(settings, only_quick=quick))


async def _run_worker(settings: Settings, *, only_quick: bool) -> None:
    # Slow to import, and other commands do not need it.
    from fieldgate.imports.sandbox.runner import start_fork_server
    from fieldgate.imports.worker import ImportWorker

    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    exit_with_parent()
    # An import that waits for longer than its lease belongs to another worker.
    async with open_database(settings, creates=True, busy_timeout_ms=BUSY_TIMEOUT_MS) as database:
        await asyncio.to_thread(start_fork_server)
        import_worker = ImportWorker(settings, database, only_quick=only_quick)
        await import_worker.run(stopping, on_ready=_announce)


def _announce() -> None:
    """Say that the worker is ready, unless it is one of those that `serve` starts."""
    if PARENT_PID_VARIABLE not in os.environ:
        click.echo("ready for imports")
