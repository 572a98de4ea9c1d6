"""Health checks."""

import asyncio
from ipaddress import ip_network

import pytest

from fieldgate import __version__
from fieldgate.db.outages import Outage
from fieldgate.http.health import NotReady, Readiness
from fieldgate.i18n.languages import Language
from tests.conftest import Service, StartService


class FixedCheck:
    def __init__(self, reason: Outage | None) -> None:
        self._reason = reason

    async def unready_reason(self) -> Outage | None:
        return self._reason


@pytest.mark.parametrize(("path", "status"), [("/readyz", "ready"), ("/healthz", "alive")])
async def test_version_is_told_to_few(start: StartService, path: str, status: str) -> None:
    alone, with_version = {"status": status}, {"status": status, "version": __version__}
    async with start(trusted_proxies=(ip_network("127.0.0.1"),)) as service:
        tokens = [
            await service.create_token(is_superuser=is_superuser) for is_superuser in (True, False)
        ]
        root, user = ({"Authorization": f"Token {token}"} for token in tokens)
        far = {"X-Forwarded-For": "203.0.113.7"}
        assert (await service.get(path)).json() == with_version, "on this machine"
        assert (await service.get(path, headers=far)).json() == alone
        assert (await service.get(path, headers={**far, **user})).json() == alone
        assert (await service.get(path, headers={**far, **root})).json() == with_version
        assert (
            await service.get(path, headers={"X-Forwarded-For": "127.0.0.1"})
        ).json() == with_version
    async with start() as service:  # an unknown proxy
        assert (await service.get(path, headers={"X-Forwarded-For": "127.0.0.1"})).json() == alone


async def test_metrics_tell_whether_the_service_is_ready(service: Service) -> None:
    assert "\nfieldgate_ready 1.0\n" in (await service.get("/metrics")).text
    assert await Readiness(FixedCheck(None)).is_ready()
    assert not await Readiness(FixedCheck(Outage.MISSING)).is_ready()


async def test_readyz_without_readiness_is_503() -> None:
    with pytest.raises(NotReady) as raised:
        await Readiness(FixedCheck(None), FixedCheck(Outage.READ_ONLY)).check()
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
