"""One address asks for many large pages and lists at the same time. Others are answered meanwhile."""

import asyncio
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from tests.faults.test_uploads import MAX_PEAK_MIB, peak_mib
from tests.processes import TIMEOUT_SECONDS, ServerProcess, children

EVENTS = "/api/v2/event/"
COUNT = 200
HTML, JSON = "text/html", "application/json"


def session_from(address: str, accept: str = JSON) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, local_addr=(address, 0)),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS * 2),
        headers={"Accept": accept},
    )


async def ask_for_all(server: ServerProcess, accept: str) -> Counter[int]:
    """Ask for large parts of the event list, all different, at the same time."""
    statuses = Counter[int]()

    async def ask(offset: int) -> None:
        async with client.get(f"{server.base_url}{EVENTS}?limit=1000&offset={offset}") as response:
            await response.read()
            statuses[response.status] += 1
            assert response.status == 200 or response.headers["Retry-After"]

    async with session_from("127.0.0.2", accept) as client:
        await asyncio.gather(*(ask(offset) for offset in range(COUNT)))
    return statuses


async def read_until(server: ServerProcess, done: asyncio.Event) -> Counter[int]:
    """Read small lists and health checks from another address; return their statuses."""
    statuses, number = Counter[int](), 0
    async with session_from("127.0.0.3") as client:
        while not done.is_set():
            number += 1
            for path in (f"{EVENTS}?limit=50&offset={number}", "/healthz"):
                async with client.get(server.base_url + path) as response:
                    await response.read()
                    statuses[response.status] += 1
    return statuses


@pytest.mark.parametrize("accept", [HTML, JSON])
async def test_large_reads_of_one_address(accept: str, tmp_path: Path) -> None:
    with ServerProcess(
        tmp_path, "--demo", "--no-worker", environment={"FIELDGATE_ACCESS_LOG": "false"}
    ) as server:
        done = asyncio.Event()
        reader = asyncio.create_task(read_until(server, done))
        statuses = await ask_for_all(server, accept)
        done.set()
        read = await reader
        peak = max(peak_mib(pid) for pid in children(server.process.pid))
    assert set(read) == {200}
    assert set(statuses) == {200, 503}, "those beyond the share of an address are refused"
    assert peak < MAX_PEAK_MIB
