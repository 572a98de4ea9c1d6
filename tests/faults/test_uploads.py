"""Many uploads at the same time: memory is bounded, refused ones get 503, and no acknowledged one is lost."""

import asyncio
import io
import os
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess, children

IMPORTS = "/api/v2/imports/"
MAX_PEAK_MIB = 300


def peak_mib(pid: int) -> int:
    """The largest amount of memory that the process ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    raise AssertionError(pid)


async def upload_all(
    server: ServerProcess, token: str, count: int, size: int
) -> tuple[Counter[str], list[str]]:
    """Send files at the same time; return how often each status was seen, and the uids of acknowledged imports."""
    book = xlsx() + os.urandom(size)
    seen, acknowledged = Counter[str](), list[str]()
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS * 2)
    headers = {"Authorization": f"Token {token}"}

    async def upload(number: int) -> None:
        form = aiohttp.FormData()
        form.add_field("file", io.BytesIO(book), filename=f"file{number}.xlsx")
        try:
            async with client.post(server.base_url + IMPORTS, data=form) as response:
                seen[str(response.status)] += 1
                if response.status == 201:
                    acknowledged.append((await response.json())["uid"])
                else:
                    assert response.headers["Retry-After"]
        except aiohttp.ClientConnectionError as error:
            seen[type(error).__name__] += 1

    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers
    ) as client:
        await asyncio.gather(*(upload(number) for number in range(count)))
    return seen, acknowledged


@pytest.mark.parametrize(
    ("count", "size", "in_flight"),
    [(40, 1_000_000, "8MiB"), pytest.param(200, 5_000_000, "64MiB", marks=pytest.mark.nightly)],
)
async def test_parallel_uploads(count: int, size: int, in_flight: str, tmp_path: Path) -> None:
    limits = {"FIELDGATE_UPLOAD_BYTES_IN_FLIGHT": in_flight}
    with ServerProcess(tmp_path, "--demo", "--no-worker", environment=limits) as server:
        seen, acknowledged = await upload_all(server, server.printed_value("token"), count, size)
        peak = max(peak_mib(pid) for pid in children(server.process.pid))
        with server.client() as client:
            client.headers["Authorization"] = f"Token {server.printed_value('token')}"
            listed = client.get(IMPORTS, params={"limit": count}).json()["results"]
            stored = [record["uid"] for record in listed]
    assert sorted(stored) == sorted(acknowledged), "what was refused is not stored either"
    assert seen["201"] > 0
    assert {name for name in seen if name.isdigit()} <= {"201", "503"}
    broken = sum(number for name, number in seen.items() if not name.isdigit())
    assert broken <= seen["503"], "most of those that are refused see why"
    assert peak < MAX_PEAK_MIB
