"""Health checks."""

import msgspec
import pytest

from fieldgate import __version__
from fieldgate.errors import ServiceUnavailable
from fieldgate.http.health import Readiness, readyz
from tests.conftest import Service


class FixedCheck:
    def __init__(self, is_ready: bool) -> None:
        self._is_ready = is_ready

    async def is_ready(self) -> bool:
        return self._is_ready


async def rebuild_progress() -> dict[str, object]:
    return {"rebuild": {"done": 5, "total": 10}}


async def no_details() -> dict[str, object]:
    return {}


async def test_readyz_of_a_service(service: Service) -> None:
    response = await service.get("/readyz")
    assert response.content == b'{"status":"ready","version":"%s"}' % __version__.encode()


async def test_readyz_reports_details() -> None:
    response = await readyz.handler(Readiness(FixedCheck(True), details=(no_details, rebuild_progress)))
    assert msgspec.json.decode(response.body) == {
        "status": "ready",
        "version": __version__,
        "rebuild": {"done": 5, "total": 10},
    }


async def test_readyz_without_readiness_is_503() -> None:
    with pytest.raises(ServiceUnavailable):
        await readyz.handler(Readiness(FixedCheck(False), details=(rebuild_progress,)))
