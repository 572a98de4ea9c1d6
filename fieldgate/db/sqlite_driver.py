"""The connection of the driver behind one of the engine, for short statements on SQLite."""

import sqlite3
from typing import Any

from sqlalchemy.engine import Connection


def sqlite_driver(connection: Connection) -> sqlite3.Connection | None:
    """Return the driver's connection in a function passed to `Database.write` on SQLite, or None.

    For a short statement, the engine takes several times as long as SQLite.
    """
    driver: Any = connection.connection.driver_connection
    return driver if isinstance(driver, sqlite3.Connection) else None
