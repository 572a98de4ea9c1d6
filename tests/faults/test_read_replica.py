"""With a read replica: large reads come from it, nothing stale is served, and the service goes on without it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from fieldgate.db import Database
from fieldgate.db.read_replica import ReadReplica, StaleReplica
from fieldgate.db.schema import upgrade
from fieldgate.events.event_writer import TOPIC
from fieldgate.events.store import EventStore
from fieldgate.events.versioned_reads import VersionedReads
from tests.conftest import Service, StartService
from tests.events.event_service import EVENTS, make_event
from tests.faults.postgres_cluster import PostgresCluster
from tests.faults.trial_report import TrialReport, TrialResult
from tests.processes import TIMEOUT_SECONDS, free_port

PATH = "/api/v2/event/"
WRITES = 15
NUMBER = 4_000  # of the event that tests edit


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster(is_durable=False) as cluster:
        cluster.primary.create_database("app")
        cluster.primary.create_database("other")
        cluster.add_replica()
        yield cluster


@pytest.fixture
async def service(cluster: PostgresCluster, start: StartService) -> AsyncIterator[Service]:
    urls = {"database_url": cluster.primary.url("app"), "replica_url": cluster.replica.url("app")}
    async with start(**urls) as service:
        await EventStore(service.database, service.data_versions).upsert([*EVENTS, make_event(NUMBER)])
        while "rebuilding" in (await service.get("/readyz")).json():  # of a new database: nothing, but a new version
            await asyncio.sleep(0.02)
        cluster.wait_for_replica()
        await wait_until_used(replica_of(service))
        yield service


def store_of(service: Service) -> EventStore:
    store = service.app.app_context.services[EventStore]
    assert isinstance(store, EventStore)
    return store


def replica_of(service: Service) -> ReadReplica:
    replica = store_of(service)._reads._replica
    assert replica is not None
    return replica


async def wait_until_used(replica: ReadReplica) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not replica.is_usable:
            await replica.check()
            await asyncio.sleep(0.02)


async def rename(service: Service, number: int) -> str:
    """Rename an event, as another process or this one does, and return its new name."""
    name = f"Name {number}"
    event = msgspec.structs.replace(make_event(NUMBER), name={"en": name})
    await EventStore(service.database, service.data_versions).upsert([event])
    return name


async def listed(service: Service, **query: Any) -> dict[str, Any]:
    response = await service.get(PATH, params={"id": NUMBER, **query})
    assert response.status_code == 200, response.text
    results: list[dict[str, Any]] = response.json()["results"]
    return results[0] if results else {}


async def test_large_reads_come_from_the_replica(service: Service, cluster: PostgresCluster) -> None:
    """They answer while the primary does not."""
    store, version = store_of(service), await service.data_versions.version(TOPIC)
    expected = await store._reads.primary.documents([NUMBER], version)
    cluster.primary.freeze()
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert await store.documents([NUMBER], version) == expected
            assert (await store.load_index(version))[0].version == version
            assert await store.ids_by_name(f"flood {NUMBER}", version) == [NUMBER]
            assert NUMBER in {row[0] async for batch in store.stream_packed(version) for row in batch}
    finally:
        cluster.primary.thaw()


async def test_nothing_stale_while_the_replica_is_paused(
    service: Service, cluster: PostgresCluster, start: StartService, trial_report: TrialReport
) -> None:
    """Every read sees the write before it: of this process, and of another one that has heard of it."""
    cluster.replica.query("SELECT pg_wal_replay_pause()")
    try:
        for number in range(WRITES):
            name = await rename(service, number)
            assert (await listed(service))["name"] == name
            assert (await listed(service, ordering="-name"))["name"] == name
            if number % 5 == 0:
                assert (await listed(service, name=name.lower()))["name"] == name
        assert not replica_of(service).is_usable
        urls = {"database_url": cluster.primary.url("app"), "replica_url": cluster.replica.url("app")}
        async with start(**urls) as other:
            assert (await listed(other))["name"] == name
    finally:
        cluster.replica.query("SELECT pg_wal_replay_resume()")
    await wait_until_used(replica_of(service))
    assert (await listed(service))["name"] == name
    trial_report.add(
        TrialResult(
            trial="reads after writes while the replica is paused",
            database="PostgreSQL",
            acknowledged=WRITES,
            remark="no stale read; the primary answers",
        )
    )


async def test_replica_refuses_versions_that_it_does_not_have(cluster: PostgresCluster, service: Service) -> None:
    replica = VersionedReads(replica_of(service).database, is_replica=True)
    version = await service.data_versions.version(TOPIC)
    standing, _ = await replica.load_index(version)
    assert len(await replica.documents([NUMBER], version)) == 1
    newer = version + 1
    with pytest.raises(StaleReplica):
        await replica.documents([NUMBER], newer)
    with pytest.raises(StaleReplica):
        await replica.load_index(newer)
    with pytest.raises(StaleReplica):
        await replica.load_changes(standing, newer)
    with pytest.raises(StaleReplica):
        await replica.matching_ids(lambda table: table.c.glide == "", newer)
    with pytest.raises(StaleReplica):
        [batch async for batch in replica.stream_packed(newer)]


async def test_service_goes_on_when_the_replica_stops(
    service: Service, cluster: PostgresCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.replica.stop()
    try:
        for number in range(100, 100 + WRITES):
            name = await rename(service, number)
            assert (await listed(service))["name"] == name
    finally:
        cluster.replica.start()
    lines = [record for record in caplog.records if "cannot be used" in record.message]
    assert len(lines) <= 2, "one line for each kind of failure, not one for each request"
    await wait_until_used(replica_of(service))


@pytest.mark.parametrize("kind", ["another database", "nobody"])
async def test_wrong_replica_is_never_used(cluster: PostgresCluster, start: StartService, kind: str) -> None:
    other = Database(cluster.primary.url("other"))
    await upgrade(other)
    await other.close()
    wrong = cluster.primary.url("other") if kind == "another database" else f"postgresql://127.0.0.1:{free_port()}/app"
    async with start(database_url=cluster.primary.url("app"), replica_url=wrong) as service:
        name = await rename(service, 500)
        assert (await listed(service))["name"] == name
        if kind == "another database":
            await replica_of(service).check()
        assert not replica_of(service).is_usable


async def test_failover_with_a_url_of_two_hosts(start: StartService, trial_report: TrialReport) -> None:
    """The primary is killed, the replica promoted: the service continues without a restart and has every write."""
    with PostgresCluster(is_durable=False) as cluster:
        cluster.primary.create_database("app")
        cluster.add_replica(is_synchronous=True)
        async with start(database_url=cluster.failover_url("app")) as service:
            for number in range(WRITES):
                name = await rename(service, number)
            assert (await listed(service))["name"] == name
            cluster.primary.kill()
            assert (await service.get("/readyz")).status_code == 503
            cluster.replica.promote()
            cluster.replica.set(synchronous_standby_names="")
            statuses = []
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while (response := await service.get("/readyz")).status_code != 200:
                    statuses.append(response.status_code)
            # Connections of pools that still lead to the old primary fail once each.
            for _ in range(20):
                response = await service.get(PATH, params={"id": NUMBER})
                if response.status_code == 200:
                    break
                assert response.status_code == 503
            assert response.json()["results"][0]["name"] == name
            name = await rename(service, WRITES)
            assert (await listed(service))["name"] == name
    trial_report.add(
        TrialResult(
            trial="failover with a URL of two hosts",
            database="PostgreSQL",
            acknowledged=WRITES + 1,
            statuses={"503": len(statuses)},
            remark="kill -9 of the primary, replica promoted; no restart",
        )
    )
