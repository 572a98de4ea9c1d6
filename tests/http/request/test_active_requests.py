"""Requests in progress, and the limit of their number."""

import asyncio

import pytest

from fieldgate.http.operations import get
from fieldgate.http.request.active_requests import ActiveRequests
from fieldgate.i18n.messages import Message
from tests.conftest import StartService

CLIENT = ("127.0.0.1", "5000")


def test_requests_that_wait_for_their_body_do_not_count() -> None:
    active = ActiveRequests(1)
    active.by_client |= {CLIENT: {}, ("127.0.0.1", "5001"): {}}
    assert active.is_full
    active.waiting_for_client.add(CLIENT)
    assert not active.is_full


async def test_too_many_requests_in_flight(start: StartService) -> None:
    entered, finish = asyncio.Event(), asyncio.Event()

    @get("/slow/", response=dict[str, str], title=Message("Slow"), description=Message("Slow."), tag="Service")
    async def slow() -> dict[str, str]:
        entered.set()
        await finish.wait()
        return {}

    async with start(slow, max_requests_in_flight=1) as service:
        active = service.app.app_context.active_requests
        first = asyncio.create_task(service.get("/slow/"))
        await entered.wait()
        active.by_client["127.0.0.9", "1"] = {}  # requests of the test client all have the same port
        refused = await service.get("/api/v2/permissions/")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert (await service.get("/healthz")).status_code == 200
        assert (await service.get("/readyz")).status_code == 200
        del active.by_client["127.0.0.9", "1"]
        finish.set()
        assert (await first).status_code == 200
        assert (await service.get("/api/v2/permissions/")).status_code == 200
        assert not active.by_client


@pytest.mark.parametrize("path", ["/api/v2/permissions/", "/nothing/", "/healthz"])
async def test_finished_requests_are_forgotten(start: StartService, path: str) -> None:
    async with start() as service:
        await service.get(path)
        assert not service.app.app_context.active_requests.by_client
