"""kill -9 at every stage of an import: nothing acknowledged is lost, duplicated or stuck."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from fieldgate.assets.tables import assets, files, versions
from tests.data.accounts import create_token, create_user
from tests.data.imports import all_imports, store_import
from tests.data.sql import read_sql
from tests.imports.workbooks import xlsx
from tests.processes import ServerProcess

PATH = "/api/v2/imports/"
BATCH_SIZE = 40  # imports sent to a server before and while it is killed

POSTS = int(os.environ.get("KILL_POSTS", BATCH_SIZE))
SENDERS = 8
TIMEOUT_SECONDS = 120.0
BOOK = xlsx()

# Workers that kill themselves with SIGKILL, each at another stage. They are forks of one process, which imports once.
SELF_KILLING_WORKER = """
import asyncio, os, signal, sys
from multiprocessing.context import ForkServerProcess
from fieldgate.db import AsyncDatabase
from fieldgate.imports.leases import ImportLeases
from fieldgate.imports.sandbox import runner
from fieldgate.imports.results import ResultWriter
from fieldgate.imports.store import ImportStore
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings

STAGES = {
    "before claim": (ImportLeases, "claim", False),
    "in claim": (ImportLeases, "lease_next", True),
    "claimed": (ImportLeases, "load_claimed", False),
    "after claim": (ImportWorker, "_process", False),
    "before parsing": (runner, "parse_in_sandbox", False),
    "in parsing": (ForkServerProcess, "start", True),
    "after parsing": (ResultWriter, "complete", False),
    "assets written": (ImportStore, "finish", False),
    "before commit": (ImportStore, "finish", True),
    "after commit": (ResultWriter, "complete", True),
    "before failing": (ResultWriter, "fail", False),
}

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def killing(step, is_done_first):
    def called(*arguments, **options):
        if not is_done_first:
            die()
        result = step(*arguments, **options)
        if not asyncio.iscoroutine(result):
            die()
        async def awaited():
            await result
            die()
        return awaited()
    return called

url, *stages = sys.argv[1:]
workers = []
for stage in stages:
    workers.append(os.fork())
    if workers[-1] == 0:
        owner, name, is_done_first = STAGES[stage]
        setattr(owner, name, killing(getattr(owner, name), is_done_first))
        settings = Settings(database_url=url, import_lease=1)
        asyncio.run(ImportWorker(settings, AsyncDatabase(url)).run(asyncio.Event()))
        os._exit(1)
statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers]
sys.exit(statuses != [-signal.SIGKILL] * len(stages))
"""
STAGES = (
    "before claim",
    "in claim",
    "claimed",
    "after claim",
    "before parsing",
    "in parsing",
    "after parsing",
    "assets written",
    "before commit",
    "after commit",
)
NOTHING_CLAIMED = ("before claim", "in claim")


async def wait_until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for a condition, with a timeout."""
    limit = time.monotonic() + TIMEOUT_SECONDS
    while not await condition():
        assert time.monotonic() < limit, f"{what}: not within {TIMEOUT_SECONDS} seconds"
        await asyncio.sleep(0.05)


async def killed_at(database_url: str, *stages: str) -> None:
    """Run one worker for each stage until it has killed itself there."""
    command = (sys.executable, "-c", SELF_KILLING_WORKER, database_url, *stages)
    process = await asyncio.create_subprocess_exec(*command, start_new_session=True)
    try:
        assert await asyncio.wait_for(process.wait(), TIMEOUT_SECONDS) == 0, stages
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def workers(database_url: str, count: int) -> AsyncIterator[None]:
    """Run `fieldgate worker` processes.

    They use the default lease: with a short one, a worker on a busy machine could lose its import to another, which
    would count as an attempt.
    """
    environment = {**os.environ, "FIELDGATE_DATABASE_URL": database_url}
    command = (sys.executable, "-m", "fieldgate", "worker")
    processes = [
        await asyncio.create_subprocess_exec(*command, env=environment) for _ in range(count)
    ]
    try:
        yield
        assert [worker.returncode for worker in processes] == [None] * count, (
            "a worker ended by itself"
        )
    finally:
        for worker in processes:
            with suppress(ProcessLookupError):
                worker.terminate()
            await asyncio.wait_for(worker.wait(), TIMEOUT_SECONDS)


async def wait_until_finished(database_url: str) -> None:
    async def is_finished() -> bool:
        return all(row.status != "processing" for row in all_imports(database_url))

    await wait_until(is_finished, "every import ends")


def created_assets(database_url: str) -> dict[str, str]:
    """Return assets by import, after checking that each has one import, one version and one file."""
    made: dict[str, str] = {}
    for row in all_imports(database_url):
        if row.status == "complete":
            [created] = row.messages["created"]
            made[row.uid] = created["uid"]
        assert (row.lease, row.lease_until) == (None, None)
        assert row.finished_at is not None
    with read_sql(database_url) as connection:
        stored = connection.execute(select(assets.c.uid)).scalars().all()
        of_versions = select(assets.c.uid, versions.c.file_id).join_from(
            versions, assets, isouter=True
        )
        pairs = connection.execute(of_versions).all()
        sent = connection.execute(select(func.count()).select_from(files)).scalar_one()
    assert sorted(stored) == sorted(made.values()), "one asset for each import, none besides"
    assert sorted(uid for uid, _ in pairs) == sorted(stored), (
        "one version for each asset, none besides"
    )
    assert len({file_id for _, file_id in pairs}) == len(pairs)
    assert sent == len(all_imports(database_url))
    return made


def send(database_url: str, user_id: int, name: str, book: bytes = BOOK) -> str:
    return store_import(database_url, user_id, f"{name}.xlsx", book)


