"""Rate limits against the running service: who is refused, who is not, and what a refusal says."""

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx
import pytest
from fieldgate_client import Client

from fieldgate.accounts.store import IssuedBy
from fieldgate.http.request.request_body import IncomingBody
from fieldgate.i18n.languages import Language
from fieldgate.identity import TokenLimits
from fieldgate.settings import LOOPBACK, RateQuota
from tests.conftest import Service, StartService
from tests.processes import ServerProcess

PERMISSIONS = "/api/v2/permissions/"
EVENTS = "/api/v2/event/"
# A window so long that nothing comes back during a test.
FEW, MANY = RateQuota(10, 3600), RateQuota(1000, 3600)
LOW_RATES = {
    "read_rate": MANY,
    "write_rate": FEW,
    "address_read_rate": FEW,
    "address_write_rate": FEW,
}


def low_limits(start: StartService, **chosen: object) -> AbstractAsyncContextManager[Service]:
    """A service behind a proxy on this machine, which tells the addresses of clients."""
    return start(trusted_proxies=LOOPBACK, **{**LOW_RATES, **chosen})


def from_address(address: str, **headers: str) -> dict[str, str]:
    return {"X-Forwarded-For": address, **headers}


async def send_many(
    service: Service, count: int, headers: dict[str, str], path: str = PERMISSIONS
) -> Counter[int]:
    return Counter([(await service.get(path, headers=headers)).status_code for _ in range(count)])


async def test_an_anonymous_client_is_refused_and_others_are_not(start: StartService) -> None:
    async with low_limits(start) as service:
        token = await service.create_token()
        attacker = from_address("203.0.113.7")
        statuses = await send_many(service, 40, attacker)
        assert statuses == {200: 10, 429: 30}
        for blank in (
            {"Authorization": ""},
            {"Authorization": " "},
            {"Cookie": ""},
            {"Cookie": "a=b"},
        ):
            assert await send_many(service, 3, {**attacker, **blank}) == {429: 3}, "no credentials"
        assert await send_many(service, 5, from_address("203.0.113.8")) == {200: 5}
        same_office = from_address("203.0.113.7", Authorization=f"Token {token}")
        assert await send_many(service, 20, same_office) == {200: 20}, (
            "a user behind the same address"
        )
        for path in ("/healthz", "/readyz"):
            assert (await service.get(path, headers=attacker)).status_code == 200
        assert (await service.get("/metrics")).status_code == 200


@pytest.mark.parametrize("language", Language)
async def test_what_a_refusal_says(start: StartService, language: Language) -> None:
    async with low_limits(start, address_read_rate=RateQuota(1, 3600)) as service:
        headers = from_address("203.0.113.7", **{"Accept-Language": language.value})
        first = await service.get(PERMISSIONS, headers=headers)
        assert first.headers["RateLimit"].startswith('"address-reads";r=0;t=3')
        refused = await service.get(PERMISSIONS, headers=headers)
        seconds = refused.headers["Retry-After"]
        assert 3500 < int(seconds) <= 3600
        assert refused.headers["RateLimit"] == f'"address-reads";r=0;t={seconds}'
        assert refused.headers["RateLimit-Policy"] == '"address-reads";q=1;w=3600'
        assert {"RateLimit", "RateLimit-Policy"} <= set(
            refused.headers["Access-Control-Expose-Headers"].split(", ")
        )
        assert refused.headers["Content-Language"] == language.value
        detail = refused.json()["detail"]
        assert seconds in detail
        assert ("Too many requests" in detail) == (language is Language.ENGLISH)
        page = await service.get(PERMISSIONS, headers={**headers, "Accept": "text/html"})
        later = page.headers["Retry-After"]
        assert page.status_code == 429
        assert 3500 < int(later) <= int(seconds), "time goes on meanwhile"
        assert page.headers["Content-Type"].startswith("text/html")
        assert later in page.text
        metrics = (await service.get("/metrics")).text
        assert 'fieldgate_rate_limited_total{policy="address-reads"} 2.0' in metrics


