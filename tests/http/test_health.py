"""Health checks."""

import asyncio

import pytest

from fieldgate import __version__
from fieldgate.db.outages import Outage
from fieldgate.http.health import NotReady, Readiness, readyz
from fieldgate.i18n.languages import Language
from tests.conftest import Service


class FixedCheck:
    def __init__(self, reason: Outage | None) -> None:
        self._reason = reason

    async def unready_reason(self) -> Outage | None:
        return self._reason


async def test_readyz_of_a_service(service: Service) -> None:
    response = await service.get("/readyz")
    assert response.content == b'{"status":"ready","version":"%s"}' % __version__.encode()


async def test_metrics_tell_whether_the_service_is_ready(service: Service) -> None:
    assert "\nfieldgate_ready 1.0\n" in (await service.get("/metrics")).text
    assert await Readiness(FixedCheck(None)).is_ready()
    assert not await Readiness(FixedCheck(Outage.MISSING)).is_ready()


async def test_readyz_without_readiness_is_503() -> None:
    with pytest.raises(NotReady) as raised:
        await readyz.handler(Readiness(FixedCheck(None), FixedCheck(Outage.READ_ONLY)))
    assert raised.value.status == 503
    assert raised.value.body(Language.ENGLISH) == {
        "detail": "The database is read-only at the moment, so nothing can be saved. Please try again later.",
        "reason": "read_only",
    }


async def test_parallel_requests_share_a_check() -> None:
    class CountedCheck(FixedCheck):
        count = 0

        async def unready_reason(self) -> Outage | None:
            self.count += 1
            await asyncio.sleep(0)
            return await super().unready_reason()

    check = CountedCheck(None)
    readiness = Readiness(check)
    await asyncio.gather(*(readiness.check() for _ in range(50)))
    assert check.count == 1
