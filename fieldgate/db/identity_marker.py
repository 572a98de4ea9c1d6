"""A small file next to an SQLite database that says which database belongs there.

Its name is that of the database with `.id` added. Without it, a start that finds no file could not tell a new
installation from a lost database, and would begin an empty one.

    check_marker(file, read_identity(file))  # raises `UnexpectedDatabase`
    write_marker(file, identity)
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

SELECT_IDENTITY = "SELECT version FROM changes WHERE topic = 'identity'"

_EXPLANATION = "The number identifies the database next to this file. Fieldgate does not start with another one.\n"


class UnexpectedDatabase(Exception):
    """There is no database where one was before, or another one. The message ends with the command that accepts it."""


def marker_file(file: Path) -> Path:
    """The marker of a database file."""
    return file.with_name(file.name + ".id")


def read_marker(file: Path) -> int | None:
    """The identity of the database that belongs here, None if that is not known."""
    try:
        first_line = marker_file(file).read_text(encoding="utf-8").partition("\n")[0]
        return int(first_line)
    except (FileNotFoundError, ValueError):
        return None


def write_marker(file: Path, identity: int) -> None:
    """Note which database belongs here. The marker is replaced as a whole, and on disk when this returns."""
    target = marker_file(file)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as output:
            output.write(f"{identity}\n{_EXPLANATION}")
            output.flush()
            os.fsync(output.fileno())
        temporary.replace(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def remove_marker(file: Path) -> None:
    """Forget which database belongs here: the next start accepts any, and creates one if there is none."""
    marker_file(file).unlink(missing_ok=True)


def read_identity(file: Path) -> int | None:
    """The identity of a database file, None if there is no file or it has no identity."""
    if not file.is_file() or not file.stat().st_size:
        return None
    with closing(sqlite3.connect(read_write_uri(file), uri=True)) as connection:
        try:
            row = connection.execute(SELECT_IDENTITY).fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
    return None if row is None else int(row[0])


def read_write_uri(file: Path | str) -> str:
    """The URI that opens an SQLite file if it exists, and never creates one."""
    return f"file:{quote(str(file))}?mode=rw"


def check_marker(file: Path, identity: int | None) -> None:
    """Raise `UnexpectedDatabase` if another database belongs here than the one with this identity, None if none."""
    expected = read_marker(file)
    if expected is None or expected == identity:
        return
    name = file.absolute()
    if identity is None:
        raise UnexpectedDatabase(
            f"The database {name} is gone: {marker_file(file).name} says that there was one. Put the file back, or "
            "restore a backup. To begin with an empty database, run: fieldgate migrate --new"
        )
    raise UnexpectedDatabase(
        f"{name} is another database than the one that was used here before, according to {marker_file(file).name}. "
        "Put the right file back, or restore a backup. To use this one from now on, run: fieldgate migrate --new"
    )
