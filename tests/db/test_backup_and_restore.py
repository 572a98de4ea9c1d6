"""Backups of SQLite files: consistent, verified, whole or not there at all."""

import gzip
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase
from fieldgate.db.backup import BackupResult, back_up
from fieldgate.db.backup_content import BackupError
from fieldgate.db.last_backup import last_backup
from fieldgate.db.restore import restore
from fieldgate.db.schema import REQUIRED_REVISION
from fieldgate.db.use_lock import shared_use
from tests.databases import prepare_database


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """A database with some rows, some of them in the WAL file."""
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "fieldgate.db"
    database = AsyncDatabase(f"sqlite:///{file}")
    await prepare_database(database)
    await database.close()
    run(
        file, "INSERT INTO changes (topic, version) VALUES ('assets', 7), ('events, as a whole', 3)"
    )
    return file


def run(file: Path, statement: str, values: Sequence[Any] = ()) -> list[Any]:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        return connection.execute(statement, values).fetchall()


def make_backup(file: Path, target: Path, **options: Any) -> BackupResult:
    return back_up(file, target, **{"overwrite": False, **options})


def put_back(backup: Path, file: Path, overwrite: bool = True) -> Path | None:
    return restore(backup, file, overwrite=overwrite).replaced


def versions(file: Path) -> dict[str, int]:
    return dict(run(file, "SELECT topic, version FROM changes"))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_backup_and_restore(file: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"copy.db{suffix}"
    made = make_backup(file, target)
    assert made.content.revision == REQUIRED_REVISION
    assert made.content.database_id == versions(file)[IDENTITY_TOPIC]
    assert made.content.tables["changes"] == len(versions(file))
    assert made.bytes == target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [target.name, "data"], (
        "no WAL, nothing unfinished"
    )
    if suffix != ".zst":
        content = gzip.decompress(target.read_bytes()) if suffix else target.read_bytes()
        assert content[18:20] == b"\x01\x01", "not in WAL mode"
    record = last_backup(file)
    assert record is not None
    assert (record.file, record.rows) == (str(target), made.content.rows)

    elsewhere = tmp_path / "other" / "fieldgate.db"
    result = restore(target, elsewhere, overwrite=False)
    assert (result.content, result.replaced) == (made.content, None)
    assert run(elsewhere, "SELECT * FROM countries") == run(file, "SELECT * FROM countries")
    assert run(elsewhere, "PRAGMA integrity_check") == [("ok",)]
    assert elsewhere.stat().st_mode & 0o777 == 0o600


def test_writer_that_has_not_committed_is_not_in_the_backup(file: Path, tmp_path: Path) -> None:
    """It is not waited for, either."""
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO changes (topic, version) VALUES ('committed', 1)")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO changes (topic, version) VALUES ('not committed', 1)")
        make_backup(file, tmp_path / "copy.db")
        writer.execute("COMMIT")
    assert versions(file).keys() - versions(tmp_path / "copy.db").keys() == {"not committed"}


