"""Dry runs of imports in a served process: a client that closes its connection leaves no sandbox process behind."""

import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.assets.routes.test_served_writes import headers, sandbox_processes
from tests.imports.hostile import many_questions
from tests.processes import TIMEOUT_SECONDS, ServerProcess, children, wait_for_exit

PATH = "/api/v2/imports/"
SLOW = many_questions()  # takes twenty seconds


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    environment = {"FIELDGATE_IMPORT_SECONDS": "600s"}
    with ServerProcess(
        tmp_path_factory.mktemp("served"), "--demo", "--no-worker", environment=environment
    ) as served:
        yield served


def page_request(client: httpx.Client, served: ServerProcess) -> httpx.Request:
    """The form of the page, sent by the button for checks."""
    fields = {"username": "demo", "password": served.printed_value("password")}
    origin = {"Origin": served.base_url}
    page = client.get("/login/").text
    [token] = re.findall(r'name="csrf_token" value="(\w+)"', page)[:1] or [""]
    assert (
        client.post("/login/", data={**fields, "csrf_token": token}, headers=origin).status_code
        == 303
    )
    [token, *_] = re.findall(
        r'name="csrf_token" value="(\w+)"', client.get(PATH, headers={"Accept": "text/html"}).text
    )
    form = {"csrf_token": token, "key": "x", "check": "true"}
    return client.build_request(
        "POST",
        f"{PATH}?form=upload",
        data=form,
        files={"files": ("slow.xlsx", SLOW)},
        headers=origin,
    )


def api_request(client: httpx.Client, served: ServerProcess) -> httpx.Request:
    files = {"file": ("slow.xlsx", SLOW)}
    return client.build_request(
        "POST", f"{PATH}?dry_run=true", files=files, headers=headers(served)
    )


def send_and_close(served: ServerProcess, request: httpx.Request) -> int:
    """Close the connection when a sandbox process works, which is stopped: it cannot end by itself. Return its id."""
    [service] = children(served.process.pid)
    lines = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall("\r\n".join((*lines, "", "")).encode() + request.read())
        until = time.monotonic() + TIMEOUT_SECONDS
        while not (working := [pid for pid in sandbox_processes(service) if is_parsing(pid)]):
            assert time.monotonic() < until, served.log
        os.kill(working[0], signal.SIGSTOP)
    return working[0]


def is_parsing(pid: int) -> bool:
    """Whether the process has told the service its id: it has started the thread that watches the service."""
    with suppress(FileNotFoundError):
        return len([*Path(f"/proc/{pid}/task").iterdir()]) > 1
    return False


@pytest.mark.parametrize("make", [api_request, page_request], ids=["API", "page"])
def test_closed_connection_ends_the_check(served: ServerProcess, make: Any) -> None:
    with served.client() as client:
        pid = send_and_close(served, make(client, served))
        try:
            wait_for_exit([pid])
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        files = {"file": ("a.csv", b"type,name,label\ntext,a,A\n")}
        again = client.post(f"{PATH}?dry_run=true", files=files, headers=headers(served))
        assert again.json()["status"] == "complete"
