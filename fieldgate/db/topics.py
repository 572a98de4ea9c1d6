"""Versions of data: a number for each topic ("accounts", "events"), raised by every write of its data.

What is kept in memory is valid as long as the versions are those under which it was read. A new version is the time in
microseconds, or one more than the version before if that is higher. So versions are in the order of commits, and none
is used twice for different data, also after a backup was restored, unless the clock was set back as well.
"""

import json
from collections.abc import Collection, Sequence

from sqlalchemy import text
from sqlalchemy.engine import Connection

from fieldgate.db.tables import Timestamp, now

# Of all topics: they are few, and this takes a quarter of the time of a statement with a list of topics.
_SELECT_VERSIONS = "SELECT topic, version FROM changes"
_RAISE_ON_SQLITE = text(
    "INSERT INTO changes (topic, version) SELECT value, :version FROM json_each(:topics) WHERE true"
    " ON CONFLICT (topic) DO UPDATE SET version = max(changes.version + 1, excluded.version)"
)
_RAISE_ON_POSTGRESQL = text(  # with the server's clock
    "INSERT INTO changes (topic, version)"
    " SELECT topic, CAST(EXTRACT(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)"
    " FROM unnest(CAST(:topics AS TEXT[])) AS topic"
    " ON CONFLICT (topic) DO UPDATE SET version = greatest(changes.version + 1, excluded.version)"
)


def read_versions(connection: Connection, topics: Sequence[str]) -> tuple[int, ...]:
    """The versions of these topics, in their order. 0 is that of a topic without data."""
    rows = connection.exec_driver_sql(_SELECT_VERSIONS).fetchall()
    versions = {topic: version for topic, version in rows}  # noqa: C416
    return tuple([versions.get(topic, 0) for topic in topics])


def raise_versions(connection: Connection, topics: Collection[str]) -> None:
    """Raise versions with one statement. Rows are locked in the order of their names, so writers cannot deadlock."""
    names = sorted(topics)
    if connection.dialect.name == "sqlite":
        values = {"topics": json.dumps(names), "version": Timestamp.pack(now())}
        connection.execute(_RAISE_ON_SQLITE, values)
    else:
        connection.execute(_RAISE_ON_POSTGRESQL, {"topics": names})
