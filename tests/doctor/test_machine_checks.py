"""Files, permissions, disk and the age of backups."""

import os
import resource
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from fieldgate.db import now
from fieldgate.db.database_identity import write_marker
from fieldgate.db.last_backup import BackupRecord
from fieldgate.doctor import machine_checks
from fieldgate.doctor.findings import Finding, Level
from fieldgate.doctor.machine_checks import (
    check_backup,
    check_disk,
    check_files,
    check_limits,
    check_spool,
)
from fieldgate.settings import Settings
from tests.databases import create_database

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    await create_database(f"sqlite:///{folder / 'fieldgate.db'}")
    return folder / "fieldgate.db"


def problems(found: list[Finding]) -> list[str]:
    return [
        f"{each.level}: {each.message} {each.advice}" for each in found if each.level != Level.OK
    ]


@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "expected"),
    [
        (0o700, 0o600, ""),
        (0o755, 0o644, "warning: Other users of the machine can read"),
        (0o777, 0o600, "error: Every user of the machine can write"),
    ],
)
def test_permissions_of_files(file: Path, folder_mode: int, file_mode: int, expected: str) -> None:
    file.parent.chmod(folder_mode)
    file.chmod(file_mode)
    found = problems(list(check_files(file)))
    assert [each.startswith(expected) for each in found] == ([True] if expected else [])


def test_missing_files(file: Path) -> None:
    (found,) = problems(list(check_files(file.parent / "no" / "fieldgate.db")))
    assert found.startswith("error: There is no folder")
    file.unlink()
    (found,) = problems(list(check_files(file, " --data x")))
    assert found.startswith("error: There is no database at")
    assert found.endswith(" run: fieldgate migrate --data x")
    for content in (None, b""):  # no file, an empty file
        if content is not None:
            file.write_bytes(content)
        write_marker(file, 12345)
        (found,) = problems(list(check_files(file, " --data x")))
        assert found.startswith(f"error: The database {file} is gone"), "there was one before"
        assert "fieldgate migrate --data" not in found, "it refuses"
        assert found.rstrip().endswith(" run: fieldgate migrate --new --data x")


def test_another_database(file: Path) -> None:
    write_marker(file, 12345)
    (found,) = problems(list(check_files(file)))
    assert "another database" in found


def test_damaged_database(file: Path) -> None:
    file.write_bytes(b"x" * 5000)
    (found,) = problems(list(check_files(file)))
    assert "cannot be read" in found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("SELECT * FROM changes").fetchall()
        wal = Path(f"{file}-wal")
        wal.touch()
        os.chown(wal, 12345, 12345)
        assert any("has another owner" in found for found in problems(list(check_files(file))))


@pytest.mark.parametrize(
    ("free", "level"), [(1, Level.ERROR), (200 * 2**20, Level.WARNING), (2**40, Level.OK)]
)
def test_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(2**41, 0, free))
    assert next(check_disk(tmp_path)).level == level


def test_inodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "MIN_FREE_INODES", 2**63)
    assert "out of inodes" in list(check_disk(tmp_path))[-1].message


def test_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(check_spool(Settings())).level == Level.OK
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    assert next(check_spool(Settings())).level == Level.ERROR


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hard limit counts: `serve` raises the soft one."""
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (256, 4096))
    (found,) = check_limits(Settings(max_connections=10_000))
    assert (found.level, "only 3072 connections" in found.message) == (Level.WARNING, True)
    (found,) = check_limits(Settings(max_connections=3_000))
    assert found.level == Level.OK
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (256, resource.RLIM_INFINITY))
    (found,) = check_limits(Settings(max_connections=10_000))
    assert found.level == Level.OK


@pytest.mark.parametrize(
    ("days", "exists", "expected"),
    [(1, True, ""), (8, True, "8 days ago"), (1, False, "no longer")],
)
def test_backup_age(file: Path, days: int, exists: bool, expected: str) -> None:
    (found,) = problems(list(check_backup(file, now())))
    assert "No backup was made" in found
    target = file if exists else file.parent / "gone.db"
    record = BackupRecord(now() - timedelta(days=days), str(target), 1, 1, "0001")
    Path(f"{file}.last-backup.json").write_bytes(msgspec.json.encode(record))
    found_now = problems(list(check_backup(file, now())))
    assert [expected in each for each in found_now] == ([True] if expected else [])
