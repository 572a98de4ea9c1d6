"""`fieldgate events demo`, on both databases."""

import re
from pathlib import Path

from sqlalchemy import select

from fieldgate.db import Database, DataVersions
from fieldgate.db.log import log
from fieldgate.events.store import EventStore
from tests.events.stored_events import stored_event
from tests.processes import run_command


async def test_demo_events_are_created_and_replaced(database: Database, database_url: str, tmp_path: Path) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    done = run_command("events", "demo", "2100", data=tmp_path, environment=environment)
    assert re.fullmatch(r"created 2100 demo events in \d+\.\d s\n", done.stdout), done.stderr
    store = EventStore(database, DataVersions(database))
    assert (await store.has_demo(), await store.has_real()) == (True, False)
    last = await stored_event(store, 2100)

    again = run_command("events", "demo", "3", data=tmp_path, environment=environment)
    assert again.returncode == 1
    assert again.stderr == "Error: This database already has demo events. Replace them with --replace.\n"
    assert await stored_event(store, 2100) == last

    done = run_command("events", "demo", "3", "--replace", "--seed", "5", data=tmp_path, environment=environment)
    assert done.stdout.startswith("created 3 demo events in ")
    assert len((await store.load_index())[1]) == 3
    assert await stored_event(store, 4) is None
    async with database.read_transaction() as connection:
        entries = await connection.execute(select(log.c.action, log.c.credential, log.c.details).order_by(log.c.id))
        assert entries.all() == [("demo", "command", {"created": 2100}), ("demo", "command", {"created": 3})]


async def test_demo_events_are_refused_beside_real_events(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    run_command("events", "demo", "1", data=tmp_path, environment=environment)
    store = EventStore(database, DataVersions(database))
    event = await stored_event(store, 1)
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
