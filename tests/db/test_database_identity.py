"""The marker next to an SQLite file, which tells a lost database from a new installation."""

from pathlib import Path

import pytest

from fieldgate.db import Database
from fieldgate.db.database_identity import (
    UnexpectedDatabase,
    check_marker,
    marker_file,
    read_identity,
    read_marker,
    remove_marker,
    write_marker,
)
from tests.databases import prepare_database


async def new_file(folder: Path) -> Path:
    database = Database(f"sqlite:///{folder / 'fieldgate.db'}")
    await prepare_database(database)
    await database.close()
    return folder / "fieldgate.db"


async def test_marker_names_the_database(tmp_path: Path) -> None:
    file = await new_file(tmp_path)
    identity = read_identity(file)
    assert identity is not None
    assert read_marker(file) is None
    check_marker(file, identity)
    check_marker(file, None)
    write_marker(file, identity)
    assert marker_file(file) == tmp_path / "fieldgate.db.id"
    assert read_marker(file) == identity
    check_marker(file, identity)
    for other in (None, identity + 1):
        with pytest.raises(UnexpectedDatabase, match="fieldgate migrate --new"):
            check_marker(file, other)
    remove_marker(file)
    remove_marker(file)
    assert read_marker(file) is None
    assert not marker_file(file).exists()


def test_files_without_an_identity(tmp_path: Path) -> None:
    file = tmp_path / "a file%20?.db"
    assert read_identity(file) is None
    assert not file.exists(), "nothing is created"
    file.touch()
    assert read_identity(file) is None
    marker_file(file).write_text("not a number")
    assert read_marker(file) is None
