"""Checks of files, disk, limits and versions of this machine."""

import os
import resource
import shutil
import sqlite3
import stat
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from fieldgate.db.database_identity import UnexpectedDatabase, check_marker, read_identity
from fieldgate.db.last_backup import last_backup
from fieldgate.doctor.findings import Finding, error, ok, warning
from fieldgate.runtime.process_limits import fitting_connections
from fieldgate.settings import MEBIBYTE, Settings

MAX_BACKUP_AGE = timedelta(days=7)
MIN_FREE_BYTES = 100 * MEBIBYTE  # less is an error
LOW_FREE_BYTES = 1024 * MEBIBYTE  # less is a warning
MIN_FREE_INODES = 1000
LARGE_WAL_BYTES = 512 * MEBIBYTE
MIN_SQLITE_VERSION = (3, 37, 0)
OTHERS_CAN_READ = stat.S_IRGRP | stat.S_IROTH


def check_files(file: Path, data_option: str = "") -> Iterator[Finding]:
    """The SQLite file and its folder. `data_option` is added to the commands of advice."""
    folder = file.parent.absolute()
    if not folder.is_dir():
        advice = f"Check --data (or FIELDGATE_DATA), or run: fieldgate migrate{data_option}"
        yield error("files", f"There is no folder {folder}.", advice)
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield error(
            "files",
            f"{folder} cannot be written by this user.",
            "Give the folder to the user of the service.",
        )
    if folder.stat().st_mode & stat.S_IWOTH:
        yield error(
            "files", f"Every user of the machine can write to {folder}.", f"Run: chmod o-w {folder}"
        )
    if not file.is_file() or not file.stat().st_size:
        yield _missing_database(file, data_option)
        return
    yield from _check_database_file(file, folder, data_option)


def _missing_database(file: Path, data_option: str) -> Finding:
    try:
        check_marker(file, None)
    except UnexpectedDatabase as found:  # there was one before
        return error("files", f"{found}{data_option}")
    advice = f"Restore a backup, or run: fieldgate migrate{data_option}"
    return error("files", f"There is no database at {file.absolute()}.", advice)


def _check_database_file(file: Path, folder: Path, data_option: str) -> Iterator[Finding]:
    status, is_reachable = file.stat(), bool(folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH))
    if status.st_mode & OTHERS_CAN_READ and is_reachable:
        advice = f"Run: chmod 700 {folder}"
        yield warning("files", f"Other users of the machine can read {file.absolute()}.", advice)
    if not os.access(file, os.R_OK | os.W_OK):
        yield error(
            "files",
            f"{file.absolute()} cannot be written by this user.",
            "Use the user of the service.",
        )
        return
    for suffix in ("-wal", "-shm"):
        other = Path(f"{file}{suffix}")
        if other.exists() and other.stat().st_uid != status.st_uid:
            yield error(
                "files",
                f"{other} has another owner than the database.",
                f"Run: chown --reference={file} {other}",
            )
    wal = Path(f"{file}-wal")
    if wal.exists() and wal.stat().st_size > max(LARGE_WAL_BYTES, status.st_size):
        advice = "A program may hold a transaction open. Restart the service."
        yield warning("files", f"{wal} has {wal.stat().st_size // MEBIBYTE} MiB.", advice)
    try:
        check_marker(file, read_identity(file))
    except UnexpectedDatabase as found:
        yield error("files", f"{found}{data_option}")
    except sqlite3.Error as found:
        yield error("files", f"{file.absolute()} cannot be read: {found}", "Restore a backup.")
    else:
        yield ok("files", f"{file.absolute()}, {status.st_size // MEBIBYTE} MiB.")


def check_disk(folder: Path) -> Iterator[Finding]:
    """Free space and inodes where a folder is."""
    if not folder.is_dir():
        return
    free, total = shutil.disk_usage(folder).free, shutil.disk_usage(folder).total
    shown = f"{free // MEBIBYTE} of {total // MEBIBYTE} MiB are free at {folder.absolute()}."
    advice = "Free some space, or use a larger disk."
    if free < MIN_FREE_BYTES:
        yield error("disk", shown, advice)
    elif free < LOW_FREE_BYTES:
        yield warning("disk", shown, advice)
    else:
        yield ok("disk", shown)
    inodes = os.statvfs(folder)
    if inodes.f_files and inodes.f_favail < MIN_FREE_INODES:
        message = f"Only {inodes.f_favail} files can be created at {folder.absolute()}: it is out of inodes."
        yield warning("disk", message, "Delete small files.")


def check_spool(settings: Settings) -> Iterator[Finding]:
    """The folder for temporary files can be written."""
    folder = Path(settings.spool or tempfile.gettempdir())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as found:
        advice = "Uploads need it. Make it writable for the user of the service."
        yield error(
            "spool", f"No temporary file can be created in {folder}: {found.strerror}.", advice
        )
    else:
        yield ok("spool", f"Temporary files can be created in {folder}.")


def check_limits(settings: Settings) -> Iterator[Finding]:
    """Each connection needs an open file. `serve` uses all that the system allows, which is the hard limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    is_limited = most != resource.RLIM_INFINITY
    shown = f"A process can open {most if is_limited else 'any number of'} files"
    wanted = settings.max_connections
    fitting = fitting_connections(wanted, most) if is_limited else wanted
    if fitting < wanted:
        advice = "Raise the limit (LimitNOFILE= of systemd, or `ulimit -Hn`), or lower FIELDGATE_MAX_CONNECTIONS."
        yield warning("limits", f"{shown}, so it holds only {fitting} connections.", advice)
    else:
        yield ok("limits", f"{shown}.")


def check_versions() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    shown = f"Python {python}, SQLite {sqlite3.sqlite_version}."
    if sqlite3.sqlite_version_info < MIN_SQLITE_VERSION:
        yield warning("versions", shown, "This SQLite no longer gets corrections. Upgrade it.")
    else:
        yield ok("versions", shown)


def check_backup(file: Path, time: datetime) -> Iterator[Finding]:
    """The age of the last backup of an SQLite file."""
    record = last_backup(file)
    if record is None:
        yield warning(
            "backup",
            "No backup was made with `fieldgate backup`.",
            "Run it every night, on another disk.",
        )
        return
    age, shown = time - record.finished_at, f"The last backup is {record.file}"
    if age > MAX_BACKUP_AGE:
        yield warning(
            "backup", f"{shown}, {age.days} days ago.", "Run `fieldgate backup` every night."
        )
    elif not Path(record.file).exists():
        yield warning(
            "backup",
            f"{shown}, which is no longer there.",
            "Check that it was moved to a safe place.",
        )
    else:
        yield ok("backup", f"{shown}, {age.days} days ago.")
