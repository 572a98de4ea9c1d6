"""Through the real PgBouncer in transaction mode, which has one server connection for many clients."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import bindparam, literal, select

from fieldgate.db import (
    AsyncDatabase,
    Database,
    DataVersions,
    Lookup,
    PreparedQuery,
    ReadTransaction,
    WriteTransaction,
    snapshot,
)
from fieldgate.db.outages import UnexpectedPooler
from fieldgate.db.schema import upgrade
from fieldgate.db.tables import topic_versions
from tests.conftest import StartService
from tests.data.events import load_events
from tests.events.event_service import EVENTS
from tests.faults.postgres_cluster import PgBouncer, PostgresCluster
from tests.processes import free_port, run_command

CLIENTS = 12
ROUNDS = 40


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster(is_durable=False) as cluster:
        cluster.primary.create_database("app")
        yield cluster


@pytest.fixture
async def bouncer(cluster: PostgresCluster) -> AsyncIterator[PgBouncer]:
    with PgBouncer(cluster.primary, system_user=cluster.system_user, pool_size=3) as bouncer:
        database = AsyncDatabase(bouncer.url("app"), is_pooled=True)
        await upgrade(database)
        await database.close()
        yield bouncer


async def test_statements_of_many_clients_never_mix(bouncer: PgBouncer) -> None:
    """The driver sends a statement and its values in two steps; another client's statement must not come between."""
    databases = [AsyncDatabase(bouncer.url("app"), is_pooled=True) for _ in range(CLIENTS)]

    async def query(number: int, database: AsyncDatabase) -> None:
        find = PreparedQuery(
            database,
            select(literal(number), bindparam("value", type_=topic_versions.c.version.type)),
        )
        for each in range(ROUNDS):
            assert tuple(await find.first(value=each) or ()) == (number, each)
            async with database.read_transaction() as connection:
                found = await connection.execute(
                    select(literal(number), literal(each)).where(literal(each) >= 0)
                )
                assert tuple(found.one()) == (number, each)

    await asyncio.gather(*(query(number, database) for number, database in enumerate(databases)))
    for database in databases:
        await database.close()


def test_read_write_and_lookup_of_many_clients(bouncer: PgBouncer) -> None:
    """More clients than connections of the server: each transaction gets another one."""
    databases = [Database(bouncer.url("app"), is_pooled=True) for _ in range(CLIENTS)]
    find = Lookup(
        select(topic_versions.c.version).where(topic_versions.c.topic == bindparam("wanted"))
    )

    def use(number: int) -> None:
        database = databases[number]
        topic = f"client {number}"

        def add(transaction: WriteTransaction) -> None:
            transaction.changed(topic)

        def look(transaction: ReadTransaction) -> tuple[int, int]:
            (first,) = transaction.versions(topic)
            (second,) = transaction.versions(topic)
            return first, second

        for _ in range(ROUNDS):
            database.write(add)
            first, second = database.read(look)
            row = database.lookup(find, wanted=topic)
            assert row is not None
            assert first == second == row[0] > 0

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(use, range(CLIENTS)))
    for database in databases:
        database.close()


async def test_pooler_without_the_setting_is_refused(bouncer: PgBouncer, tmp_path: Path) -> None:
    for arguments in (("serve",), ("user", "list")):
        environment = {
            "FIELDGATE_DATABASE_URL": bouncer.url("app"),
            "FIELDGATE_PORT": str(free_port()),
        }
        done = await asyncio.to_thread(
            run_command, *arguments, data=tmp_path, environment=environment
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"Error: {UnexpectedPooler()}\n"
        assert "FIELDGATE_DATABASE_POOLER=true" in done.stderr
    environment["FIELDGATE_DATABASE_POOLER"] = "true"
    done = await asyncio.to_thread(
        run_command, "user", "list", data=tmp_path, environment=environment
    )
    assert done.returncode == 0, done.stderr


async def test_snapshots_see_one_state(bouncer: PgBouncer) -> None:
    database, other = (
        AsyncDatabase(bouncer.url("app"), is_pooled=True),
        AsyncDatabase(bouncer.url("app"), is_pooled=True),
    )
    versions = DataVersions(other)
    topics = select(topic_versions.c.version).where(topic_versions.c.topic == "seen")
    async with snapshot(database) as state:
        before = [row[0] for row in await state.rows(topics)]
        async with other.transaction() as connection:
            await versions.bump(connection, "seen")
        batches = [row[0] async for batch in state.batches(topics) for row in batch]
        assert batches == before
    async with snapshot(database) as state:
        assert [row[0] for row in await state.rows(topics)] == [await versions.version("seen")]
    await database.close()
    await other.close()


async def test_versions_of_other_processes_are_exact_and_the_log_is_quiet(
    bouncer: PgBouncer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    reader, writer = (
        AsyncDatabase(bouncer.url("app"), is_pooled=True),
        AsyncDatabase(bouncer.url("app"), is_pooled=True),
    )
    reading, writing = DataVersions(reader), DataVersions(writer)
    for _ in range(20):
        before = await reading.version("topic")
        async with writer.transaction() as connection:
            await writing.bump(connection, "topic")
        assert await reading.version("topic") == await writing.version("topic") > before
    assert len([record for record in caplog.records if record.name.endswith("data_versions")]) <= 1
    await reader.close()
    await writer.close()


async def test_service_works_and_survives_a_restart_of_pgbouncer(
    start: StartService,
    cluster: PostgresCluster,
    bouncer: PgBouncer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with start(database_url=bouncer.url("app"), database_pooler=True) as service:
        token = await service.create_token(is_superuser=True)
        headers = {"Authorization": f"Token {token}"}
        await load_events(cluster.primary.url("app"), EVENTS)
        first = await service.get("/api/v2/event/", headers=headers)
        assert first.status_code == 200
        assert first.json()["count"] > 0
        pages = await asyncio.gather(
            *(
                service.get("/api/v2/event/", params={"limit": 1, "offset": at}, headers=headers)
                for at in range(20)
            )
        )
        assert {page.status_code for page in pages} == {200}
        bouncer.kill()
        bouncer.start()
        for _ in range(20):  # connections that the pools still hold fail once each
            if (await service.get("/api/v2/event/", headers=headers)).status_code == 200:
                break
        assert (await service.get("/readyz")).status_code == 200
        assert (await service.get("/api/v2/event/", headers=headers)).json()[
            "count"
        ] == first.json()["count"]
    assert "prepared statement" not in caplog.text
