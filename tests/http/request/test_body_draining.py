"""Refused uploads: the client sees the refusal, not a broken connection."""

import asyncio
import base64
import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

from fieldgate.http.request import body_draining
from fieldgate.http.request.body_draining import BodyDrainer, BodyStream
from fieldgate.http.request.body_parsing import Receive, max_upload_body
from fieldgate.overload import Overload
from tests.conftest import StartService
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess, free_port

IMPORTS = "/api/v2/imports/"
MAX_UPLOAD = 25 * 1024 * 1024
# Sizes of uploads in bytes, and how often each is sent. Small ones failed in about half of the cases.
SIZES = {6_000: 10, 1_000_000: 4, 30_000_000: 1, 40_000_000: 1}
NODE = Path(sys.executable).parent / "node"

Refusal = tuple[str, dict[str, str], int, int]  # path, headers, size of the file, expected status


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("served"), "--demo") as served:
        yield served


@pytest.fixture(scope="module")
def without_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service whose database cannot be reached."""
    port = free_port()
    command = [sys.executable, "-m", "granian", "--interface", "asgi", "--factory", "--port", str(port)]
    environment = {
        **os.environ,
        "FIELDGATE_DATABASE_URL": "postgresql://u:p@127.0.0.1:9/none",
        "FIELDGATE_DATA": str(tmp_path_factory.mktemp("none")),
    }
    process = subprocess.Popen(
        [*command, "fieldgate.app:create_app"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(TIMEOUT_SECONDS)


def _wait_for_port(port: int) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)


def refusals(served: ServerProcess, unavailable: str) -> Iterator[Refusal]:
    """Requests that are refused before their body is read, in all sizes."""
    token = {"Authorization": f"Token {served.printed_value('token')}"}
    for size, times in SIZES.items():
        cases: list[Refusal] = [
            (served.base_url + IMPORTS, {}, size, 401),
            (served.base_url + IMPORTS, {"Authorization": "Token wrong"}, size, 401),
            (served.base_url + "/nowhere", token, size, 404),
            (served.base_url + "/api/v2/permissions/", token, size, 405),
            (served.base_url + IMPORTS, {**token, "Accept": "image/png"}, size, 406),
            (unavailable + IMPORTS, {"Authorization": "Token x"}, size, 503),
        ]
        if size > MAX_UPLOAD:
            cases.append((served.base_url + IMPORTS, token, size, 413))
        if size > 64 * 1024:
            cases.append((served.base_url + "/get_auth_token", {}, size, 413))
        yield from (case for case in cases for _ in range(times))


def expected_statuses(cases: list[Refusal]) -> list[int]:
    return [case[3] for case in cases]


@pytest.fixture
def cases(served: ServerProcess, without_database: str) -> list[Refusal]:
    return list(refusals(served, without_database))


def test_httpx_sees_refusals(cases: list[Refusal]) -> None:
    with httpx.Client(timeout=TIMEOUT_SECONDS) as client:
        seen = [
            client.post(url, headers=headers, files={"file": ("form.xlsx", bytes(size))}).status_code
            for url, headers, size, _ in cases
        ]
    assert seen == expected_statuses(cases)


async def test_async_httpx_sees_refusals(cases: list[Refusal]) -> None:
    async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
        seen = []
        for url, headers, size, _ in cases:
            response = await client.post(url, headers=headers, files={"file": ("form.xlsx", bytes(size))})
            seen.append(response.status_code)
    assert seen == expected_statuses(cases)


async def test_aiohttp_sees_refusals(cases: list[Refusal]) -> None:
    async with aiohttp.ClientSession() as client:
        seen = []
        for url, headers, size, _ in cases:
            form = aiohttp.FormData()
            form.add_field("file", io.BytesIO(bytes(size)), filename="form.xlsx")
            async with client.post(url, headers=headers, data=form) as response:
                await response.read()
                seen.append(response.status)
    assert seen == expected_statuses(cases)


_NODE_SCRIPT = """
const cases = JSON.parse(process.argv[1]);
const seen = [];
for (const [url, headers, size] of cases) {
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(size)]), "form.xlsx");
  const response = await fetch(url, {method: "POST", headers, body: form});
  await response.text();
  seen.push(response.status);
}
console.log(JSON.stringify(seen));
"""


def test_node_fetch_sees_refusals(cases: list[Refusal]) -> None:
    command = [str(NODE), "--input-type=module", "-e", _NODE_SCRIPT, json.dumps(cases)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == expected_statuses(cases)


@pytest.mark.parametrize("header", ["Expect: 100-continue", "Expect:", "Transfer-Encoding: chunked"])
def test_curl_sees_refusals(cases: list[Refusal], header: str, tmp_path: Path) -> None:
    for url, headers, size, expected in dict.fromkeys((c[0], json.dumps(c[1]), *c[2:]) for c in cases):
        file = tmp_path / f"{size}.xlsx"
        file.write_bytes(bytes(size))
        options = [word for name, value in json.loads(headers).items() for word in ("--header", f"{name}: {value}")]
        command = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--header", header]
        finished = subprocess.run(
            [*command, *options, "--form", f"file=@{file}", url], capture_output=True, text=True, check=False
        )
        assert (finished.returncode, finished.stdout) == (0, str(expected)), url


class RawConnection:
    """A connection whose bytes a test writes itself."""

    def __init__(self, served: ServerProcess) -> None:
        self.socket = socket.create_connection(("127.0.0.1", served.port), timeout=TIMEOUT_SECONDS)
        self.reader = self.socket.makefile("rb")

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.close()
        self.socket.close()

    def send(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        head = "\r\n".join((f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""))
        self.socket.sendall(head.encode() + body)

    def read_head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the next response, which may be `100 Continue`."""
        status = int(self.reader.readline().split()[1])
        headers = {}
        while line := self.reader.readline().strip().decode():
            name, _, value = line.partition(": ")
            headers[name] = value
        return status, headers

    def read_response(self) -> tuple[int, dict[str, str]]:
        status, headers = self.read_head()
        self.reader.read(int(headers["content-length"]))
        return status, headers

    def is_closed(self) -> bool:
        """Whether the server closes the connection, in order: a reset would raise an error."""
        return self.reader.read(1) == b""


