"""A mistyped `--data` or URL is an error and creates nothing; commands that begin a database say so."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from fieldgate.cli.common import COMMAND_BUSY_TIMEOUT_MS, open_database
from fieldgate.db import AsyncDatabase
from fieldgate.db.schema import REQUIRED_REVISION
from fieldgate.db.sqlite_engine import BUSY_TIMEOUT_MS
from fieldgate.settings import Settings
from tests.data.accounts import PASSWORD
from tests.data.sql import write_sql
from tests.processes import free_port, run_command

ON_EXISTING_DATA = [
    ("user", "list"),
    ("user", "password", "amina", "--password-stdin"),
    ("token", "create", "amina"),
]
BEGINNING = [
    ("migrate",),
    ("user", "create", "amina", "--password-stdin"),
    ("events", "demo", "1"),
    ("events", "load", "-"),
    ("events", "sync", "not a url"),
]


@pytest.mark.parametrize("arguments", ON_EXISTING_DATA, ids=" ".join)
def test_command_on_existing_data_creates_nothing(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    folder = tmp_path / "mis typed"
    done = run_command(*arguments, data=folder, stdin=PASSWORD)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: There is no database at {folder / 'fieldgate.db'}. Check --data (or FIELDGATE_DATA). "
        f"If it is right, create the database. Run: fieldgate migrate --data '{folder}'\n"
    )
    assert not folder.exists()


@pytest.mark.parametrize("arguments", BEGINNING, ids=" ".join)
def test_command_that_begins_a_database_says_so(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    notice = f"Creating a new database: {tmp_path / 'new' / 'fieldgate.db'}\n"
    stdin = "[]" if "load" in arguments else PASSWORD
    assert run_command(*arguments, data=tmp_path / "new", stdin=stdin).stderr.startswith(notice)
    assert notice not in run_command(*arguments, data=tmp_path / "new", stdin=stdin).stderr


def test_database_url_without_our_tables(
    tmp_path: Path, empty_database_url: str, database_kind: str
) -> None:
    url = make_url(empty_database_url)
    if database_kind == "postgresql":
        url = url.set(password="hunter2")
    environment = {"FIELDGATE_DATABASE_URL": url.render_as_string(hide_password=False)}
    for arguments in (("user", "list"), ("token", "list")):
        done = run_command(*arguments, data=tmp_path / "unused", environment=environment)
        assert (done.returncode, done.stdout) == (1, "")
        missing = (
            "There is no database at "
            if database_kind == "sqlite"
            else " has no tables of Fieldgate."
        )
        assert missing in done.stderr
        assert str(url.database) in done.stderr
        assert "hunter2" not in done.stderr
        advice = "Check FIELDGATE_DATABASE_URL. If it is right, create the database. Run: fieldgate migrate\n"
        assert done.stderr.endswith(advice)
    assert not (tmp_path / "unused").exists()


def test_lost_database_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    folder = tmp_path / "my data"
    assert run_command("migrate", data=folder).returncode == 0
    file = folder / "fieldgate.db"
    kept = file.read_bytes()
    file.unlink()
    commands = [
        ("serve", "--port", str(free_port())),
        ("migrate",),
        ("events", "demo", "1"),
        ("user", "list"),
        ("backup", str(tmp_path / "backup.db")),
    ]
    for arguments in commands:
        done = run_command(*arguments, data=folder)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"The database {file} is gone" in done.stderr
        assert "restore a backup" in done.stderr
        assert done.stderr.endswith(f" run: fieldgate migrate --new --data '{folder}'\n")
        assert not file.exists()
    file.write_bytes(kept)
    assert run_command("user", "list", data=folder).returncode == 0, "the file is back"
    file.unlink()
    assert "Creating a new database" in run_command("migrate", "--new", data=folder).stderr


def test_another_database_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        assert run_command("migrate", data=tmp_path / folder).returncode == 0
    file = tmp_path / "a" / "fieldgate.db"
    file.write_bytes((tmp_path / "b" / "fieldgate.db").read_bytes())
    refused = run_command("user", "list", data=tmp_path / "a")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"{file} is another database than the one that was used here before" in refused.stderr
    assert refused.stderr.endswith(f" run: fieldgate migrate --new --data {tmp_path / 'a'}\n")
    accepted = run_command("migrate", "--new", data=tmp_path / "a")
    assert (accepted.returncode, accepted.stdout) == (
        0,
        f"schema {REQUIRED_REVISION} (nothing to do)\n",
    )
    assert run_command("user", "list", data=tmp_path / "a").returncode == 0


async def timeouts(database: AsyncDatabase) -> list[int]:
    """How long a database waits for the lock of another process: in transactions, writes and reads."""
    query = text("PRAGMA busy_timeout")
    async with database.transaction() as connection:
        of_transaction = (await connection.execute(query)).scalar_one()
    return [
        of_transaction,
        round(database.sync.sqlite_writer.busy_seconds * 1000),
        database.sqlite_reader().execute("PRAGMA busy_timeout").fetchone()[0],
    ]


async def test_commands_wait_longer_than_the_service(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    async with open_database(settings, creates=True) as database:
        assert await timeouts(database) == [COMMAND_BUSY_TIMEOUT_MS] * 3
    of_service = AsyncDatabase(settings.database)
    assert await timeouts(of_service) == [BUSY_TIMEOUT_MS] * 3
    await of_service.close()
    assert COMMAND_BUSY_TIMEOUT_MS > BUSY_TIMEOUT_MS


COMMANDS = [
    ("serve",),
    ("worker",),
    ("migrate",),
    ("user", "list"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
async def test_other_schema_is_a_message(
    database_url: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with write_sql(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0018'"))
    environment = {"FIELDGATE_DATABASE_URL": database_url, "FIELDGATE_PORT": str(free_port())}
    done = await asyncio.to_thread(run_command, *arguments, data=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
    expected = f"Error: The database has schema 0018, and this release needs {REQUIRED_REVISION}. "
    assert done.stderr.startswith(expected)
    assert "start with a new data folder" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("user", "list"), ("serve",), ("migrate",), ("backup", "copy")], ids=" ".join
)
def test_bad_url_is_a_message_without_the_password(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    url = "postgresql://u:se/cret@h/db"
    done = run_command(*arguments, data=tmp_path, environment={"FIELDGATE_DATABASE_URL": url})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: FIELDGATE_DATABASE_URL: a port is not a number")
    assert "cret" not in done.stderr


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgre://u:a@b:secret@h/db", "sqlite:///… or postgresql://… is needed, not 'postgre'."),
        ("sqlite:////tmp/none/x.db?timeout=abc", "could not convert string to float: 'abc'"),
    ],
)
def test_bad_scheme_and_bad_option_are_messages(tmp_path: Path, url: str, message: str) -> None:
    done = run_command("migrate", data=tmp_path, environment={"FIELDGATE_DATABASE_URL": url})
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"Error: FIELDGATE_DATABASE_URL: {message}\n",
    )
