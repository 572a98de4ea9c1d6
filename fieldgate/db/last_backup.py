"""The record of the last backup of a database, in a file next to it, for `fieldgate doctor`."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from fieldgate.db.partial_file import partial_file

RECORD_SUFFIX = ".last-backup.json"


class BackupRecord(msgspec.Struct, frozen=True):
    """What is known about the last backup of a database."""

    finished_at: datetime
    file: str
    bytes: int
    rows: int
    revision: str


def write_backup_record(database: Path, record: BackupRecord) -> None:
    """Remember a backup. A folder that cannot be written is no reason to fail: the backup exists."""
    file = _record_file(database)
    with suppress(OSError), partial_file(file) as partial:
        partial.write_bytes(msgspec.json.encode(record))
        partial.replace(file)


def last_backup(database: Path) -> BackupRecord | None:
    """The record of the last backup of a database, if there is one."""
    try:
        return msgspec.json.decode(_record_file(database).read_bytes(), type=BackupRecord)
    except (OSError, msgspec.DecodeError):
        return None


def _record_file(database: Path) -> Path:
    return database.with_name(database.name + RECORD_SUFFIX)
