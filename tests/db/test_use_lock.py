"""The lock that shows whether a database is in use."""

from pathlib import Path

import pytest

from fieldgate.db.use_lock import DatabaseInUse, exclusive_use, shared_use


def test_shared_uses_at_the_same_time(tmp_path: Path) -> None:
    file = tmp_path / "fieldgate.db"
    with shared_use(file), shared_use(file), pytest.raises(DatabaseInUse), exclusive_use(file):
        pass
    with exclusive_use(file):
        with pytest.raises(DatabaseInUse), shared_use(file):
            pass
        with pytest.raises(DatabaseInUse), exclusive_use(file):
            pass


def test_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    with shared_use(tmp_path / "fieldgate.db"):
        pass
    (lock,) = tmp_path.iterdir()
    assert (lock.name, lock.stat().st_mode & 0o777) == ("fieldgate.db.lock", 0o600)


def test_without_a_file_nothing_is_locked(tmp_path: Path) -> None:
    with shared_use(None), shared_use(tmp_path / "missing" / "fieldgate.db"):
        pass
    assert not list(tmp_path.iterdir())