@pytest.mark.parametrize("body", [b"", bytes(100_000)], ids=["waits", "sends at once"])
def test_refusal_in_place_of_100_continue(served: ServerProcess, body: bytes) -> None:
    with RawConnection(served) as connection:
        connection.send("POST", IMPORTS, "Content-Length: 100000", "Expect: 100-continue", body=body)
        status, headers = connection.read_response()
        assert (status, headers["connection"]) == (401, "close")
        assert connection.is_closed()


def test_accepted_upload_gets_100_continue(served: ServerProcess) -> None:
    file = xlsx(survey=[["type", "name", "label"], ["text", "q", "Question"]])
    upload = httpx.Request("POST", served.base_url, files={"file": ("form.xlsx", file)})
    body = upload.read()
    with RawConnection(served) as connection:
        connection.send(
            "POST",
            IMPORTS,
            f"Authorization: Token {served.printed_value('token')}",
            f"Content-Type: {upload.headers['Content-Type']}",
            f"Content-Length: {len(body)}",
            "Expect: 100-continue",
        )
        assert connection.read_head() == (100, {})
        connection.socket.sendall(body)
        status, headers = connection.read_response()
        assert status == 201
        assert "connection" not in headers


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_connection_is_used_again_after_a_refusal(served: ServerProcess, method: str) -> None:
    with RawConnection(served) as connection:
        for _ in range(3):  # pipelined: all are sent before the first response is read
            connection.send(method, "/nowhere", "Content-Length: 200000", body=bytes(200_000))
            connection.send(
                method, "/nowhere", "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"
            )
        connection.send("GET", "/healthz")
        for _ in range(6):
            status, headers = connection.read_response()
            assert status == 404
            assert "connection" not in headers
        assert connection.read_response()[0] == 200


