"""Two releases on one PostgreSQL database: this one, and a next release that is derived from it (`next_release.py`)."""

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from sqlalchemy import select

from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.db import Database, DataVersions
from fieldgate.db.schema import REQUIRED_REVISION, SchemaStatus, read_state
from fieldgate.db.tables import rebuilds
from fieldgate.events.store import EventStore
from tests.databases import postgres_database
from tests.events.event_service import EVENTS
from tests.faults.next_release import NEW_FILTER, NEXT_FORMAT, NEXT_REVISION, create_next_release
from tests.faults.trial_report import TrialReport, TrialResult
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

PATH = "/api/v2/event/"
EVENT = {"name": "Written", "disaster_start_date": "2026-11-16T00:00:00Z", "visibility": 3}


class Caller:
    """A client of one server that writes and reads events."""

    def __init__(self, server: ServerProcess, token: str) -> None:
        headers = {"Authorization": f"Token {token}"}
        self.client = httpx.Client(base_url=server.base_url, timeout=TIMEOUT_SECONDS, headers=headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def write(self, number: int, name: str) -> None:
        response = self.client.put(f"{PATH}{number}/", json={**EVENT, "name": name})
        assert response.status_code in {200, 201}, response.text

    def name(self, number: int) -> str | None:
        """The name in the list."""
        response = self.client.get(PATH, params={"id": number})
        assert response.status_code == 200, response.text
        results = response.json()["results"]
        return str(results[0]["name"]) if results else None

    def count(self, **query: Any) -> int | None:
        """How many events match; None if the filter is not available yet."""
        response = self.client.get(PATH, params={"limit": 1, **query})
        if response.status_code == 503:
            return None
        assert response.status_code == 200, response.text
        return int(response.json()["count"])


class Load(threading.Thread):
    """Reads and writes in a loop, and counts statuses."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller
        self._stopping = threading.Event()
        self.statuses: Counter[str] = Counter()
        self.written = 0

    def run(self) -> None:
        client = self._caller.client
        while not self._stopping.is_set():
            self.statuses[str(client.get(PATH, params={"limit": 5}).status_code)] += 1
            response = client.put(f"{PATH}900/", json={**EVENT, "name": f"Load {self.written}"})
            self.statuses[str(response.status_code)] += 1
            self.written += 1
            self.statuses[str(client.get("/readyz").status_code)] += 1

    def stop(self) -> None:
        self._stopping.set()
        self.join(TIMEOUT_SECONDS)


def wait_for(condition: Any) -> Any:
    until = time.monotonic() + TIMEOUT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return value


@pytest.fixture(scope="module")
def next_release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return create_next_release(tmp_path_factory.mktemp("next"))


async def prepare(database: Database) -> str:
    data_versions = DataVersions(database)
    accounts = AccountStore(database, data_versions)
    number = await accounts.create_user(NewUser(username="root", password_hash="x", is_superuser=True))
    await EventStore(database, data_versions).upsert(EVENTS)
    return await accounts.issue_token(number, IssuedBy.COMMAND, None)


async def stored_format(database: Database) -> int:
    async with database.read_transaction() as connection:
        return int((await connection.execute(select(rebuilds.c.format))).scalar_one())


async def test_two_releases_on_one_database(
    postgres: str, tmp_path: Path, next_release: dict[str, str], trial_report: TrialReport
) -> None:
    async with postgres_database(postgres, is_empty=False) as url:
        database = Database(url)
        token = await prepare(database)
        ours = {"FIELDGATE_DATABASE_URL": url}
        newer = {**ours, **next_release}
        with (
            ServerProcess(tmp_path, "--no-worker", environment=ours) as old_server,
            Caller(old_server, token) as old,
            Caller(old_server, token) as other,
        ):
            load = Load(other)
            load.start()
            migrated = run_command("migrate", data=tmp_path, environment=newer)
            load.stop()
            assert migrated.stdout == f"schema {NEXT_REVISION}, was {REQUIRED_REVISION}\n", migrated.stderr
            assert set(load.statuses) <= {"200", "201"}, "the old release goes on during the migration"
            assert await read_state(database) == (SchemaStatus.COMPATIBLE, NEXT_REVISION)

            with (
                ServerProcess(tmp_path, "--no-worker", environment=newer) as new_server,
                Caller(new_server, token) as new,
            ):
                check_both_releases(old, new)
                wait_for(lambda: new.count(report_count=1) is not None)
                assert old.client.get("/readyz").json()["status"] == "ready"
                assert "rebuilding" not in old.client.get("/readyz").json(), "the old release leaves the new format"
            assert old.name(901) == "by the new release again"
        assert await stored_format(database) == NEXT_FORMAT

        lost = run_command("migrate", "--to", REQUIRED_REVISION, data=tmp_path, environment=newer)
        assert lost.stdout == f"schema {REQUIRED_REVISION}, was {NEXT_REVISION}\n", lost.stderr
        assert await read_state(database) == (SchemaStatus.CURRENT, REQUIRED_REVISION)
        await database.close()
    trial_report.add(
        TrialResult(
            trial="rolling upgrade: migration under load, then two releases",
            database="PostgreSQL",
            acknowledged=load.written,
            statuses=dict(load.statuses),
            remark="each release reads what the other writes; a new filter is exact or 503",
        )
    )


def check_both_releases(old: Caller, new: Caller) -> None:
    """Each release reads what the other one writes, and the filter of the new one is exact, or not available."""
    reported = len([event for event in EVENTS if len(event.field_reports) == 0 and event.parent_event is None])
    wait_for(lambda: new.count(**{NEW_FILTER: 0}) is not None)
    others = [900]
    before = new.count(**{NEW_FILTER: 0})
    assert before == reported + len(others)
    for round_ in range(3):
        number = 910 + round_
        old.write(number, f"by the old release {round_}")
        # Another process learns of a write within a second; from then on the answer has it, or says 503.
        wait_for(lambda number=number: new.name(number) is not None)
        assert new.name(number) == f"by the old release {round_}"
        expected = before + 1 + round_
        assert new.count(**{NEW_FILTER: 0}) in {None, expected}
        assert wait_for(lambda: new.count(**{NEW_FILTER: 0})) == expected
    new.write(901, "by the new release")
    wait_for(lambda: old.name(901) == "by the new release")
    assert old.count() == new.count()
    assert old.count(dtype=12) == new.count(dtype=12)
    old.write(901, "by the old release again")
    wait_for(lambda: new.name(901) == "by the old release again")
    new.write(901, "by the new release again")
    wait_for(lambda: old.name(901) == "by the new release again")
    for number in (900, 901, 910):
        records = [caller.client.get(f"{PATH}{number}/").json() for caller in (old, new)]
        assert records[0] == records[1]
