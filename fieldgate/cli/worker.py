"""`fieldgate worker`: reads imported files and makes assets of them."""

import asyncio
import logging.config
import signal
from pathlib import Path

import click

from fieldgate.cli.common import data_option, open_database, prepare, settings_for
from fieldgate.metrics.access_log import logging_config
from fieldgate.runtime.parent_watch import end_with_server
from fieldgate.settings import Settings


@click.command()
@data_option
def worker(data: Path | None) -> None:
    """Work on imports until stopped. Any number of workers, on any machine, share the work."""
    settings = settings_for(data)
    logging.config.dictConfig(logging_config(settings.log_level))
    asyncio.run(_work(settings))


async def _work(settings: Settings) -> None:
    # Imported here: the libraries that read forms take a while to load, and the other commands need none of them.
    from fieldgate.imports.worker import Worker

    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    end_with_server()
    database = open_database(settings)
    try:
        await prepare(database)
        await Worker(settings, database).run(stopping)
    finally:
        await database.close()
