"""Commands of `fieldgate` in this process, on the database of a test. `tests/processes.py` starts processes."""

import asyncio

from click.testing import CliRunner, Result

from fieldgate.cli import main
from tests.data.sql import UsesDatabase, url_of


async def run_command(database: str | UsesDatabase, *arguments: str, stdin: str = "") -> Result:
    """Run a command in a thread, as it has an event loop of its own."""
    environment = {"FIELDGATE_DATABASE_URL": url_of(database)}
    return await asyncio.to_thread(
        CliRunner().invoke, main, arguments, input=stdin, env=environment
    )