def test_ignored_body_is_read(served: ServerProcess) -> None:
    """An operation without a body reads only the first bytes of one."""
    credentials = base64.b64encode(f"demo:{served.printed_value('password')}".encode()).decode()
    with RawConnection(served) as connection:
        connection.send(
            "POST", "/token/", f"Authorization: Basic {credentials}", "Content-Length: 200000", body=bytes(200_000)
        )
        assert connection.read_response()[0] == 201
        connection.send("GET", "/healthz")
        assert connection.read_response()[0] == 200


def test_huge_body_is_refused_without_reading_it(served: ServerProcess) -> None:
    with RawConnection(served) as connection:
        connection.send("POST", IMPORTS, f"Content-Length: {10 * 1024**3}")
        status, headers = connection.read_response()
        assert (status, headers["connection"]) == (401, "close")
        assert connection.is_closed()


def test_endless_body_is_cut_off(served: ServerProcess) -> None:
    chunk = b"100000\r\n" + bytes(1024 * 1024) + b"\r\n"
    with RawConnection(served) as connection:
        connection.send("POST", IMPORTS, "Transfer-Encoding: chunked")
        sent = 0
        with pytest.raises(OSError, match=r"Broken pipe|reset by peer"):
            while sent < 200:
                connection.socket.sendall(chunk)
                sent += 1
        status, headers = connection.read_response()
        assert (status, headers["connection"]) == (401, "close")


# Limits. The tests shorten the times, so that they do not have to wait.


def stream_of(receive: Receive, **headers: str) -> BodyStream:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return BodyStream(receive, named, Overload(10, 1000))


def always(event: dict[str, Any]) -> Receive:
    async def receive() -> dict[str, Any]:
        return event

    return receive


async def _never() -> Any:
    await asyncio.Event().wait()


async def test_slow_body_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_SECONDS_BEFORE_RESPONSE", "MAX_SECONDS_AFTER_RESPONSE"):
        monkeypatch.setattr(body_draining, name, 0.01)
    drainer = BodyDrainer(0)
    body = stream_of(_never, content_length="5")
    assert not await drainer.drain(body)
    await drainer.linger(body)
    assert not body.is_finished


async def test_body_without_progress_is_408(start: StartService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.overload.NO_PROGRESS_SECONDS", 0.01)
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    headers = [(b"host", b"localhost"), (b"content-length", b"1000"), (b"accept-language", b"fr")]
    scope = {
        "type": "http", "method": "POST", "path": "/get_auth_token", "raw_path": b"/get_auth_token", "scheme": "http",
        "query_string": b"", "headers": headers, "client": ("127.0.0.1", 5000),
    }  # fmt: skip
    async with start() as service:
        await service.app(scope, _never, send)
        assert service.app.app_context.overload.requests == 0
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"trop lentement" in sent[1]["body"]


async def test_size_limit() -> None:
    sizes: list[int] = []

    async def endless() -> Any:
        sizes.append(1024 * 1024)
        return {"type": "http.request", "body": bytes(sizes[-1]), "more_body": True}

    limit = max_upload_body(3 * 1024 * 1024) + body_draining.MAX_BYTES_OVER_LIMIT
    assert not await BodyDrainer(3 * 1024 * 1024).drain(stream_of(endless, transfer_encoding="chunked"))
    assert limit < sum(sizes) <= limit + sizes[0]
    sizes.clear()
    assert not await BodyDrainer(3 * 1024 * 1024).drain(stream_of(endless, content_length=str(limit + 1)))
    assert not sizes
    assert not await BodyDrainer(3 * 1024 * 1024).drain(stream_of(endless, content_length=str(limit)))
    assert sizes


async def test_disconnected_client_ends_the_body() -> None:
    body = stream_of(always({"type": "http.disconnect"}), content_length="5")
    assert await BodyDrainer(0).drain(body)
    assert body.is_finished
