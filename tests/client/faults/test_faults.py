"""Events through a proxy that damages traffic: complete and equal to what was loaded, or a clear exception."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from fieldgate_client import AsyncClient, Client
from fieldgate_client.errors import ConnectionFailed, FieldgateError, ServerFailed, TooManyRequests, UnexpectedResponse

from tests.client.faults.event_server import CYCLONE, event_server, expected_order, loaded_event
from tests.client.faults.fault_proxy import FAULTS, FaultProxy
from tests.client.quick_retries import QUICK
from tests.processes import ServerProcess

pytestmark = pytest.mark.nightly

EVENTS = 5000
CYCLONES = 2000
SEVERE = 200
# What a run through the proxy can end with. Anything else is a fault of the client.
CLEAR = (ConnectionFailed, ServerFailed, TooManyRequests, UnexpectedResponse)
PAGE_SIZES = (1, 7, 50, 1000, 5000)
SEEDS = 200
MIN_MESSAGE_CHARS = 15


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with event_server(tmp_path_factory.mktemp("faults"), EVENTS) as started:
        yield started


def check_records(raw_records: list[msgspec.Raw], numbers: range) -> None:
    """Every record once, in the order of the list, with the values that were loaded."""
    records = [msgspec.json.decode(record) for record in raw_records]
    assert [record["id"] for record in records] == expected_order(numbers)
    for record in records:
        loaded = loaded_event(record["id"])
        assert {name: record[name] for name in loaded} == loaded


async def fetch(
    url: str, page_size: int, concurrency: int, wanted: int, received: list[msgspec.Raw] | None = None
) -> list[msgspec.Raw]:
    """All records of a list with this number of events; `received` also has those before an exception."""
    filters: dict[str, Any] = {CYCLONES: {"dtype": CYCLONE}, SEVERE: {"ifrc_severity_level": 2}}.get(wanted, {})
    received = [] if received is None else received
    async with AsyncClient(url, page_size=page_size, concurrency=concurrency, options=QUICK) as client:
        async for page in client.events(**filters).raw_pages():
            received += page
    return received


async def run_seed(server: ServerProcess, seed: int, wanted: int) -> tuple[str, Counter[str]]:
    """One run; page size, concurrency and the rate of faults depend on the seed. Returns how it ended."""
    page_size = PAGE_SIZES[seed % len(PAGE_SIZES)] if wanted > SEVERE else (1, 7, 50)[seed % 3]
    if page_size == 1:
        wanted = SEVERE  # a test of its own reads 2,000 pages of one record
    rate = (0.02, 0.1, 0.3, 0.6)[seed // 5 % 4]
    received: list[msgspec.Raw] = []
    with FaultProxy(server.port, seed, rate) as proxy:
        try:
            await fetch(proxy.base_url, page_size, (1, 8)[seed % 2], wanted, received)
        except CLEAR as error:
            failure = error
        else:
            check_records(received, range(1, wanted + 1))
            return "complete", proxy.happened
    ids = [msgspec.json.decode(record)["id"] for record in received]
    assert len(ids) == len(set(ids)) < wanted
    assert len(str(failure)) > MIN_MESSAGE_CHARS
    return type(failure).__name__, proxy.happened


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_every_page_size_without_faults(server: ServerProcess, page_size: int, concurrency: int) -> None:
    wanted = EVENTS if page_size >= 1000 else SEVERE
    with FaultProxy(server.port, seed=page_size, rate=0) as proxy:
        check_records(await fetch(proxy.base_url, page_size, concurrency, wanted), range(1, wanted + 1))
        assert sum(proxy.happened.values()) <= wanted / min(page_size, 1000) + 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_alone(server: ServerProcess, fault: str) -> None:
    """One request in three has this fault: the list is complete after retries."""
    with FaultProxy(server.port, seed=FAULTS.index(fault), rate=0.33, faults=(fault,)) as proxy:
        check_records(await fetch(proxy.base_url, 7, 4, SEVERE), range(1, SEVERE + 1))
        assert proxy.happened[fault] > 0


async def test_a_fault_that_stays_is_a_clear_exception(server: ServerProcess) -> None:
    for fault in FAULTS:
        if fault in ("slow", "answer sent twice", "answer to another request"):
            continue
        with FaultProxy(server.port, seed=1, rate=1, faults=(fault,)) as proxy:
            with pytest.raises(CLEAR) as failed:
                await fetch(proxy.base_url, 50, 4, SEVERE)
            assert isinstance(failed.value, FieldgateError)
            assert len(str(failed.value)) > MIN_MESSAGE_CHARS
            assert proxy.happened[fault] <= 8 * 4, "attempts are bounded"


@pytest.mark.parametrize("seed", [0, 5, 10, 11, 16, 19])
async def test_seeds(server: ServerProcess, seed: int) -> None:
    """Each page size and each rate of faults."""
    await run_seed(server, seed, SEVERE)


def test_the_blocking_client(server: ServerProcess) -> None:
    with (
        FaultProxy(server.port, seed=5, rate=0.2) as proxy,
        Client(proxy.base_url, page_size=50, options=QUICK) as client,
    ):
        found = [record for page in client.events(ifrc_severity_level=2).raw_pages() for record in page]
        check_records(found, range(1, SEVERE + 1))
        assert len(client.events()) == EVENTS
        assert client.events()[EVENTS - 1].id == expected_order(range(1, EVENTS + 1))[-1]


@pytest.mark.parametrize("portion", range(20))
async def test_seeds_in_the_long_form(server: ServerProcess, portion: int) -> None:
    """200 seeds with 5,000 events. The outcomes are printed with -s."""
    for seed in range(portion * SEEDS // 20, (portion + 1) * SEEDS // 20):
        outcome, happened = await run_seed(server, seed, EVENTS)
        harmless = sum(count for kind, count in happened.items() if kind not in FAULTS)
        print(f"seed {seed}: {outcome}, {sum(happened.values())} requests, {sum(happened.values()) - harmless} faults")


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_two_thousand_pages_of_one_record(server: ServerProcess, concurrency: int) -> None:
    with FaultProxy(server.port, seed=3, rate=0.02) as proxy:
        check_records(await fetch(proxy.base_url, 1, concurrency, CYCLONES), range(1, CYCLONES + 1))


async def test_a_hundred_thousand_events(tmp_path_factory: pytest.TempPathFactory) -> None:
    number = 100_000
    with event_server(tmp_path_factory.mktemp("many"), number) as server:
        for page_size, concurrency in ((1000, 8), (5000, 1)):
            with FaultProxy(server.port, seed=page_size, rate=0.05) as proxy:
                check_records(await fetch(proxy.base_url, page_size, concurrency, number), range(1, number + 1))
