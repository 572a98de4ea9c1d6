"""What is measured. Each section starts its own services and returns plain data for the page."""

import asyncio
import json
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, cycle, islice
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from benchmarks.data import assignment, import_request
from benchmarks.measure import Load
from benchmarks.requests import ASSETS, ASSIGNMENTS, EVENTS, Request, get_json, send
from benchmarks.rows import GRANTED, PAGE_SIZE
from benchmarks.servers import Server, resident_megabytes
from tests.faults.kill_matrix import RECOVERY_TIMEOUT, WRITES_BETWEEN, count_writes
from tests.faults.write_load import WriteLoad, event_body
from tests.processes import FIELDGATE_COMMAND, TIMEOUT_SECONDS, descendants
from tests.scaling.fill import ADMIN, READER, World, user_name
from tests.scaling.scaling_site import DATABASE_NAME, ScalingSite, Services, report

Data = dict[str, Any]

PROCESSES, WORKERS = 4, 2
IMPORT, IDLE = "import a form", "no requests, processes: {}, import workers: {}"
POOLED, DIRECT = "through PgBouncer", "past PgBouncer"
SINGLE_WRITES = "single writes"
FIRST_WRITTEN = 50_000_000  # ids of events that are written here
WRITTEN_EVENTS = 20
FIRST_LOADED = 60_000_000
LINES = 3000  # different requests
COUNTRIES_PER_FILTER = 40
MIN_PEAK_SECONDS = 5
PEAK_CONNECTIONS = {
    "50 events, other filters": 64,
    "assets of a user, other pages": 32,
    "write an event": 64,
}
LIST_LIMIT = 1000  # records of the largest page
VISIBLE_TIMEOUT_SECONDS = 30
IMPORT_CONNECTIONS = 8
READERS = 3
POLL_SECONDS = 0.002


class Amounts(msgspec.Struct, frozen=True):
    """How much is done in each section."""

    seconds: int = 5  # of a round of load, and of listening to services without requests
    requests: int = 50  # whose statements are counted
    writes: int = 1000  # whose visibility is measured
    shares: int = 100  # assignments that are added and removed
    loaded: int = 50_000  # events of `events load`
    imports: int = 200
    restart_writes: int = 200  # acknowledged after a process was killed


FEW = Amounts(seconds=2, requests=5, writes=20, shares=4, loaded=400, imports=5, restart_writes=20)


def start(site: ScalingSite, amounts: Amounts) -> Data:
    """Seconds until the first page, memory, and connections to the database, by number of processes and way."""
    found: Data = {}
    for is_pooled in (True, False):
        for number in (1, PROCESSES):
            report(f"start: {number}, {_way(is_pooled)}")
            with site.services(number, is_pooled=is_pooled) as services:
                idle = _connections(site, is_pooled)
                peak = _peak_connections(site, services, amounts, is_pooled)
                pids = [served.process.pid for served in services.processes.values()]
                found.setdefault(_way(is_pooled), {})[str(number)] = {
                    "seconds": [services.start_seconds[each] for each in range(number)],
                    "resident_megabytes": max(map(resident_megabytes, pids)),
                    "proportional_megabytes": max(map(_proportional_megabytes, pids)),
                    "idle_connections": idle,
                    "peak_connections": peak,
                }
    return found


def statements(site: ScalingSite, amounts: Amounts) -> Data:
    """Statements of a request through PgBouncer, and those of services without requests."""
    found: Data = {}
    with site.services(1) as services:
        idle = _idle_rates(site, amounts.seconds)
        found[IDLE.format(1, 0)] = idle
        for name, request in _requests(services.server, site.world).items():
            report(f"statements: {name}")
            action = partial(_send_line, request, services.server)
            action(-1)  # fills caches that all requests share
            found[name] = _statements_of(site, action, amounts.requests, idle)
    with site.services(1, import_workers=1) as services:
        report("statements: import")
        idle = _idle_rates(site, amounts.seconds)
        found[IDLE.format(1, 1)] = idle

        def import_form(_: int) -> None:
            send(import_request(ADMIN), services.server)
            _wait_for_imports(site)

        import_form(-1)
        found[IMPORT] = _statements_of(site, import_form, amounts.requests, idle)
    with site.services(PROCESSES, import_workers=WORKERS):
        report("statements: without requests")
        found[IDLE.format(PROCESSES, WORKERS)] = _idle_rates(site, amounts.seconds)
    return found


