"""Errors of handlers, of the database and of clients: no stack traces, no truncated responses."""

import ipaddress
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from fieldgate.app import build_app
from fieldgate.http.health import Health
from fieldgate.http.operations import Operation, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.metrics.access_log import JSONFormatter
from fieldgate.settings import Settings
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD


def broken() -> Operation:
    @Routes(tag="x", scope=Scope.NONE).get(
        "/api/v2/broken/", response=Health, title=Message("Ready"), description=Message("Ready")
    )
    async def broken_detail() -> Health:
        raise RuntimeError("the secret inside")

    return broken_detail


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", "Something went wrong on our side. It has been noted; please try again later."),
        (
            "fr",
            "Une erreur s'est produite de notre côté. Elle a été notée\u00a0; veuillez réessayer plus tard.",
        ),
    ],
)
async def test_internal_error_hides_its_cause(
    start: StartService, caplog: pytest.LogCaptureFixture, language: str, expected: str
) -> None:
    async with start(broken()) as service:
        with caplog.at_level(logging.ERROR):
            answer = await service.get("/api/v2/broken/", headers={"Accept-Language": language})
    assert answer.status_code == 500
    assert answer.json() == {"detail": expected}
    record = next(record for record in caplog.records if record.name == "fieldgate.error")
    assert vars(record)["request_id"] == answer.headers["X-Request-ID"]
    assert "the secret inside" in caplog.text, "the log has it"


async def test_not_ready_without_the_schema(tmp_path: Path) -> None:
    app = build_app(Settings(data=tmp_path, access_log=False))
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE_URL) as client,
    ):
        answer = await client.get("/readyz")
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "30"
        assert answer.json() == {
            "detail": "The database is missing, so nothing can be read or saved. Please try again later.",
            "reason": "missing",
        }
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/api/v2/permissions/")).status_code == 200, (
            "the catalogue needs no database"
        )


async def test_unreachable_database_is_503(tmp_path: Path) -> None:
    app = build_app(
        Settings(database_url="postgresql://u:p@127.0.0.1:9/none", data=tmp_path, access_log=False)
    )
    async with (
        app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE_URL) as client,
    ):
        assert (await client.get("/readyz")).status_code == 503
        answer = await client.get("/api/v2/permissions/", headers={"Authorization": "Token x"})
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]


# Prints the status of an answer that needs the database, where no more files can be opened.
_NO_FILES = """
import asyncio, os, resource, sys
from pathlib import Path
import httpx
from fieldgate.app import build_app
from fieldgate.settings import Settings

async def ask():
    app = build_app(Settings(data=Path(sys.argv[1]), access_log=False))
    async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=sys.argv[2]) as client:
        await client.get("/healthz")
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, most))
        print((await client.get("/api/v2/permissions/", headers={"Authorization": "Token x"})).status_code)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

asyncio.run(ask())
"""


def test_lack_of_file_descriptors_is_503(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _NO_FILES, str(tmp_path), BASE_URL]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60, text=True)
    assert ended.stdout == "503\n", ended.stderr


async def test_incomplete_body_is_400(service: Service) -> None:
    events: list[Any] = [
        {"type": "http.request", "body": b'{"user', "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return events.pop(0)

    async def send(event: Any) -> None:
        sent.append(event)

    scope = {
        "type": "http", "method": "POST", "path": "/get_auth_token", "raw_path": b"/get_auth_token",
        "query_string": b"", "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "scheme": "http", "client": None,
    }  # fmt: skip
    await service.app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert sent[1]["body"] == b'{"detail":"The body ended before it was complete."}'


async def test_request_id_is_accepted_from_a_trusted_proxy_only(start: StartService) -> None:
    async with start() as service:
        answer = await service.get("/healthz", headers={"X-Request-ID": "mine"})
        assert answer.headers["X-Request-ID"] != "mine"
    async with start(trusted_proxies=(ipaddress.ip_network("127.0.0.1"),)) as service:
        for given, is_kept in (("abc-123", True), ("a b", False), ("x" * 129, False), ("é", False)):
            answer = await service.get(
                "/healthz", headers={"X-Request-ID": given.encode("latin-1")}
            )
            assert (answer.headers["X-Request-ID"] == given) == is_kept


async def test_metrics_are_limited_to_allowed_addresses(start: StartService) -> None:
    async with start(metrics_from=(ipaddress.ip_network("192.0.2.0/24"),)) as service:
        assert (await service.get("/metrics")).status_code == 403
    loopback = (ipaddress.ip_network("127.0.0.1"),)
    async with start(trusted_proxies=loopback) as service:
        assert (await service.get("/metrics")).status_code == 200
        for hop in ("192.0.2.1", "192.0.2.1:5555", "[2001:db8::1]:80", "nonsense"):
            assert (
                await service.get("/metrics", headers={"X-Forwarded-For": hop})
            ).status_code == 403
    async with start() as service:
        await service.request("FOO" * 10, "/nowhere")
        text = (await service.get("/metrics")).text
        assert 'fieldgate_requests_total{method="OTHER",path="(unknown)",status="404"} 1.0' in text


async def test_access_log_line(
    start: StartService, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    async with start(access_log=True) as service:
        await service.get("/nowhere/%0a%22?secret=1")
        username, _ = await service.create_user()
        refused = await service.client.delete("/token/", auth=httpx.BasicAuth(username, PASSWORD))
    line = capfdbinary.readouterr().err
    assert refused.status_code == 404
    assert f'"user":"{username}"'.encode() in line, "who was refused is known too"
    assert b'"path":"/nowhere/%0a%22","status":404' in line
    assert b"secret" not in line


def test_log_records_are_json_lines() -> None:
    try:
        raise RuntimeError("inside")
    except RuntimeError:
        trace = sys.exc_info()
    record = logging.LogRecord(
        "fieldgate.error", logging.ERROR, "x.py", 1, "failed\n%s", ('"',), trace
    )
    record.request_id = "abc"
    line = JSONFormatter().format(record)
    assert "\n" not in line
    entry = json.loads(line)
    assert (entry["level"], entry["event"], entry["logger"], entry["request_id"]) == (
        "error",
        'failed\n"',
        "fieldgate.error",
        "abc",
    )
    assert "RuntimeError: inside" in entry["trace"]
