"""Stored events in another format: `fieldgate migrate` rebuilds them, and so does `serve` on SQLite."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from fieldgate.events.facets import EVENT_FORMAT
from fieldgate.events.tables import documents, event_format
from tests.data.sql import read_sql, write_sql
from tests.processes import ServerProcess, run_command

EVENTS = "/api/v2/event/"


def store_in_another_format(database: str) -> None:
    with write_sql(database) as connection:
        connection.execute(update(documents).values(document=b"{}"))
        connection.execute(update(event_format).values(format=EVENT_FORMAT + 1))


def read_documents(database: str) -> list[bytes]:
    with read_sql(database) as connection:
        return list(
            connection.execute(select(documents.c.document).order_by(documents.c.id)).scalars()
        )


async def test_migrate(database_url: str, tmp_path: Path) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    assert (
        run_command("events", "demo", "30", data=tmp_path, environment=environment).returncode == 0
    )
    expected = read_documents(database_url)
    store_in_another_format(database_url)
    done = run_command("migrate", data=tmp_path, environment=environment)
    assert (done.returncode, done.stderr.startswith("rebuilt 30 events in ")) == (0, True), (
        done.stderr
    )
    assert read_documents(database_url) == expected
    assert "rebuilt" not in run_command("migrate", data=tmp_path, environment=environment).stderr


async def test_serve(database_url: str, database_kind: str, tmp_path: Path) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    assert (
        run_command("events", "demo", "30", data=tmp_path, environment=environment).returncode == 0
    )
    store_in_another_format(database_url)
    if database_kind == "postgresql":
        refused = run_command("serve", "--no-worker", data=tmp_path, environment=environment)
        assert refused.returncode == 1
        assert refused.stderr == (
            "Error: Stored events have another format than that of this release. "
            "Stop the service and run: fieldgate migrate\n"
        )
        return
    with (
        ServerProcess(tmp_path, "--no-worker", environment=environment) as server,
        server.client() as client,
    ):
        assert "rebuilt 30 events in " in server.log
        assert client.get(EVENTS).json()["results"][0]["name"]


@pytest.mark.parametrize("command", ["migrate", "serve"])
async def test_not_while_another_process_serves(tmp_path: Path, command: str) -> None:
    assert run_command("events", "demo", "3", data=tmp_path).returncode == 0
    with ServerProcess(tmp_path, "--no-worker"):
        store_in_another_format(f"sqlite:///{tmp_path / 'fieldgate.db'}")
        refused = run_command(command, data=tmp_path)
        assert refused.returncode == 1
        assert "another process uses the database. Stop it first." in refused.stderr
