"""Commands wait for other writers of an SQLite file for longer than the service does."""

from pathlib import Path

from sqlalchemy import text

from fieldgate.cli.common import COMMAND_BUSY_TIMEOUT_MS, open_database
from fieldgate.db import Database
from fieldgate.db.database import BUSY_TIMEOUT_MS
from fieldgate.settings import Settings


async def timeouts(database: Database) -> list[int]:
    """What the connections of a database wait for: its transactions, group commits and reads."""
    query = text("PRAGMA busy_timeout")
    async with database.transaction() as connection:
        of_transaction = (await connection.execute(query)).scalar_one()
    of_write = await database.write(lambda connection: connection.execute(query).scalar_one())
    return [of_transaction, of_write, database.sqlite_reader().execute("PRAGMA busy_timeout").fetchone()[0]]


async def test_commands_wait_longer_than_the_service(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    async with open_database(settings, creates=True) as database:
        assert await timeouts(database) == [COMMAND_BUSY_TIMEOUT_MS] * 3
    of_service = Database(settings.database)
    assert await timeouts(of_service) == [BUSY_TIMEOUT_MS] * 3
    await of_service.close()
    assert COMMAND_BUSY_TIMEOUT_MS > BUSY_TIMEOUT_MS
