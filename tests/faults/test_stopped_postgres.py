"""PostgreSQL stops to answer (SIGSTOP): everybody is told within the time limits, and it goes on when it answers."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import httpx
import pytest

from fieldgate.db.database import STATEMENT_TIMEOUT
from fieldgate.overload import WAIT_SECONDS
from tests.faults.postgres_cluster import PostgresCluster
from tests.imports.workbooks import xlsx
from tests.processes import ServerProcess, run_command

REQUESTS = 50
# A statement ends after its limit, then its server is asked to cancel it.
MAX_SECONDS = STATEMENT_TIMEOUT + WAIT_SECONDS + 10


@contextmanager
def stopped(postmaster: int) -> Iterator[None]:
    """Stop a server and its sessions. Connections stay open, and new ones are accepted by the system."""
    children = subprocess.run(
        ["pgrep", "-P", str(postmaster)], check=True, capture_output=True, text=True
    ).stdout.split()
    processes = [postmaster, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.nightly
def test_nobody_waits_for_a_server_that_does_not_answer(tmp_path: Path) -> None:
    with PostgresCluster(is_durable=False) as cluster:
        environment = {"FIELDGATE_DATABASE_URL": cluster.primary.create_database("app")}

        def run(*arguments: str, stdin: str = "") -> str:
            done = run_command(*arguments, data=tmp_path, environment=environment, stdin=stdin)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("migrate")
        run("user", "create", "amina", "--superuser", "--password-stdin", stdin="correct horse")
        token = run("token", "create", "amina").split()[-1]
        headers = {"Authorization": f"Token {token}"}
        book = xlsx()
        environment["FIELDGATE_RATE_LIMIT_EXEMPT"] = "127.0.0.0/8"
        with ServerProcess(tmp_path, "--no-worker", environment=environment) as served:

            def client() -> httpx.Client:
                return httpx.Client(
                    base_url=served.base_url, headers=headers, timeout=2 * MAX_SECONDS
                )

            requests: tuple[Callable[[httpx.Client], httpx.Response], ...] = (
                lambda client: client.get("/api/v2/assets/"),
                lambda client: client.get("/api/v2/imports/"),
                lambda client: client.get("/api/v2/users/"),
                lambda client: client.get("/api/v2/event/?search=x"),
                lambda client: client.post("/api/v2/imports/", files={"file": ("a.xlsx", book)}),
            )

            def send(number: int) -> tuple[int, str | None, float]:
                began = monotonic()
                with client() as sender:
                    response = requests[number % len(requests)](sender)
                return (
                    response.status_code,
                    response.headers.get("Retry-After"),
                    monotonic() - began,
                )

            with ThreadPoolExecutor(REQUESTS) as threads:
                before = Counter(status for status, _, _ in threads.map(send, range(REQUESTS)))
                assert set(before) == {200, 201}
                with stopped(cluster.primary.pid):
                    found = list(threads.map(send, range(REQUESTS)))
                assert {status for status, _, _ in found} == {503}
                assert all(retry_after for _, retry_after, _ in found)
                assert max(seconds for _, _, seconds in found) < MAX_SECONDS

                def is_answered(_: int) -> bool:
                    return send(0)[0] == 200

                # Connections that were given up fail once; the others answer.
                assert any(map(is_answered, range(20)))
                after = Counter(status for status, _, _ in threads.map(send, range(REQUESTS)))
                assert set(after) == {200, 201}
