"""The header of the WAL index tells of every commit that `PRAGMA data_version` tells of."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from fieldgate.db import Database, wal_index
from fieldgate.db.wal_index import map_wal_index


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell what is open")


def _output_of(script: str) -> str:
    """What a script prints in another process."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def _roll_back(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO x VALUES (2)")
    connection.execute("ROLLBACK")


def _reconnect(connection: sqlite3.Connection) -> None:
    path = connection.execute("PRAGMA database_list").fetchone()[2]
    with closing(_connect(path)) as other:
        other.execute("INSERT INTO x VALUES (3)")


def _statement(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda connection: connection.execute(sql).fetchall()


STEPS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "write": _statement("INSERT INTO x VALUES (1)"),
    "write nothing new": _statement("UPDATE x SET y = y"),
    "delete": _statement("DELETE FROM x"),
    "read": _statement("SELECT count(*) FROM x"),
    "roll back": _roll_back,
    "write with another connection": _reconnect,
    "checkpoint": _statement("PRAGMA wal_checkpoint(PASSIVE)"),
    "restart the log": _statement("PRAGMA wal_checkpoint(RESTART)"),
    "truncate the log": _statement("PRAGMA wal_checkpoint(TRUNCATE)"),
    "vacuum": _statement("VACUUM"),
    "change the schema": _statement("CREATE TABLE IF NOT EXISTS z (y)"),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12))
def test_it_changes_whenever_the_data_version_does(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with closing(_connect(path)) as writer, closing(_connect(path)) as reader:
            writer.execute("CREATE TABLE x (y)")
            mapped = map_wal_index(reader, str(path))
            assert mapped is not None

            def state() -> tuple[bytes, int]:
                header = mapped.header()  # first: what follows may see a later state
                return header, reader.execute("PRAGMA data_version").fetchone()[0]

            before = state()
            for step in steps:
                STEPS[step](writer)
                after = state()
                assert after[1] == before[1] or after[0] != before[0], step
                before = after
            mapped.close()


def test_commits_of_other_processes_are_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    script = f"""
import sqlite3, sys
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
for line in sys.stdin:
    connection.execute("INSERT INTO x VALUES (1)")
    print("done", flush=True)
"""
    with closing(_connect(path)) as reader:
        reader.execute("CREATE TABLE x (y)")
        mapped = map_wal_index(reader, str(path))
        assert mapped is not None
        with subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            for _ in range(200):
                before = mapped.header()
                print(file=other.stdin, flush=True)
                assert other.stdout.readline() == "done\n"
                assert mapped.header() != before
            other.stdin.close()
        mapped.close()


def test_others_see_that_the_index_is_in_use(tmp_path: Path) -> None:
    """Otherwise the next process to open the database would take it for unused, and truncate the index."""
    path = tmp_path / "x.db"
    # struct flock of Linux: type, whence, start, length, pid. Byte 128 is the "dead man's switch" of SQLite.
    script = f"""
import fcntl, struct
with open({str(path) + "-shm"!r}, "r+b") as file:
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 128, 1, 0)
    print(struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, wanted))[0] == fcntl.F_RDLCK)
"""

    with closing(_connect(path)) as reader:
        reader.execute("CREATE TABLE x (y)")
        assert _output_of(script) == "True"
        mapped = map_wal_index(reader, str(path))
        assert mapped is not None
        assert _output_of(script) == "True"
        mapped.close()
        assert _output_of(script) == "True"
        with pytest.raises(ValueError, match="closed"):
            mapped.header()


def test_symbolic_link(tmp_path: Path) -> None:
    """SQLite puts the log and its index beside the file that a link leads to."""
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real" / "x.db")
    with closing(_connect(link)) as writer, closing(_connect(link)) as reader:
        mapped = map_wal_index(reader, str(link))
        assert mapped is not None
        before = mapped.header()
        writer.execute("CREATE TABLE x (y)")
        assert mapped.header() != before
        mapped.close()


def test_other_files_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.db"
    with closing(_connect(path)) as reader:
        reader.execute("CREATE TABLE x (y)")
        index = tmp_path / "x.db-shm"
        content = index.read_bytes()
        index.rename(tmp_path / "elsewhere")
        assert map_wal_index(reader, str(path)) is None, "there is none"
        index.write_bytes(content)
        assert map_wal_index(reader, str(path)) is None, "not that of the connection"
        index.unlink()
        (tmp_path / "elsewhere").rename(index)
        monkeypatch.setattr(wal_index, "_DESCRIPTORS", tmp_path / "missing")
        assert map_wal_index(reader, str(path)) is None, "nothing tells what is open"
    without_log = tmp_path / "y.db"
    with closing(sqlite3.connect(without_log)) as reader:
        assert map_wal_index(reader, str(without_log)) is None


@pytest.mark.parametrize("has_index", [True, False])
async def test_state_of_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_index: bool) -> None:
    if not has_index:
        monkeypatch.setattr(wal_index, "_DESCRIPTORS", tmp_path / "missing")
    database = Database(f"sqlite:///{tmp_path}/fieldgate.db")
    async with database.transaction() as connection:
        await connection.execute(text("CREATE TABLE x (y)"))
    states = [database.commit_state()]
    assert (database._wal_index is not None) == has_index
    for _ in range(3):
        assert database.commit_state() == states[-1]
        async with database.transaction() as connection:
            await connection.execute(text("INSERT INTO x VALUES (1)"))
        states.append(database.commit_state())
    assert len(set(states)) == 4
    await database.close()
    assert database._wal_index is None
    assert database.commit_state() is not None, "opened again"
    await database.close()


def test_locks_of_this_process_stay(tmp_path: Path) -> None:
    """POSIX ends all locks of a process on a file when it closes any descriptor of the file."""
    path = tmp_path / "x.db"
    script = f"""
import sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None, timeout=0)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""

    with closing(_connect(path)) as writer, closing(_connect(path)) as reader:
        writer.execute("CREATE TABLE x (y)")
        assert _output_of(script) == ""
        writer.execute("BEGIN IMMEDIATE")
        assert _output_of(script) == "database is locked"
        mapped = map_wal_index(reader, str(path))
        assert mapped is not None
        assert _output_of(script) == "database is locked"
        mapped.close()
        mapped.close()  # has no effect
        assert _output_of(script) == "database is locked"
        writer.execute("ROLLBACK")
        assert _output_of(script) == ""