async def test_worker_killed_at_any_stage_loses_nothing(database_url: str) -> None:
    """One worker dies at each stage, each with an import of another user; two others finish all imports."""
    # Users are served in turn, so each killed worker claims an import of another user.
    people = [create_user(database_url, f"user-{number}") for number in range(len(STAGES))]
    sent = [send(database_url, user, f"f{user}-{number}") for user in people for number in range(2)]
    await killed_at(database_url, *STAGES)
    left = all_imports(database_url)
    assert sum(row.attempts for row in left) == len(STAGES) - len(NOTHING_CLAIMED), (
        "as many had one in hand"
    )
    assert [row.status for row in left].count("complete") == 1, "the one that was committed"
    async with workers(database_url, 2):
        await wait_until_finished(database_url)
    assert sorted(created_assets(database_url)) == sorted(sent), "all complete"
    assert max(row.attempts for row in all_imports(database_url)) == 2, (
        "those in hand were taken up again"
    )


@pytest.mark.nightly
async def test_import_that_kills_every_worker_fails(database_url: str) -> None:
    """The number of attempts is limited, no assets are left, and other imports are not delayed."""
    killing = send(database_url, create_user(database_url, "unlucky"), "killing")
    for stage in ("in parsing", "assets written", "before commit"):
        await killed_at(database_url, stage)
    other = send(database_url, create_user(database_url, "other"), "fine")
    async with workers(database_url, 2):
        await wait_until_finished(database_url)
    assert list(created_assets(database_url)) == [other]
    [row] = [row for row in all_imports(database_url) if row.uid == killing]
    assert (row.status, row.attempts, row.messages["error_type"]) == ("error", 4, "gave_up")
    assert row.messages["error"]


@pytest.mark.nightly
async def test_worker_killed_while_refusing_a_file(database_url: str) -> None:
    uid = send(
        database_url,
        create_user(database_url, "someone"),
        "broken",
        xlsx(survey=(("type",), ("florb",))),
    )
    await killed_at(database_url, "before failing")
    async with workers(database_url, 2):
        await wait_until_finished(database_url)
    [row] = all_imports(database_url)
    assert (row.uid, row.status, row.attempts) == (uid, "error", 2)
    assert created_assets(database_url) == {}


class Posts:
    """Sends files to a server from several clients, and records what was acknowledged."""

    def __init__(self, token: str) -> None:
        self.headers = {"Authorization": f"Token {token}"}
        self.acknowledged: dict[int, str] = {}
        self.lock = threading.Lock()
        self.enough = threading.Event()
        self.wanted = 0

    def key(self, number: int) -> dict[str, str]:
        """Every second client sends a key and repeats its POST; the others give up."""
        return {"Idempotency-Key": f"key-{number}"} if number % 2 else {}

    def send(self, client: httpx.Client, number: int) -> None:
        file = {"file": (f"f{number}.xlsx", BOOK)}
        try:
            response = client.post(PATH, headers={**self.headers, **self.key(number)}, files=file)
        except httpx.TransportError:
            return
        assert response.status_code == 201, response.text
        with self.lock:
            self.acknowledged[number] = str(response.json()["uid"])
            if len(self.acknowledged) >= self.wanted:
                self.enough.set()

    def kill_during(self, served: ServerProcess, numbers: Iterable[int], after: int) -> None:
        """Send all files; kill every process of the server when `after` more are acknowledged."""
        self.wanted = len(self.acknowledged) + after
        self.enough.clear()
        with served.client() as client, ThreadPoolExecutor(SENDERS) as pool:
            sending = [pool.submit(self.send, client, number) for number in numbers]
            assert self.enough.wait(TIMEOUT_SECONDS)
            os.killpg(served.process.pid, signal.SIGKILL)
            for each in sending:
                each.result(TIMEOUT_SECONDS)

    def send_all(self, served: ServerProcess, numbers: Iterable[int]) -> None:
        with served.client() as client, ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(lambda number: self.send(client, number), numbers))


async def test_server_killed_during_posts_loses_nothing(
    tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Acknowledged imports finish once each; others are stored completely or not at all; a repeated key creates one."""
    posts = Posts(create_token(database_url, create_user(database_url, "a")))
    environment = {"FIELDGATE_DATABASE_URL": database_url, "FIELDGATE_LOG_LEVEL": "error"}
    rounds = [range(first, min(first + BATCH_SIZE, POSTS)) for first in range(0, POSTS, BATCH_SIZE)]
    async with workers(database_url, 2):
        for numbers in rounds:
            with ServerProcess(
                tmp_path, "--no-worker", "--workers", "2", environment=environment
            ) as served:
                await asyncio.to_thread(posts.kill_during, served, numbers, len(numbers) // 4)
        before, kept = dict(posts.acknowledged), len(all_imports(database_url))
        with ServerProcess(tmp_path, "--no-worker", environment=environment) as served:
            await asyncio.to_thread(posts.send_all, served, range(1, POSTS, 2))
        await wait_until_finished(database_url)
    made = created_assets(database_url)
    assert len(before) < POSTS, "the server was killed too late to hold anything"
    assert before.items() <= posts.acknowledged.items(), "a repeated key has the first answer"
    assert posts.acknowledged.keys() >= set(range(1, POSTS, 2))
    assert set(posts.acknowledged.values()) <= made.keys()
    stored = all_imports(database_url)
    assert {row.status for row in stored} == {"complete"}
    assert len({row.filename for row in stored}) == len(stored), "no file is there twice"
    with capsys.disabled():
        print(
            f"\n{POSTS} posts, {len(rounds)} kills: {len(before)} acknowledged and {kept} stored by then, ",
            end="",
        )
        print(
            f"{len(posts.acknowledged)} acknowledged in the end, {len(stored)} stored, {len(made)} assets"
        )
