"""Refused uploads: the client sees the refusal, not a broken connection."""

import asyncio
import base64
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import StartService, nightly_only
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess

IMPORTS = "/api/v2/imports/"
MAX_UPLOAD = 25 * 1024 * 1024
# Sizes of uploads in bytes, and how often each is sent. Small ones failed in about half of the cases.
SIZES = {6_000: 10, 1_000_000: 4, 30_000_000: 1}

Refusal = tuple[str, dict[str, str], int, int]  # path, headers, size of the file, expected status


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("served"), "--demo", "--no-worker") as served:
        yield served


def refusals(served: ServerProcess, size: int) -> list[Refusal]:
    """Requests that are refused before their body is read."""
    token = {"Authorization": f"Token {served.printed_value('token')}"}
    cases: list[Refusal] = [
        (IMPORTS, {}, size, 401),
        (IMPORTS, {"Authorization": "Token wrong"}, size, 401),
        ("/nowhere", token, size, 404),
        ("/api/v2/permissions/", token, size, 405),
        (IMPORTS, {**token, "Accept": "image/png"}, size, 406),
    ]
    if size > MAX_UPLOAD:
        cases += [(IMPORTS, token, size, 413), ("/get_auth_token", {}, size, 413)]
    return cases


def test_httpx_sees_refusals(served: ServerProcess) -> None:
    with served.client() as client:
        for size, times in SIZES.items():
            for path, headers, _, expected in refusals(served, size) * times:
                sent = client.post(
                    path, headers=headers, files={"file": ("form.xlsx", bytes(size))}
                )
                assert sent.status_code == expected, path


@pytest.mark.parametrize(
    "header", ["Expect: 100-continue", *nightly_only("Expect:", "Transfer-Encoding: chunked")]
)
def test_curl_sees_refusals(served: ServerProcess, header: str, tmp_path: Path) -> None:
    for path, headers, size, expected in [
        case for each in SIZES for case in refusals(served, each)
    ]:
        file = tmp_path / f"{size}.xlsx"
        file.write_bytes(bytes(size))
        options = [
            word for name, value in headers.items() for word in ("--header", f"{name}: {value}")
        ]
        command = [
            "curl",
            "--silent",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
            "--header",
            header,
        ]
        finished = subprocess.run(
            [*command, *options, "--form", f"file=@{file}", served.base_url + path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (finished.returncode, finished.stdout) == (0, str(expected)), path


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
        connection.send(
            "POST", IMPORTS, "Content-Length: 100000", "Expect: 100-continue", body=body
        )
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
                method,
                "/nowhere",
                "Transfer-Encoding: chunked",
                body=b"5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n",
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
            "POST",
            "/token/",
            f"Authorization: Basic {credentials}",
            "Content-Length: 200000",
            body=bytes(200_000),
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


async def _never() -> Any:
    await asyncio.Event().wait()


async def test_body_without_progress_is_408(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
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