def rates(site: ScalingSite, amounts: Amounts) -> Data:
    """Requests per second and their latency in milliseconds through nginx, and imports per second."""
    found: Data = {}
    for number in (1, PROCESSES):
        with site.services(number, import_workers=WORKERS) as services:
            for name, request in _requests(services.server, site.world).items():
                report(f"rates: {number}, {name}")
                load = Load(request, amounts.seconds, core=0)
                load(services.server)  # does not count
                sample = load(services.server)
                found.setdefault(name, {})[str(number)] = {
                    "rate": sample.rate, "p50": sample.median / 1000, "p99": sample.p99 / 1000,
                }  # fmt: skip
            report(f"rates: {number}, imports")
            rate = asyncio.run(_import_rate(site, services, amounts.imports))
            found.setdefault(IMPORT, {})[str(number)] = {"rate": rate}
    return found


def visibility(site: ScalingSite, amounts: Amounts) -> Data:
    """Seconds until a write is visible in every other process, and permissions that came late."""
    found: Data = {}
    values = count(1)
    with site.services(PROCESSES) as services:
        report("visibility")
        found[SINGLE_WRITES] = asyncio.run(
            _visibility(services, site.world, amounts.writes, values)
        )
        found[SINGLE_WRITES] |= asyncio.run(_late_permissions(services, site.world, amounts.shares))
        report("visibility: events load")
        file = site.folder / "events.ndjson"
        _write_events_file(file, services.server, amounts.loaded, 2 * FIRST_LOADED)
        with _events_load(site, file) as load:
            is_over = lambda: load.poll() is not None  # noqa: E731
            during = asyncio.run(_visibility(services, site.world, amounts.writes, values, is_over))
            output, _ = load.communicate(timeout=10 * TIMEOUT_SECONDS)
            assert load.returncode == 0, output
        found[f"while `events load` writes {amounts.loaded:,} events"] = during | {
            "load": output.strip()
        }
    return found


def restarts(site: ScalingSite, amounts: Amounts) -> Data:
    """What callers see of a rolling restart of all processes, and of one that is killed."""
    with site.services(PROCESSES, import_workers=WORKERS) as services:
        return asyncio.run(_restarts(site, services, amounts))


def failover(site: ScalingSite, amounts: Amounts) -> Data:
    """What becomes of writes while the primary is killed and the standby promoted. The last section."""
    with site.services(PROCESSES, import_workers=WORKERS) as services:
        return asyncio.run(_failover(site, services))


SECTIONS: dict[str, Callable[[ScalingSite, Amounts], Data]] = {
    each.__name__: each for each in (start, statements, rates, visibility, restarts, failover)
}


# Requests


