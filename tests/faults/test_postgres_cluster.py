"""The cluster that other trials use does what they rely on."""

from collections.abc import Iterator

import pytest

from tests.faults.postgres_cluster import PgBouncer, PostgresCluster, run_program


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresCluster]:
    with PostgresCluster() as cluster:
        cluster.add_replica(is_synchronous=True)
        yield cluster


def test_failover_to_the_replica_loses_nothing_and_pgbouncer_follows(cluster: PostgresCluster) -> None:
    cluster.primary.query("CREATE TABLE numbers (number int)")
    cluster.primary.query("INSERT INTO numbers VALUES (1)")
    assert cluster.replica.query("SELECT number FROM numbers") == "1", "a commit waits for the replica"
    assert cluster.replica.query("SELECT pg_is_in_recovery()") == "t"

    cluster.primary.kill()
    cluster.primary.start()
    cluster.primary.query("INSERT INTO numbers VALUES (2)")

    with PgBouncer(cluster.primary, system_user=cluster.system_user) as bouncer:
        assert bouncer.admin("SHOW CONFIG").count("pool_mode|transaction") == 1
        bouncer.kill()
        bouncer.start()
        cluster.fail_over()
        bouncer.point_to(cluster.primary)
        count = "SELECT count(*), pg_is_in_recovery() FROM numbers"
        assert run_program("psql", "-XqAt", "-d", bouncer.url(), "-c", count).strip() == "2|f"

    cluster.recreate_replica(is_synchronous=True)
    cluster.primary.query("INSERT INTO numbers VALUES (3)")
    assert cluster.replica.query("SELECT count(*), pg_is_in_recovery() FROM numbers") == "3|t"
    cluster.fail_over()
    cluster.primary.query("INSERT INTO numbers VALUES (4)")
