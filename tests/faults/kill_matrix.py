"""The kill matrix: writers run while something is killed; then every acknowledged write is counted.

async with run_site("SQLite", processes=2) as site:
    result = await run_trial(site, SERVING_PROCESS, times=20)
"""

import asyncio
import itertools
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select

from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import AsyncDatabase, DataVersions, ReadTransaction, new_uid, now
from fieldgate.db.log import log
from fieldgate.db.schema import upgrade
from fieldgate.events.model import Event
from fieldgate.events.writes import load_events
from fieldgate.imports.tables import imports
from fieldgate.runtime.child_processes import STABLE_SECONDS_VARIABLE
from tests.faults.postgres_cluster import PgBouncer, PostgresCluster
from tests.faults.trial_report import TrialResult
from tests.faults.write_load import Acknowledged, WriteLoad
from tests.processes import ServerProcess, children, descendants, is_running, wait_for_exit

MEMBERS, ASSETS = 60, 60  # an assignment for each pair
FIRST_EVENT = 100_000
RECOVERY_TIMEOUT = 60  # seconds
WRITES_BETWEEN = 20  # acknowledged before each fault and after the last one
IMPORT_LEASE = "5s"  # an import whose worker was killed is taken up after that
DATABASE_NAME = "fieldgate"


@dataclass
class Site:
    """A running service with its database, which faults act on."""

    database: str
    processes: int
    folder: Path
    database_url: str  # as the service sees it
    cluster: PostgresCluster | None = None
    bouncer: PgBouncer | None = None
    token: str = ""
    assignable: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.event_ids = itertools.count(FIRST_EVENT)
        self._server: ServerProcess | None = None

    @property
    def direct_url(self) -> str:
        """The URL of the database itself, without what is between it and the service."""
        return (
            self.database_url if self.cluster is None else self.cluster.primary.url(DATABASE_NAME)
        )

    @property
    def server(self) -> ServerProcess:
        assert self._server is not None
        return self._server

    def start_server(self) -> None:
        """Start the service, on the same port as before."""
        port = None if self._server is None else self._server.port
        environment = {
            "FIELDGATE_DATABASE_URL": self.database_url,
            "FIELDGATE_DATABASE_POOLER": str(self.bouncer is not None),
            "FIELDGATE_LOG_LEVEL": "error",
            "FIELDGATE_ACCESS_LOG": "false",
            "FIELDGATE_IMPORT_LEASE": IMPORT_LEASE,
            STABLE_SECONDS_VARIABLE: "0.1",  # many kills in a row are as many first ones
        }
        options = ("--workers", str(self.processes), "--import-workers", "1")
        self._server = ServerProcess(self.folder, *options, environment=environment, port=port)
        self._server.__enter__()

    def stop_server(self) -> None:
        if self._server is not None:
            self._server.stop()

    def serving_processes(self) -> list[int]:
        return [pid for pid in children(self.server.process.pid) if "serve" in _command_line(pid)]

    def import_workers(self) -> list[int]:
        return [
            pid
            for pid in children(self.server.process.pid)
            if "fieldgate worker" in _command_line(pid)
        ]

    async def prepare(self) -> None:
        """Create the tables, a superuser with a token, and users and assets to assign."""
        database = AsyncDatabase(self.direct_url)
        try:
            await upgrade(database)
            accounts = AccountStore(database, DataVersions(database))
            owner = await accounts.create_user(
                NewUser(username="writer", password_hash="x", is_superuser=True)
            )
            self.token = await accounts.issue_token(owner, IssuedBy.COMMAND, None)
            for number in range(MEMBERS):
                await accounts.create_user(NewUser(username=f"member{number}", password_hash="x"))
            rows = [_asset_row(number, owner) for number in range(ASSETS)]
            async with database.transaction() as connection:
                await connection.execute(insert(assets), rows)
            names = [f"member{number}" for number in range(MEMBERS)]
            self.assignable = [(row["uid"], name) for row in rows for name in names]
        finally:
            await database.close()


