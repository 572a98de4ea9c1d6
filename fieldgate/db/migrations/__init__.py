"""Schema migrations, run by Alembic in one transaction."""

import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

REVISION_FOLDERS = [str(Path(__file__).parent / "versions")]
_LOCK = 0x0F1E1D6A7E  # any number, the same for every process that migrates


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join(REVISION_FOLDERS))
    return config


def run_migrations(connection: Connection) -> None:
    """Run all migrations that are missing, in the transaction of the caller. Concurrent calls wait for each other."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
