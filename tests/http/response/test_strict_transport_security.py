"""`Strict-Transport-Security`: on responses over https only."""

import ipaddress
from typing import Any

import pytest

from tests.conftest import StartService

HSTS = "Strict-Transport-Security"
BEHIND_A_PROXY: dict[str, Any] = {"trusted_proxies": (ipaddress.ip_network("127.0.0.0/8"),)}
PATHS = (
    "/api/v2/permissions/",
    "/api/v2/permissions/?format=api",
    "/nowhere",
    "/api/v2/assets/",
    "/static/none",
)
HTTPS = {"X-Forwarded-Proto": "https"}


@pytest.mark.parametrize("path", PATHS)
async def test_behind_a_proxy_with_tls(start: StartService, path: str) -> None:
    async with start(**BEHIND_A_PROXY) as service:
        assert (await service.get(path, headers=HTTPS)).headers[HSTS] == "max-age=31536000"
        assert HSTS not in (await service.get(path, headers={"X-Forwarded-Proto": "http"})).headers
        assert HSTS not in (await service.get(path)).headers


async def test_other_methods_and_304(start: StartService) -> None:
    async with start(**BEHIND_A_PROXY) as service:
        found = await service.get("/api/v2/permissions/", headers=HTTPS)
        again = await service.get(
            "/api/v2/permissions/", headers={**HTTPS, "If-None-Match": found.headers["ETag"]}
        )
        assert (again.status_code, again.headers[HSTS]) == (304, "max-age=31536000")
        for method in ("HEAD", "OPTIONS", "POST"):
            assert (
                HSTS
                in (await service.request(method, "/api/v2/permissions/", headers=HTTPS)).headers
            )


async def test_not_over_plain_http_and_not_on_the_word_of_anybody(start: StartService) -> None:
    async with start() as service:
        for path in PATHS:
            assert HSTS not in (await service.get(path, headers=HTTPS)).headers


async def test_fixed_base_url(start: StartService) -> None:
    async with start(base_url="https://field.example", **BEHIND_A_PROXY) as service:
        assert HSTS in (await service.get("/api/v2/permissions/")).headers
        assert (
            HSTS
            not in (
                await service.get("/api/v2/permissions/", headers={"X-Forwarded-Proto": "http"})
            ).headers
        )
        assert HSTS not in (await service.get("/healthz")).headers, "any host is answered there"
    async with start(base_url="http://field.example") as service:
        assert HSTS not in (await service.get("/api/v2/permissions/")).headers


@pytest.mark.parametrize(
    ("max_age", "expected"), [(None, None), (0, "max-age=0"), (60, "max-age=60")]
)
async def test_setting(start: StartService, max_age: int | None, expected: str | None) -> None:
    async with start(hsts_max_age=max_age, **BEHIND_A_PROXY) as service:
        assert (await service.get("/api/v2/permissions/", headers=HTTPS)).headers.get(
            HSTS
        ) == expected
