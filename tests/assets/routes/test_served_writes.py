"""Content is checked by a served process: hostile content, limits, and the processes of the sandbox."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes import ServerProcess, children, descendants, wait_for_exit

PATH = "/api/v2/assets/"
ROW: dict[str, Any] = {"type": "text", "name": "name", "label": ["What is your name?"]}
SLOW_ROWS = 19_000  # more than a second to check


def form(count: int = 1, **cells: Any) -> dict[str, Any]:
    return {"survey": [{**ROW, "name": f"q{number}", **cells} for number in range(count)]}


def headers(served: ServerProcess) -> dict[str, str]:
    return {"Authorization": f"Token {served.printed_value('token')}"}


def post(served: ServerProcess, content: Any, **options: Any) -> httpx.Response:
    with served.client() as client:
        return client.post(
            PATH, json={"name": "Visit", "content": content}, headers=headers(served), **options
        )


def stored_assets(served: ServerProcess) -> int:
    with served.client() as client:
        count: int = client.get(PATH, headers=headers(served)).json()["count"]
        return count


def loads_form_libraries(pid: int) -> bool:
    """Whether the process has the reader of workbooks in memory, a native library."""
    return "calamine" in Path(f"/proc/{pid}/maps").read_text()


def sandbox_processes(service_pid: int) -> list[int]:
    """The processes that the fork server has started."""
    return [pid for child in children(service_pid) for pid in children(child)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("served"), "--demo", "--no-worker") as served:
        yield served


HOSTILE: dict[str, tuple[bytes, int]] = {
    "not JSON": (b'{"content": {"survey": [}', 400),
    "nested arrays": (b'{"content": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", 400),
    "nested objects": (b'{"content": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}", 400),
    "unclosed arrays": (b'{"content": ' + b"[" * 1_000_000, 400),
    "nested text": (json.dumps({"content": "[" * 100_000}).encode(), 400),
    "many small values": (b'{"content": {"survey": [' + b"[]," * 5_000_000 + b"[]]}}", 400),
    "many keys": (
        b'{"content": {"survey": [{' + b",".join(b'"k%d": 1' % n for n in range(300_000)) + b"}]}}",
        400,
    ),
    "too many rows": (json.dumps({"content": {"survey": [ROW] * 100_001}}).encode(), 400),
    "a huge text": (json.dumps({"content": form(label=["x" * 2_000_000])}).encode(), 400),
    "a huge number": (b'{"content": {"survey": [{"type": "text", "label": [1' + b"0" * 6000 + b"]}]}}", 400),
    "a large exponent": (b'{"content": {"survey": [{"type": "text", "name": "a", "label": [1e999]}]}}', 400),
    "a lone surrogate": (b'{"content": {"survey": [{"type": "text", "name": "a", "label": ["\\ud800"]}]}}', 400),
    "many languages": (
        json.dumps({"content": {"survey": [ROW], "translations": [str(n) for n in range(50_000)]}}).encode(),
        400,
    ),
    "markup": (json.dumps({"content": form(label=["<!DOCTYPE x [<!ENTITY a 'b'>]>&a;<script>"])}).encode(), 201),
    "a formula": (json.dumps({"content": form(label=["=cmd|' /C calc'!A0"])}).encode(), 201),
    "control characters": (json.dumps({"content": form(label=["A\x00\x01\x1b[31m\u202e\ufffe"])}).encode(), 201),
    "a broken formula": (json.dumps({"content": form(relevant="((((${q0}" * 50)}).encode(), 400),
    "deep groups": (
        json.dumps({"content": {"survey": [{"type": "begin_group", "name": f"g{n}"} for n in range(5_000)]}}).encode(),
        400,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_content(served: ServerProcess, name: str) -> None:
    """The service answers, stores nothing that is refused, and goes on."""
    body, status = HOSTILE[name]
    before = stored_assets(served)
    with served.client() as client:
        response = client.post(
            PATH, content=body, headers={**headers(served), "Content-Type": "application/json"}
        )
    assert response.status_code == status, response.text[:500]
    assert stored_assets(served) == before + (status == 201)
    if status == 400:
        assert len(response.content) < 300_000
    assert "Traceback" not in served.log


def test_libraries_are_loaded_in_the_sandbox_only(served: ServerProcess) -> None:
    assert post(served, form()).status_code == 201
    [service] = children(served.process.pid)
    assert not loads_form_libraries(service)
    assert any(loads_form_libraries(pid) for pid in children(service))


def test_time_limit(tmp_path: Path) -> None:
    """A check that takes too long is 503, and nothing is stored."""
    with ServerProcess(
        tmp_path, "--demo", "--no-worker", environment={"FIELDGATE_IMPORT_SECONDS": "1s"}
    ) as served:
        assert descendants(children(served.process.pid)[0]) == [], (
            "the sandbox starts with the first check"
        )
        created = post(served, form()).json()
        slow = form(SLOW_ROWS)
        with served.client() as client:
            for response in (
                client.post(PATH, json={"content": slow}, headers=headers(served)),
                client.patch(
                    created["url"], json={"content": slow, "name": "New"}, headers=headers(served)
                ),
            ):
                assert (response.status_code, list(response.json())) == (503, ["detail"])
                assert int(response.headers["Retry-After"]) > 0
            assert client.get(created["url"], headers=headers(served)).json() == created
        assert stored_assets(served) == 1
        assert sandbox_processes(children(served.process.pid)[0]) == []


def test_killed_fork_server_is_started_again(served: ServerProcess) -> None:
    assert post(served, form()).status_code == 201
    [service] = children(served.process.pid)
    [fork_server] = [pid for pid in children(service) if loads_form_libraries(pid)]
    os.kill(fork_server, signal.SIGKILL)
    wait_for_exit([fork_server])
    assert {post(served, form()).status_code for _ in range(3)} == {201}