@asynccontextmanager
async def run_site(database: str, processes: int) -> AsyncIterator[Site]:
    """Start a database of this kind and the service on it."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldgate-site-")))
        site = Site(database, processes, folder, f"sqlite:///{folder / 'fieldgate.db'}")
        if database != "SQLite":
            # kill -9 does not lose what the system has in memory, so fsync changes nothing here.
            cluster = await asyncio.to_thread(PostgresCluster(is_durable=False).__enter__)
            stack.push_async_callback(asyncio.to_thread, cluster.close)
            site.cluster = cluster
            await asyncio.to_thread(cluster.primary.create_database, DATABASE_NAME)
            if database == "PgBouncer":
                site.bouncer = PgBouncer(cluster.primary, system_user=cluster.system_user)
                await asyncio.to_thread(stack.enter_context, site.bouncer)
                site.database_url = site.bouncer.url(DATABASE_NAME)
            else:
                site.database_url = cluster.primary.url(DATABASE_NAME)
        await site.prepare()
        stack.push_async_callback(asyncio.to_thread, site.stop_server)
        await asyncio.to_thread(site.start_server)
        yield site


@dataclass(frozen=True)
class Fault:
    """Something that fails, and how it is put right."""

    name: str
    apply: Callable[[Site], Awaitable[None]]


async def kill_serving_process(site: Site) -> None:
    pids = await _wait_for(site.serving_processes, site.processes)
    os.kill(random.choice(pids), signal.SIGKILL)


async def kill_import_worker(site: Site) -> None:
    [pid] = await _wait_for(site.import_workers, 1)
    await asyncio.to_thread(_kill, [pid, *descendants(pid)])


async def kill_main_process(site: Site) -> None:
    """The others notice that their parent is gone, and stop."""
    pid = site.server.process.pid
    others = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(wait_for_exit, [pid, *others])
    await _restart(site)


async def kill_everything(site: Site) -> None:
    """As when the machine loses power, except that the system keeps what was written."""
    pid = site.server.process.pid
    await asyncio.to_thread(_kill, [pid, *descendants(pid)])
    await _restart(site)


async def kill_primary(site: Site) -> None:
    assert site.cluster is not None
    await asyncio.to_thread(site.cluster.primary.kill)
    await asyncio.to_thread(site.cluster.primary.start)


async def kill_pgbouncer(site: Site) -> None:
    assert site.bouncer is not None
    await asyncio.to_thread(site.bouncer.kill)
    await asyncio.to_thread(site.bouncer.start)


SERVING_PROCESS = Fault("kill -9 of a serving process", kill_serving_process)
IMPORT_WORKER = Fault("kill -9 of the import worker", kill_import_worker)
MAIN_PROCESS = Fault("kill -9 of the main process, then a restart", kill_main_process)
EVERYTHING = Fault("kill -9 of all processes, then a restart", kill_everything)
PRIMARY = Fault("kill -9 of the primary, then a restart", kill_primary)
PGBOUNCER = Fault("kill -9 of PgBouncer, then a restart", kill_pgbouncer)
# The faults of each database. The first ones are part of `make test`.
FAULTS: dict[str, tuple[Fault, ...]] = {
    "SQLite": (SERVING_PROCESS, IMPORT_WORKER, MAIN_PROCESS, EVERYTHING),
    "PostgreSQL": (PRIMARY, SERVING_PROCESS, MAIN_PROCESS, IMPORT_WORKER),
    "PgBouncer": (PGBOUNCER, PRIMARY, SERVING_PROCESS, EVERYTHING),
}
SHORT = {"SQLite": 3, "PostgreSQL": 1, "PgBouncer": 1}


def trials() -> list[tuple[str, int, Fault]]:
    """Database, number of processes and fault of each trial in the long form."""
    return [
        (database, processes, fault)
        for database, faults in FAULTS.items()
        for fault in faults
        for processes in ((1, 2) if fault is SERVING_PROCESS else (2,))
    ]


def trial_name(fault: Fault, processes: int) -> str:
    return f"{fault.name}, {processes} {'process' if processes == 1 else 'processes'}"


async def run_trial(site: Site, fault: Fault, times: int) -> TrialResult:
    """Apply a fault several times while writers run, and count what became of the acknowledged writes."""
    pairs = _take_pairs(site.assignable)
    load = WriteLoad(site.server.base_url, site.token, site.event_ids, pairs)
    recoveries = []
    async with load:
        await load.recovery_seconds(time.monotonic(), RECOVERY_TIMEOUT)
        for _ in range(times):
            await load.wait_for_writes(WRITES_BETWEEN)
            failed_at = time.monotonic()
            await fault.apply(site)
            recoveries.append(await load.recovery_seconds(failed_at, RECOVERY_TIMEOUT))
        await load.wait_for_writes(WRITES_BETWEEN)
    counted = await count_writes(site.direct_url, load.acknowledged)
    assert not load.unexpected, load.unexpected[:5]
    assert not load.stale_reads, load.stale_reads[:5]
    return TrialResult(
        trial=trial_name(fault, site.processes),
        database=site.database,
        acknowledged=load.acknowledged.count,
        lost=counted["lost"],
        duplicated=counted["duplicated"],
        statuses=dict(sorted(load.statuses.items())),
        recovery_seconds=round(max(recoveries), 2),
    )


async def count_writes(database_url: str, acknowledged: Acknowledged) -> Counter[str]:
    """Wait until the imports are finished, then count acknowledged writes that are lost or there twice."""
    counted: Counter[str] = Counter()
    database = AsyncDatabase(database_url)
    try:
        await _count_imports(database, acknowledged, counted)
        await _count_events(database, acknowledged, counted)
        await _count_assignments(database, acknowledged, counted)
    finally:
        await database.close()
    return counted


async def _count_imports(
    database: AsyncDatabase, acknowledged: Acknowledged, counted: Counter[str]
) -> None:
    until = time.monotonic() + RECOVERY_TIMEOUT
    is_own = imports.c.filename.in_(list(acknowledged.imports))
    while True:
        async with database.read_transaction() as connection:
            rows = (await connection.execute(select(imports).where(is_own))).all()
            known = set((await connection.execute(select(assets.c.uid))).scalars())
        if all(row.status != "processing" for row in rows):
            break
        assert time.monotonic() < until, "imports do not end"
        await asyncio.sleep(0.1)
    found = Counter(row.filename for row in rows)
    by_uid = {row.uid: row for row in rows}
    counted["duplicated"] += sum(number - 1 for number in found.values())
    created: list[str] = []
    for uid in acknowledged.imports.values():
        row = by_uid.get(uid)
        if row is None or row.status != "complete":
            counted["lost"] += 1
            continue
        created += [each["uid"] for each in row.messages["created"]]
    counted["lost"] += len(set(created) - known)
    async with database.read_transaction() as connection:
        # Each import makes one form, named after its file.
        names = [name.removesuffix(".xlsx") for name in acknowledged.imports]
        query = select(func.count()).select_from(assets).where(assets.c.name.in_(names))
        counted["duplicated"] += max(0, (await connection.execute(query)).scalar_one() - len(names))


async def _count_events(
    database: AsyncDatabase, acknowledged: Acknowledged, counted: Counter[str]
) -> None:
    def load(transaction: ReadTransaction) -> dict[int, Event]:
        return load_events(transaction, list(acknowledged.events))

    stored = await database.in_read(load)
    for id_, value in acknowledged.events.items():
        event = stored.get(id_)
        counted["lost"] += event is None or event.num_affected != value


async def _count_assignments(
    database: AsyncDatabase, acknowledged: Acknowledged, counted: Counter[str]
) -> None:
    """An assignment has a uniqueness constraint. The log has not: a second entry means that it was made twice."""
    stored = select(assets.c.uid, users.c.username).where(assignments.c.permission == "view_asset")
    stored = stored.join_from(assignments, assets, assignments.c.asset_id == assets.c.id)
    stored = stored.join(users, assignments.c.user_id == users.c.id)
    logged = select(log.c.object_uid, log.c.subject_name).where(log.c.effect_count > 0)
    async with database.read_transaction() as connection:
        found = Counter(tuple(row) for row in await connection.execute(stored))
        entries = Counter(tuple(row) for row in await connection.execute(logged))
    for pair in acknowledged.assignments:
        counted["lost"] += found[pair] == 0 or entries[pair] == 0
        counted["duplicated"] += max(0, entries[pair] - 1)


def _take_pairs(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    while True:
        yield pairs.pop()


async def _restart(site: Site) -> None:
    await asyncio.to_thread(site.server.stop)
    await asyncio.to_thread(site.start_server)


async def _wait_for(find: Callable[[], list[int]], number: int) -> list[int]:
    until = time.monotonic() + RECOVERY_TIMEOUT
    while len(found := find()) != number:
        assert time.monotonic() < until, f"{len(found)} processes instead of {number}"
        await asyncio.sleep(0.05)
    return found


def _kill(pids: list[int]) -> None:
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    wait_for_exit(pids)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _asset_row(number: int, owner: int) -> dict[str, Any]:
    return {
        "uid": new_uid("a"), "owner_id": owner, "parent_id": None, "asset_type": "survey", "name": f"Form {number}",
        "name_key": f"form {number}", "settings": {}, "tags": [], "summary": {}, "created_at": now(),
        "modified_at": now(),
    }  # fmt: skip