async def test_a_refused_upload_is_not_parsed(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise AssertionError("the body is read")

    async with low_limits(start, write_rate=RateQuota(1, 3600)) as service:
        headers = from_address("203.0.113.7", Authorization=f"Token {await service.create_token()}")
        files = {"file": ("form.xlsx", b"not a workbook")}
        assert (
            await service.client.post("/api/v2/imports/", headers=headers, files=files)
        ).status_code == 400
        monkeypatch.setattr(IncomingBody, "read_fields", refuse)
        assert (
            await service.client.post("/api/v2/imports/", headers=headers, files=files)
        ).status_code == 429
        assert (await service.get("/api/v2/imports/", headers=headers)).status_code == 200, (
            "reads are another quota"
        )


async def test_unchanged_responses_cost_a_tenth(start: StartService) -> None:
    async with low_limits(start) as service:
        headers = from_address("203.0.113.7")
        etag = (await service.get(PERMISSIONS, headers=headers)).headers["ETag"]
        assert await send_many(service, 90, {**headers, "If-None-Match": etag}) == {304: 90}
        assert (await service.get(PERMISSIONS, headers=headers)).status_code == 429
        other = from_address("203.0.113.8", **{"If-None-Match": '"another"'})
        assert await send_many(service, 20, other) == {200: 10, 429: 10}, (
            "a condition that is not met saves nothing"
        )


async def test_exports_cost_more(start: StartService) -> None:
    async with low_limits(start, address_read_rate=RateQuota(45, 3600)) as service:
        assert await send_many(service, 4, from_address("203.0.113.7"), f"{EVENTS}export/") == {
            200: 2,
            429: 2,
        }


async def test_invalid_credentials_are_refused_before_they_are_looked_up(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with low_limits(start) as service:
        good = from_address("203.0.113.7", Authorization=f"Token {await service.create_token()}")
        assert (await service.get(PERMISSIONS, headers=good)).status_code == 200
        bad = from_address("203.0.113.7", Authorization="Token wrong")
        assert await send_many(service, 15, bad) == {401: 10, 429: 5}
        session = from_address("203.0.113.9", Cookie="fieldgate_session=wrong")
        assert await send_many(service, 15, session) == {200: 10, 429: 5}
        assert (await service.get(PERMISSIONS, headers=good)).status_code == 200, (
            "those of a colleague still work"
        )
        assert await send_many(service, 3, from_address("203.0.113.7")) == {200: 3}, (
            "and requests without any"
        )

        async def refuse(*_: object) -> None:
            raise AssertionError("looked up")

        monkeypatch.setattr(service.store.__class__, "find_token_holder", refuse)
        assert (await service.get(PERMISSIONS, headers=bad)).status_code == 429


async def test_a_token_that_is_not_for_the_address_counts_as_a_wrong_one(
    start: StartService,
) -> None:
    async with low_limits(start) as service:
        await service.create_token(username="amina")
        amina = await service.store.find_any("amina")
        assert amina is not None
        limits = TokenLimits(networks=("203.0.113.8/32",))
        created = await service.store.create_token(amina.id, IssuedBy.COMMAND, None, limits=limits)
        authorization = f"Token {created.value}"
        assert await send_many(
            service, 15, from_address("203.0.113.7", Authorization=authorization)
        ) == {
            403: 10,
            429: 5,
        }
        assert await send_many(
            service, 3, from_address("203.0.113.8", Authorization=authorization)
        ) == {200: 3}


async def test_default_limits_do_not_apply_to_this_machine(start: StartService) -> None:
    async with start(**LOW_RATES) as service:
        assert await send_many(service, 30, {}) == {200: 30}


def test_each_process_has_a_limit_and_a_walk_completes(tmp_path: Path) -> None:
    """Two processes admit two quotas at most; the client library waits as it is told, and misses nothing."""
    quota = 200
    environment = {
        "FIELDGATE_READ_RATE": "4/1s",
        "FIELDGATE_ADDRESS_READ_RATE": f"{quota}/1h",
        "FIELDGATE_RATE_LIMIT_EXEMPT": "none",
        "FIELDGATE_TRUSTED_PROXIES": "127.0.0.1",
    }
    with ServerProcess(
        tmp_path, "--demo", "--workers", "2", "--no-worker", environment=environment
    ) as server:
        statuses = asyncio.run(send_at_once(server.base_url, 3 * quota))
        with Client(server.base_url, token=server.printed_value("token"), page_size=100) as client:
            events = client.events()
            assert len({event.id for event in events}) == len(events) > 1900
        with server.client() as metrics:
            assert (
                'fieldgate_rate_limited_total{policy="address-reads"}'
                in metrics.get("/metrics").text
            )
    assert quota <= statuses[200] <= 2 * quota
    assert statuses[200] + statuses[429] == 3 * quota


async def send_at_once(base_url: str, count: int) -> Counter[int]:
    """Send requests of one address on many connections, so that all processes get some."""
    statuses: Counter[int] = Counter()

    async def send(number: int) -> None:
        async with httpx.AsyncClient(
            base_url=base_url, headers=from_address("203.0.113.7"), timeout=60
        ) as client:
            for _ in range(number):
                statuses[(await client.get(PERMISSIONS)).status_code] += 1

    await asyncio.gather(*(send(count // 20) for _ in range(20)))
    return statuses
