"""Events through a proxy that damages traffic: complete and equal to what was loaded, or a clear exception."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from fieldgate_client import AsyncClient, Client
from fieldgate_client.errors import (
    ConnectionFailed,
    ServerFailed,
    TooManyRequests,
    UnexpectedResponse,
)

from tests.client.faults.fault_proxy import FAULTS, FaultProxy
from tests.client.quick_retries import QUICK
from tests.processes import ServerProcess, run_command

pytestmark = pytest.mark.nightly

EVENTS = 200
# What a run through the proxy can end with. Anything else is a fault of the client.
CLEAR = (ConnectionFailed, ServerFailed, TooManyRequests, UnexpectedResponse)


def loaded_event(id_: int) -> dict[str, Any]:
    """What is loaded, as the server returns it. The newest comes first."""
    return {
        "id": id_,
        "name": f"Event {id_} – عاصفة",
        "summary": f"<p>{id_}</p>",
        "num_affected": id_ * 7 % 1000,
        "disaster_start_date": f"{2010 + id_ // 100}-{1 + id_ % 100 // 28:02}-{1 + id_ % 100 % 28:02}T00:00:00Z",
    }


EXPECTED = [loaded_event(id_) for id_ in range(EVENTS, 0, -1)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("faults")
    lines = msgspec.json.encode(EXPECTED).decode()
    done = run_command("events", "load", "-", "--visibility", "public", data=folder, stdin=lines)
    assert f"created {EVENTS}, changed 0, unchanged 0, failed 0" in done.stdout, done.stderr
    with ServerProcess(folder, "--no-worker") as started:
        yield started


async def fetch(url: str, page_size: int, concurrency: int) -> list[dict[str, Any]]:
    async with AsyncClient(
        url, page_size=page_size, concurrency=concurrency, options=QUICK
    ) as client:
        records = [record async for record in client.list("event/")]
    return [{name: record[name] for name in EXPECTED[0]} for record in records]


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_alone(server: ServerProcess, fault: str) -> None:
    """One request in three has this fault: the list is complete after retries."""
    with FaultProxy(server.port, seed=FAULTS.index(fault), rate=0.33, faults=(fault,)) as proxy:
        assert await fetch(proxy.base_url, 7, 4) == EXPECTED
        assert proxy.happened[fault] > 0


@pytest.mark.parametrize(
    "fault", sorted({*FAULTS} - {"slow", "answer sent twice", "answer to another request"})
)
async def test_a_fault_that_stays_is_a_clear_exception(server: ServerProcess, fault: str) -> None:
    with FaultProxy(server.port, seed=1, rate=1, faults=(fault,)) as proxy:
        with pytest.raises(CLEAR) as failed:
            await fetch(proxy.base_url, 50, 4)
        assert len(str(failed.value)) > 15
        assert proxy.happened[fault] <= 8 * 4, "attempts are bounded"


@pytest.mark.parametrize("seed", range(24))
async def test_all_faults_together(server: ServerProcess, seed: int) -> None:
    rate = (0.02, 0.1, 0.3, 0.6)[seed % 4]
    with FaultProxy(server.port, seed, rate) as proxy:
        try:
            assert await fetch(proxy.base_url, (1, 7, 50)[seed % 3], (1, 8)[seed % 2]) == EXPECTED
        except CLEAR:
            assert rate == 0.6, "so many faults can outlast the attempts"


def test_the_blocking_client(server: ServerProcess) -> None:
    with (
        FaultProxy(server.port, seed=5, rate=0.2) as proxy,
        Client(proxy.base_url, page_size=50, options=QUICK) as client,
    ):
        assert [each.id for each in client.events()] == [*range(EVENTS, 0, -1)]
        assert len(client.events()) == EVENTS
        assert client.events()[EVENTS - 1].id == 1
