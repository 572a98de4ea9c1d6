"""`fieldgate events demo`, on both databases."""

import re
from pathlib import Path

import pytest

from fieldgate.cli.events import create_demo_events
from fieldgate.cli.output import progress_bar
from fieldgate.db import Database, DataVersions
from fieldgate.events.store import EventStore
from tests.processes import run_command


async def test_demo_events_are_created_and_replaced(database: Database, database_url: str, tmp_path: Path) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    done = run_command("events", "demo", "2100", data=tmp_path, environment=environment)
    assert re.fullmatch(r"created 2100 demo events in \d+\.\d s\n", done.stdout), done.stderr
    store = EventStore(database, DataVersions(database))
    assert (await store.has_demo(), await store.has_real()) == (True, False)
    last = await store.by_id(2100)

    again = run_command("events", "demo", "3", data=tmp_path, environment=environment)
    assert again.returncode == 1
    assert again.stderr == "Error: This database already has demo events. Replace them with --replace.\n"
    assert await store.by_id(2100) == last

    done = run_command("events", "demo", "3", "--replace", "--seed", "5", data=tmp_path, environment=environment)
    assert done.stdout.startswith("created 3 demo events in ")
    assert len((await store.load_index())[1]) == 3
    assert await store.by_id(4) is None


async def test_demo_events_are_refused_beside_real_events(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    run_command("events", "demo", "1", data=tmp_path, environment=environment)
    store = EventStore(database, DataVersions(database))
    event = await store.by_id(1)
    assert event is not None
    await store.delete_demo()
    await store.upsert([event])
    for options in ((), ("--replace",)):
        done = run_command("events", "demo", "3", *options, data=tmp_path, environment=environment)
        assert done.returncode == 1
        assert (
            done.stderr == "Error: This database has real events. Choose another folder for demo events: --data DIR\n"
        )
    assert (await store.has_demo(), await store.has_real()) == (False, True)


async def test_progress_bar_shows_the_count(
    database: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar(30) as show:
        await create_demo_events(database, EventStore(database, DataVersions(database)), 30, on_progress=show)
    assert "30/30" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "many", "10000001"])
def test_count_must_be_in_range(tmp_path: Path, count: str) -> None:
    done = run_command("events", "demo", count, data=tmp_path)
    assert done.returncode == 2
    assert "Invalid value for 'N'" in done.stderr