def _requests(server: Server, world: World) -> dict[str, Request]:
    """The requests that are counted and timed, by name; each line is another one."""
    chance, user = random.Random(0), world.user
    total = get_json(server, EVENTS, user)["count"]
    offsets = [chance.randrange(max(1, total - PAGE_SIZE)) for _ in range(LINES)]
    events = _some_events(server, total, user)
    countries = sorted({country["id"] for event in events for country in event["countries"]})
    chosen = [
        chance.sample(countries, min(COUNTRIES_PER_FILTER, len(countries) // 2))
        for _ in range(LINES)
    ]
    filters = [",".join(map(str, each)) for each in chosen]
    listed = get_json(server, ASSETS, user)
    mine = [world.own_asset(number) for number in range(world.sizes.assets // world.sizes.users)]
    pages = [
        (limit, offset)
        for limit in range(20, 51)
        for offset in range(max(1, listed["count"] - limit))
    ]
    grants = [
        assignment(user_name(each), wanted)
        for wanted in GRANTED[1:]
        for each in range(1, world.sizes.users)
    ]
    get = partial(Request, caller=user, connections=8)
    write = partial(Request, caller=ADMIN, content_type="application/json", connections=8)
    event = FIRST_WRITTEN - 1
    return {
        "50 events, the same page": get(path=EVENTS),
        "50 events, other pages": get(lines=[f"{EVENTS}?limit={PAGE_SIZE}&offset={each}" for each in offsets]),
        "50 events, other filters": get(lines=[f"{EVENTS}?limit={PAGE_SIZE}&countries__in={each}" for each in filters]),
        "one event": get(lines=[f"{EVENTS}{each['id']}/" for each in chance.sample(events, len(events))]),
        "assets of a user, the same page": get(path=ASSETS),
        "assets of a user, other pages": get(
            lines=[f"{ASSETS}?limit={limit}&offset={offset}" for limit, offset in chance.sample(pages, len(pages))]
        ),
        "one asset": get(lines=[f"{ASSETS}{each['uid']}/" for each in listed["results"]]),
        "sharing of an asset": get(lines=[ASSIGNMENTS.format(each) for each in mine]),
        "write an event": write(
            method="PUT", path=f"{EVENTS}{event}/",
            lines=[json.dumps(event_body(event, chance.randrange(10**8))) for _ in range(LINES)],
        ),
        "share an asset": write(
            method="POST", path=ASSIGNMENTS.format(world.asset(0)), lines=list(map(json.dumps, grants))
        ),
    }  # fmt: skip


def _some_events(server: Server, total: int, caller: str) -> list[Data]:
    """Records of all parts of the list."""
    events: list[Data] = []
    for offset in range(0, max(1, total - LIST_LIMIT), max(1, total // 5)):
        events += get_json(server, f"{EVENTS}?limit={LIST_LIMIT}&offset={offset}", caller)[
            "results"
        ]
    return events


def _send_line(request: Request, server: Server, number: int) -> None:
    send(request.example(number % len(request.lines) if request.lines else 0), server)


# Connections, memory and statements


def _way(is_pooled: bool) -> str:
    return POOLED if is_pooled else DIRECT


def _connections(site: ScalingSite, is_pooled: bool) -> Data:
    """Connections of services to PgBouncer, and to PostgreSQL: those of PgBouncer, or their own."""
    clients, servers = (
        sum(each["database"] == DATABASE_NAME for each in site.bouncer.show(kind))
        for kind in ("CLIENTS", "SERVERS")
    )
    query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{DATABASE_NAME}'"
    return {
        "pgbouncer": clients,
        "postgresql": servers if is_pooled else int(site.node.query(query)) - servers,
    }


def _peak_connections(
    site: ScalingSite, services: Services, amounts: Amounts, is_pooled: bool
) -> Data:
    """The most connections during a load of reads and writes."""
    requests = _requests(services.server, site.world)
    seconds = max(amounts.seconds, MIN_PEAK_SECONDS)
    peak = Counter[str]()
    with ThreadPoolExecutor(1) as thread:
        for name, connections in PEAK_CONNECTIONS.items():
            load = Load(replace(requests[name], connections=connections), seconds, core=0)
            running = thread.submit(load, services.server)
            while not running.done():
                peak |= Counter(_connections(site, is_pooled))
                time.sleep(0.1)
            running.result()
    return {name: peak[name] for name in ("pgbouncer", "postgresql")}


def _proportional_megabytes(pid: int) -> float:
    """Memory of all processes of a service; what they share is counted once."""
    total = 0
    for each in (pid, *descendants(pid)):
        lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1_000_000


def _count_statements(site: ScalingSite) -> Counter[str]:
    """Statements and transactions so far, as PgBouncer counts them."""
    [row] = [each for each in site.bouncer.show("STATS") if each["database"] == DATABASE_NAME]
    return Counter(
        statements=int(row["total_query_count"]), transactions=int(row["total_xact_count"])
    )


def _idle_rates(site: ScalingSite, seconds: float) -> dict[str, float]:
    """Statements and transactions per second without requests."""
    before, began = _count_statements(site), time.monotonic()
    time.sleep(seconds)
    counted, seconds = _count_statements(site) - before, time.monotonic() - began
    return {name: counted[name] / seconds for name in before}


def _statements_of(
    site: ScalingSite, action: Callable[[int], None], times: int, idle: dict[str, float]
) -> dict[str, float]:
    """Statements and transactions of an action, without those that there are anyway."""
    before, began = _count_statements(site), time.monotonic()
    for number in range(times):
        action(number)
    counted, seconds = _count_statements(site) - before, time.monotonic() - began
    return {name: max(0.0, counted[name] - idle[name] * seconds) / times for name in before}


# Imports


def _wait_for_imports(site: ScalingSite) -> None:
    until = time.monotonic() + 10 * TIMEOUT_SECONDS
    while int(
        site.node.query("SELECT count(*) FROM imports WHERE status = 'processing'", DATABASE_NAME)
    ):
        assert time.monotonic() < until, "imports do not end"
        time.sleep(0.02)


async def _import_rate(site: ScalingSite, services: Services, number: int) -> float:
    """Imports per second, from the first request to the last form."""
    request = import_request(ADMIN)
    headers = request.headers(services.server)
    left = iter(range(number))

    async def post_imports(client: httpx.AsyncClient) -> None:
        for _ in left:
            response = await client.post(request.path, content=request.body, headers=headers)
            assert response.status_code == 201, response.text

    began = time.monotonic()
    async with httpx.AsyncClient(base_url=services.base_url, timeout=TIMEOUT_SECONDS) as client:
        await asyncio.gather(*(post_imports(client) for _ in range(IMPORT_CONNECTIONS)))
    await asyncio.to_thread(_wait_for_imports, site)
    return number / (time.monotonic() - began)


# Visibility


async def _visibility(
    services: Services,
    world: World,
    writes: int,
    values: Iterator[int],
    is_over: Callable[[], bool] = lambda: False,
) -> Data:
    """Write events through each process in turn, and read them in the others until the new value is there."""
    seconds: list[float] = []
    statuses: Counter[str] = Counter()
    written = 0
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(_client(url, world.tokens[ADMIN]))
            for url in services.urls
        ]
        for number in range(writes):
            if is_over():
                break
            value, id_ = next(values), FIRST_WRITTEN + number % WRITTEN_EVENTS
            writer = clients[number % len(clients)]
            await _repeat_until(
                partial(writer.put, f"{EVENTS}{id_}/", json=event_body(id_, value)),
                _is_written,
                statuses,
            )
            acknowledged = time.monotonic()
            path = f"{EVENTS}{id_}/" if number % 2 else f"{EVENTS}?id__in={id_}"
            others = [client for client in clients if client is not writer]
            shows = partial(_shows, value)
            shown = await asyncio.gather(
                *(_repeat_until(partial(client.get, path), shows, statuses) for client in others)
            )
            seconds += [each - acknowledged for each in shown]
            written += 1
    return {
        "writes": written,
        "p50": _percentile(seconds, 50),
        "p99": _percentile(seconds, 99),
        "max": max(seconds, default=0.0),
        "statuses": dict(sorted(statuses.items())),
    }


def _client(url: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Token {token}"}, timeout=TIMEOUT_SECONDS
    )


async def _repeat_until(
    request: Callable[[], Awaitable[httpx.Response]],
    is_right: Callable[[httpx.Response], bool],
    statuses: Counter[str],
) -> float:
    """Repeat a request until its response is right; when it came."""
    until = time.monotonic() + VISIBLE_TIMEOUT_SECONDS
    while True:
        response = await request()
        statuses[str(response.status_code)] += 1
        if is_right(response):
            return time.monotonic()
        assert time.monotonic() < until, f"still {response.status_code} {response.text[:200]}"
        await asyncio.sleep(POLL_SECONDS)


def _is_written(response: httpx.Response) -> bool:
    return response.status_code in (200, 201)


def _shows(value: int, response: httpx.Response) -> bool:
    if response.status_code != 200:
        return False
    record = response.json()
    records = record.get("results", [record])
    return bool(records) and (records[0]["num_affected"] or 0) >= value


async def _late_permissions(services: Services, world: World, rounds: int) -> Data:
    """Share an asset and stop sharing it through each process in turn: how many next requests did not know it."""
    late: Counter[str] = Counter()
    checked = 0
    async with AsyncExitStack() as stack:
        writers = [
            await stack.enter_async_context(_client(url, world.tokens[ADMIN]))
            for url in services.urls
        ]
        readers = [
            await stack.enter_async_context(_client(url, world.tokens[READER]))
            for url in services.urls
        ]
        statuses: Counter[str] = Counter()
        for number in range(rounds):
            at, path = number % len(writers), f"{ASSETS}{world.asset(number)}/"
            others = readers[:at] + readers[at + 1 :]
            given: list[httpx.Response] = []

            async def share(
                at: int = at, path: str = path, given: list[httpx.Response] = given
            ) -> httpx.Response:
                url = f"{path}permission-assignments/"
                given.append(await writers[at].post(url, json=assignment(READER, "view_asset")))
                return given[-1]

            await _repeat_until(share, _is_written, statuses)
            late["added"] += await _count_others(others, path, 200)
            url = urlsplit(given[-1].json()["url"]).path
            await _repeat_until(
                partial(writers[at].delete, url), lambda it: it.status_code in (204, 404), statuses
            )
            late["removed"] += await _count_others(others, path, 404)
            checked += 2 * len(others)
    return {"permission_checks": checked, "late_permissions": dict(late)}


async def _count_others(readers: Sequence[httpx.AsyncClient], path: str, status: int) -> int:
    """How many first answers of these processes have another status. 503 is no answer."""

    async def first_answer(reader: httpx.AsyncClient) -> int:
        while (response := await reader.get(path)).status_code == 503:
            await asyncio.sleep(POLL_SECONDS)
        return response.status_code

    found = await asyncio.gather(*map(first_answer, readers))
    return sum(each != status for each in found)


def _write_events_file(file: Path, server: Server, number: int, first_id: int) -> None:
    """Records of the list, with new ids, one in a line."""
    pages: list[Data] = []
    path: str | None = f"{EVENTS}?limit={LIST_LIMIT}"
    while path and len(pages) < number:
        page = get_json(server, path, ADMIN)
        pages += page["results"]
        path = page["next"] and page["next"][page["next"].index("/api/") :]
    with file.open("w") as lines:
        for id_, record in enumerate(islice(cycle(pages), number), start=first_id):
            lines.write(
                json.dumps({**record, "id": id_, "slug": None, "parent_event": None}) + "\n"
            )


@contextmanager
def _events_load(site: ScalingSite, file: Path) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(
        [
            FIELDGATE_COMMAND,
            "events",
            "load",
            file,
            "--visibility",
            "public",
            "--data",
            site.folder / "loading",
        ],
        env={**os.environ, **site.environment(is_pooled=True)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=TIMEOUT_SECONDS)


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[ceil(len(values) * percent / 100) - 1] if values else 0.0


# Restarts and failover


class Readers:
    """Reads through nginx until the end of the block, each with a new connection. Nothing is repeated."""

    def __init__(self, base_url: str, world: World) -> None:
        self.statuses: Counter[str] = Counter()
        self._paths = cycle(
            [EVENTS, f"{EVENTS}?limit=20&offset=100", ASSETS, f"{ASSETS}{world.own_asset(0)}/"]
        )
        self._client = httpx.AsyncClient(
            base_url=base_url,
            headers={"Authorization": f"Token {world.tokens[world.user]}"},
            timeout=TIMEOUT_SECONDS,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def __aenter__(self) -> "Readers":
        self._is_over = False
        self._tasks = [asyncio.create_task(self._read()) for _ in range(READERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        await asyncio.gather(*self._tasks)
        await self._client.aclose()

    async def _read(self) -> None:
        while not self._is_over:
            try:
                response = await self._client.get(next(self._paths))
                self.statuses[str(response.status_code)] += 1
            except httpx.TransportError as error:
                self.statuses[type(error).__name__] += 1
            await asyncio.sleep(10 * POLL_SECONDS)


def _write_load(site: ScalingSite, services: Services, first_id: int) -> WriteLoad:
    return WriteLoad(
        services.base_url,
        site.world.tokens[ADMIN],
        count(first_id),
        site.free_pairs,
    )


async def _restarts(site: ScalingSite, services: Services, amounts: Amounts) -> Data:
    found: Data = {}
    for name, first_id in (("rolling", 4 * FIRST_LOADED), ("killed", 5 * FIRST_LOADED)):
        report(f"restarts: {name}")
        load = _write_load(site, services, first_id)
        async with Readers(services.base_url, site.world) as readers, load:
            await load.recovery_seconds(time.monotonic(), RECOVERY_TIMEOUT)
            began = time.monotonic()
            if name == "rolling":
                await asyncio.to_thread(services.restart_one_by_one)
            else:
                await asyncio.to_thread(services.kill, 0)
                await load.wait_for_writes(amounts.restart_writes)
                await asyncio.to_thread(services.start, 0)
            seconds = time.monotonic() - began
            await load.wait_for_writes(WRITES_BETWEEN)
        counted = await count_writes(site.direct_url, load.acknowledged)
        found[name] = _outcome(load, counted) | {
            "seconds": seconds,
            "reads": dict(sorted(readers.statuses.items())),
        }
    return found


async def _failover(site: ScalingSite, services: Services) -> Data:
    report("failover")
    load = _write_load(site, services, 6 * FIRST_LOADED)
    async with Readers(services.base_url, site.world) as readers, load:
        await load.recovery_seconds(time.monotonic(), RECOVERY_TIMEOUT)
        await load.wait_for_writes(WRITES_BETWEEN)
        failed_at = time.monotonic()
        await asyncio.to_thread(site.fail_over)
        redirected = time.monotonic() - failed_at
        seconds = await load.recovery_seconds(failed_at, RECOVERY_TIMEOUT)
        await load.wait_for_writes(WRITES_BETWEEN)
    counted = await count_writes(site.direct_url, load.acknowledged)
    return _outcome(load, counted) | {
        "redirect_seconds": redirected,
        "seconds": seconds,
        "reads": dict(sorted(readers.statuses.items())),
    }


def _outcome(load: WriteLoad, counted: Counter[str]) -> Data:
    return {
        "acknowledged": load.acknowledged.count,
        "lost": counted["lost"],
        "duplicated": counted["duplicated"],
        "writes": dict(sorted(load.statuses.items())),
        "stale_reads": len(load.stale_reads),
        "longest_pause": load.longest_pause,
    }