def test_existing_file_is_replaced_only_on_demand(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")
    with pytest.raises(BackupError, match=r"exists.*--force"):
        make_backup(file, target)
    assert target.read_text() == "precious"
    make_backup(file, target, overwrite=True)
    assert run(target, "PRAGMA integrity_check") == [("ok",)]


def test_targets_that_cannot_be(file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    targets = (
        (file, "itself"),
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x", "does not exist"),
        (tmp_path / "pipe", "is not a file"),
        (Path(f"{file}-wal"), "belongs to the database"),
        (Path(f"{file}.id"), "belongs to the database"),
    )
    for target, message in targets:
        with pytest.raises(BackupError, match=message):
            make_backup(file, target, overwrite=True)


def test_unfinished_files_of_killed_backups_are_deleted(file: Path, tmp_path: Path) -> None:
    left = tmp_path / ".copy.db.abc.partial"
    left.touch()
    Path(f"{left}-journal").touch()
    other = tmp_path / ".other.db.abc.partial"
    other.touch()
    make_backup(file, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "copy.db", "data"]


def test_another_database_is_not_backed_up(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    run(foreign, "CREATE TABLE t (a)")
    with pytest.raises(BackupError, match="not a database of Fieldgate"):
        make_backup(foreign, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_restore_keeps_the_old_database_with_its_wal(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    file.chmod(0o640)
    with closing(
        sqlite3.connect(file, isolation_level=None)
    ) as killed:  # leaves a WAL file, as after kill -9
        killed.execute("PRAGMA journal_mode = WAL")
        killed.execute("INSERT INTO changes (topic, version) VALUES ('later', 1)")
        wal = Path(f"{file}-wal").read_bytes()
        killed.execute("DELETE FROM changes WHERE topic = 'later'")
    Path(f"{file}-wal").write_bytes(wal)
    aside = put_back(tmp_path / "copy.db", file)
    assert aside is not None
    assert "later" in versions(aside)
    assert versions(file)["later"] > 1, "raised, as its version must not come again"
    assert not Path(f"{file}-wal").exists()
    assert not Path(f"{file}-shm").exists()
    assert file.stat().st_mode & 0o777 == 0o640


def test_versions_never_come_again(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    run(file, "UPDATE changes SET version = version + 1 WHERE topic <> ?", [IDENTITY_TOPIC])
    run(file, "INSERT INTO changes (topic, version) VALUES ('reference', 1)")
    before = versions(file)
    put_back(tmp_path / "copy.db", file)
    after = versions(file)
    assert after.pop(IDENTITY_TOPIC) == before.pop(IDENTITY_TOPIC)
    assert before.keys() | {"accounts", "assets", "events", "imports", "reference"} == after.keys()
    assert all(after[topic] > before[topic] for topic in before)
    put_back(tmp_path / "copy.db", file)
    assert all(
        version > after[topic] for topic, version in versions(file).items() if topic in after
    )


def test_existing_database_is_replaced_only_on_demand(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    before = file.read_bytes()
    with pytest.raises(BackupError, match=r"exists.*--force"):
        put_back(tmp_path / "copy.db", file, overwrite=False)
    assert file.read_bytes() == before


def test_database_in_use_is_not_replaced(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    with shared_use(file), pytest.raises(BackupError, match="in use"):
        put_back(tmp_path / "copy.db", file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:  # not a program of ours
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BackupError, match="in use by another program"):
            put_back(tmp_path / "copy.db", file)
    assert [path.name for path in file.parent.iterdir() if "replaced" in path.name] == []


def damage(offset: int, replacement: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content[:offset] + replacement + content[offset + len(replacement) :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-4096], "damaged"),
        (lambda _content: b"PK\x03\x04" * 100, "not an SQLite database"),
        (lambda _content: b"", "not a database of Fieldgate"),
        (damage(4096, b"\xff" * 4096), "damaged"),
        (damage(8192, b"\x00" * 4096 * 4), "damaged"),
    ],
)
def test_damaged_backup_is_refused(
    file: Path, tmp_path: Path, change: Callable[[bytes], bytes], message: str
) -> None:
    backup = tmp_path / "copy.db"
    make_backup(file, backup)
    backup.write_bytes(change(backup.read_bytes()))
    before = file.read_bytes()
    with pytest.raises(BackupError, match=message):
        put_back(backup, file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize(
    "change", [lambda content: content[:-50], damage(200, b"\xff\xff\xff\xff")]
)
def test_damaged_compressed_backup_is_refused(
    file: Path, tmp_path: Path, suffix: str, change: Callable[[bytes], bytes]
) -> None:
    backup = tmp_path / f"copy.db{suffix}"
    make_backup(file, backup)
    backup.write_bytes(change(backup.read_bytes()))
    with pytest.raises(BackupError, match=r"damaged|not complete"):
        put_back(backup, file)


def test_backup_of_a_later_release_is_refused(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    run(tmp_path / "copy.db", "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(BackupError, match="has schema 9999"):
        put_back(tmp_path / "copy.db", file)


@pytest.mark.parametrize(
    "program",
    [
        "CREATE TRIGGER more AFTER UPDATE ON changes BEGIN UPDATE users SET is_superuser = 1; END",
        "CREATE VIEW more AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        "UPDATE changes SET version = 'text' WHERE topic = 'identity'",
    ],
)
def test_backup_that_somebody_changed_is_refused(file: Path, tmp_path: Path, program: str) -> None:
    make_backup(file, tmp_path / "copy.db")
    run(tmp_path / "copy.db", program)
    with pytest.raises(BackupError, match=r"not from Fieldgate|not a database of Fieldgate"):
        put_back(tmp_path / "copy.db", file)


def test_files_that_are_no_backup(file: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="There is no file"):
        put_back(tmp_path / "nothing.db", file)
    with pytest.raises(BackupError, match="itself"):
        put_back(file, file)
    foreign = tmp_path / "foreign.db"
    run(foreign, "CREATE TABLE t (a)")
    with pytest.raises(BackupError, match="not a database of Fieldgate"):
        put_back(foreign, file)
    copied = tmp_path / "copied.db"
    make_backup(file, copied)
    Path(f"{copied}-wal").write_bytes(b"x")
    with pytest.raises(BackupError, match="copied while it was"):
        put_back(copied, file)


def test_unreadable_database_is_replaced_and_kept(file: Path, tmp_path: Path) -> None:
    make_backup(file, tmp_path / "copy.db")
    file.write_bytes(b"not a database" * 1000)
    Path(f"{file}-wal").write_bytes(b"its WAL")
    aside = put_back(tmp_path / "copy.db", file)
    assert aside is not None
    assert aside.read_bytes().startswith(b"not a database")
    assert Path(f"{aside}-wal").read_bytes() == b"its WAL"
    assert run(file, "PRAGMA integrity_check") == [("ok",)]
