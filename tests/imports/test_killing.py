"""kill -9 at every stage of an import: nothing acknowledged is lost, nothing is made twice, nothing is stuck."""

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
from typing import Any

import httpx
import pytest
from sqlalchemy import Row, func, select

from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.assets.tables import assets, files, versions
from fieldgate.db import Database, DataVersions
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.store import ImportStore
from fieldgate.imports.tables import imports
from fieldgate.imports.upload import parse_upload
from tests.imports.workbooks import xlsx
from tests.processes import ServerProcess

PATH = "/api/v2/imports/"
AT_ONCE = 40  # imports sent to a server before and while it is killed

POSTS = int(os.environ.get("KILL_POSTS", AT_ONCE))
SENDERS = 8
PATIENCE = 120.0  # seconds
BOOK = xlsx()

# A worker that kills itself with SIGKILL when it comes to one stage of its work.
DOOMED = """
import asyncio, os, signal, sys
from multiprocessing.context import ForkServerProcess
from fieldgate.db import Database
from fieldgate.imports.sandbox import runner
from fieldgate.imports.results import ResultWriter
from fieldgate.imports.store import ImportStore
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings

STAGES = {
    "before claim": (ImportStore, "claim", False),
    "in claim": (ImportStore, "_lease_next", True),
    "claimed": (ImportStore, "_load_job", False),
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

def deadly(step, is_done_first):
    def called(*arguments):
        if not is_done_first:
            die()
        result = step(*arguments)
        if not asyncio.iscoroutine(result):
            die()
        async def awaited():
            await result
            die()
        return awaited()
    return called

url, stage = sys.argv[1:]
owner, name, is_done_first = STAGES[stage]
setattr(owner, name, deadly(getattr(owner, name), is_done_first))
settings = Settings(database_url=url, import_lease=1)
asyncio.run(ImportWorker(settings, Database(url)).run(asyncio.Event()))
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


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for a condition, within a bound."""
    limit = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < limit, f"{what}: not within {PATIENCE} seconds"
        await asyncio.sleep(0.05)


async def killed_at(stage: str, database_url: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DOOMED, database_url, stage)
    try:
        assert await asyncio.wait_for(process.wait(), PATIENCE) == -signal.SIGKILL, stage
    finally:
        with suppress(ProcessLookupError):
            process.kill()


@asynccontextmanager
async def workers(database_url: str, count: int) -> AsyncIterator[None]:
    """So many `fieldgate worker`s, as people run them.

    Their leases are as long as people's: nobody kills them, and where a machine stands still for a second, none may
    take another's work and count one more attempt.
    """
    environment = {**os.environ, "FIELDGATE_DATABASE_URL": database_url}
    command = (sys.executable, "-m", "fieldgate", "worker")
    begun = [await asyncio.create_subprocess_exec(*command, env=environment) for _ in range(count)]
    try:
        yield
        assert [worker.returncode for worker in begun] == [None] * count, "a worker ended by itself"
    finally:
        for worker in begun:
            with suppress(ProcessLookupError):
                worker.terminate()
            await asyncio.wait_for(worker.wait(), PATIENCE)


async def all_imports(database: Database) -> list[Row[Any]]:
    async with database.read_transaction() as connection:
        return list((await connection.execute(select(imports).order_by(imports.c.id))).all())


async def finished(database: Database) -> None:
    async def is_finished() -> bool:
        return all(row.status != "processing" for row in await all_imports(database))

    await until(is_finished, "every import ends")


async def made_of(database: Database) -> dict[str, str]:
    """Which import made which asset, when every asset has one import, one version and one file, and nothing is over."""
    made: dict[str, str] = {}
    for row in await all_imports(database):
        if row.status == "complete":
            [told] = row.messages["created"]
            made[row.uid] = told["uid"]
        assert (row.lease, row.lease_until) == (None, None)
        assert row.finished_at is not None
    async with database.read_transaction() as connection:
        stored = (await connection.execute(select(assets.c.uid))).scalars().all()
        of_versions = select(assets.c.uid, versions.c.file_id).join_from(versions, assets, isouter=True)
        pairs = (await connection.execute(of_versions)).all()
        sent = (await connection.execute(select(func.count()).select_from(files))).scalar_one()
    assert sorted(stored) == sorted(made.values()), "one asset for each import, none besides"
    assert sorted(uid for uid, _ in pairs) == sorted(stored), "one version for each asset, none besides"
    assert len({file_id for _, file_id in pairs}) == len(pairs)
    assert sent == len(await all_imports(database))
    return made


class Sender:
    """Users who hand in files, straight into the store."""

    def __init__(self, database: Database) -> None:
        self.store = ImportStore(database, DataVersions(database))
        self.accounts = AccountStore(database, DataVersions(database))

    async def user(self, name: str) -> int:
        return await self.accounts.create_user(NewUser(username=name, password_hash="x"))

    async def send(self, user: int, name: str, book: bytes = BOOK) -> str:
        file = UploadedFile(f"{name}.xlsx", book)
        return await self.store.create(user, parse_upload(ImportRequest(file=file), 10**9), None)


async def test_a_worker_killed_at_any_stage_loses_nothing(database_url: str, database: Database) -> None:
    """One worker dies at each stage, each with an import of another user in hand; two others finish all of them."""
    sender = Sender(database)
    # Whoever was served last comes last: each doomed worker claims for another user.
    people = [await sender.user(f"user-{number}") for number in range(len(STAGES))]
    sent = [await sender.send(user, f"f{user}-{number}") for user in people for number in range(2)]
    await asyncio.gather(*(killed_at(stage, database_url) for stage in STAGES))
    left = await all_imports(database)
    assert sum(row.attempts for row in left) == len(STAGES) - len(NOTHING_CLAIMED), "as many had one in hand"
    assert [row.status for row in left].count("complete") == 1, "the one that was committed"
    async with workers(database_url, 2):
        await finished(database)
    assert sorted(await made_of(database)) == sorted(sent), "all complete"
    assert max(row.attempts for row in await all_imports(database)) == 2, "those in hand were taken up again"


@pytest.mark.long
async def test_an_import_that_kills_every_worker_ends_in_an_error(database_url: str, database: Database) -> None:
    """It is tried so often and no more, leaves nothing behind, and holds up nobody else."""
    sender = Sender(database)
    deadly = await sender.send(await sender.user("unlucky"), "deadly")
    for stage in ("in parsing", "assets written", "before commit"):
        await killed_at(stage, database_url)
    other = await sender.send(await sender.user("other"), "fine")
    async with workers(database_url, 2):
        await finished(database)
    assert list(await made_of(database)) == [other]
    [row] = [row for row in await all_imports(database) if row.uid == deadly]
    assert (row.status, row.attempts, row.messages["error_type"]) == ("error", 4, "gave_up")
    assert row.messages["error"]


@pytest.mark.long
async def test_a_worker_killed_while_it_refuses_a_file(database_url: str, database: Database) -> None:
    sender = Sender(database)
    uid = await sender.send(await sender.user("someone"), "broken", xlsx(survey=(("type",), ("florb",))))
    await killed_at("before failing", database_url)
    async with workers(database_url, 2):
        await finished(database)
    [row] = await all_imports(database)
    assert (row.uid, row.status, row.attempts) == (uid, "error", 2)
    assert await made_of(database) == {}


class Posts:
    """Files sent to a server by several clients at once, and what it acknowledged."""

    def __init__(self, token: str) -> None:
        self.headers = {"Authorization": f"Token {token}"}
        self.acknowledged: dict[int, str] = {}
        self.lock = threading.Lock()
        self.enough = threading.Event()
        self.wanted = 0

    def key(self, number: int) -> dict[str, str]:
        """Every second client says how to know its POST again, and repeats it; the others give up."""
        return {"Idempotency-Key": f"key-{number}"} if number % 2 else {}

    def send(self, client: httpx.Client, number: int) -> None:
        file = {"file": (f"f{number}.xlsx", BOOK)}
        try:
            answer = client.post(PATH, headers={**self.headers, **self.key(number)}, files=file)
        except httpx.TransportError:
            return
        assert answer.status_code == 201, answer.text
        with self.lock:
            self.acknowledged[number] = str(answer.json()["uid"])
            if len(self.acknowledged) >= self.wanted:
                self.enough.set()

    def kill_during(self, served: ServerProcess, numbers: Iterable[int], after: int) -> None:
        """Send all of them; kill every process of the server when so many are acknowledged."""
        self.wanted = len(self.acknowledged) + after
        self.enough.clear()
        with served.client() as client, ThreadPoolExecutor(SENDERS) as pool:
            sending = [pool.submit(self.send, client, number) for number in numbers]
            assert self.enough.wait(PATIENCE)
            os.killpg(served.process.pid, signal.SIGKILL)
            for each in sending:
                each.result(PATIENCE)

    def send_all(self, served: ServerProcess, numbers: Iterable[int]) -> None:
        with served.client() as client, ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(lambda number: self.send(client, number), numbers))


async def test_a_server_killed_during_posts_loses_nothing(
    tmp_path: Path, database_url: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was acknowledged ends, once each; what was not is stored whole or not at all; a repeated key makes one."""
    accounts = AccountStore(database, DataVersions(database))
    number = await accounts.create_user(NewUser(username="a", password_hash="x"))
    posts = Posts(await accounts.issue_token(number, IssuedBy.COMMAND, None))
    environment = {"FIELDGATE_DATABASE_URL": database_url, "FIELDGATE_LOG_LEVEL": "error"}
    rounds = [range(first, min(first + AT_ONCE, POSTS)) for first in range(0, POSTS, AT_ONCE)]
    async with workers(database_url, 2):
        for numbers in rounds:
            with ServerProcess(tmp_path, "--no-worker", "--workers", "2", environment=environment) as served:
                await asyncio.to_thread(posts.kill_during, served, numbers, len(numbers) // 4)
        before, kept = dict(posts.acknowledged), len(await all_imports(database))
        with ServerProcess(tmp_path, "--no-worker", environment=environment) as served:
            await asyncio.to_thread(posts.send_all, served, range(1, POSTS, 2))
        await finished(database)
    made = await made_of(database)
    assert len(before) < POSTS, "the server was killed too late to hold anything"
    assert before.items() <= posts.acknowledged.items(), "a repeated key has the first answer"
    assert posts.acknowledged.keys() >= set(range(1, POSTS, 2))
    assert set(posts.acknowledged.values()) <= made.keys()
    stored = await all_imports(database)
    assert {row.status for row in stored} == {"complete"}
    assert len({row.filename for row in stored}) == len(stored), "no file is there twice"
    with capsys.disabled():
        print(f"\n{POSTS} posts, {len(rounds)} kills: {len(before)} acknowledged and {kept} stored by then, ", end="")
        print(f"{len(posts.acknowledged)} acknowledged in the end, {len(stored)} stored, {len(made)} assets")
