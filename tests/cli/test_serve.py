"""`fieldgate serve`: start-up, several processes, and shutdown."""

import json
import os
import pty
import re
import signal
import socket
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.imports.workbooks import xlsx
from tests.processes import (
    FIELDGATE_COMMAND,
    TIMEOUT_SECONDS,
    ServerProcess,
    children,
    descendants,
    free_port,
    run_command,
    wait_for_exit,
)

LIST = "/api/v2/permissions/"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Two processes, with the demo user."""
    with ServerProcess(
        tmp_path_factory.mktemp("served"), "--demo", "--workers", "2", "--no-worker"
    ) as served:
        yield served


def test_prints_its_address_and_the_demo_user(served: ServerProcess) -> None:
    assert f"listening on {served.base_url}\n" in served.output
    with served.client() as client:
        assert client.get(LIST).json()["count"] == 10
        token, password = served.printed_value("token"), served.printed_value("password")
        assert client.get(LIST, headers={"Authorization": f"Token {token}"}).status_code == 200
        assert (
            client.post(
                "/get_auth_token", json={"username": "demo", "password": password}
            ).status_code
            == 200
        )


def test_revoked_token_is_refused_by_every_process(served: ServerProcess) -> None:
    with served.client() as client:
        auth = httpx.BasicAuth("demo", served.printed_value("password"))
        for _ in range(5):
            token = client.post("/token/", auth=auth).json()["token"]
            clients = [
                served.client() for _ in range(8)
            ]  # so that several processes get connections
            headers = {"Authorization": f"Bearer {token}"}
            assert {each.get(LIST, headers=headers).status_code for each in clients} == {200}
            assert client.delete("/token/", headers=headers).status_code == 204
            assert {each.get(LIST, headers=headers).status_code for each in clients} == {401}
            for each in clients:
                each.close()


def test_metrics_cover_all_processes(served: ServerProcess) -> None:
    def count(text: str) -> float:
        found = re.search(
            r'fieldgate_requests_total{method="GET",path="/api/v2/permissions/{codename}/",status="200"} (\S+)',
            text,
        )
        return float(found[1]) if found else 0.0

    with served.client() as client:
        before = count(client.get("/metrics").text)
    for _ in range(20):
        with served.client() as client:
            client.get("/api/v2/permissions/view_asset/")
    with served.client() as client:
        text = client.get("/metrics").text
        assert count(text) == before + 20
        assert (
            'fieldgate_request_seconds_bucket{le="0.001",path="/api/v2/permissions/{codename}/"}'
            in text
        )
        assert client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403


def test_log_is_json_without_secrets(served: ServerProcess) -> None:
    secrets = [
        served.printed_value("token"),
        served.printed_value("password"),
        "hunter2-in-query",
        "hunter2-in-body",
    ]
    with served.client() as client:
        client.get(
            f"{LIST}?token=hunter2-in-query", headers={"Authorization": f"Token {secrets[0]}"}
        )
        client.get(LIST, auth=httpx.BasicAuth("demo", secrets[1]))
        client.post("/get_auth_token", json={"username": "demo", "password": "hunter2-in-body"})
        known = client.get(
            "/api/v2/permissions/view_asset/", headers={"Authorization": f"Token {secrets[0]}"}
        )
    line = served.log_entry(known.headers["X-Request-ID"])
    assert (line["method"], line["path"], line["status"], line["user"], line["client"]) == (
        "GET", "/api/v2/permissions/view_asset/", 200, "demo", "127.0.0.1",
    )  # fmt: skip
    assert not [secret for secret in secrets if secret in served.log]


@pytest.mark.parametrize(
    ("options", "count", "quick"),
    [((), 2, 1), (("--import-workers", "1"), 1, 0), (("--no-worker",), 0, 0)],
)
def test_one_of_several_import_workers_is_quick(
    tmp_path: Path, options: tuple[str, ...], count: int, quick: int
) -> None:
    with ServerProcess(tmp_path, *options) as server:
        commands = [
            Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            for pid in children(server.process.pid)
        ]
        workers = [command for command in commands if "worker" in command]
        assert (len(workers), [("--quick" in command) for command in workers].count(True)) == (
            count,
            quick,
        )


def test_demo_needs_a_loopback_address(tmp_path: Path) -> None:
    done = run_command("serve", "--demo", "--host", "0.0.0.0", data=tmp_path)
    assert done.returncode == 1
    assert "needs a loopback address" in done.stderr


def test_other_addresses_need_a_proxy(tmp_path: Path, served: ServerProcess) -> None:
    advice = "Put a proxy with TLS in front: see packaging/nginx.conf."
    with ServerProcess(tmp_path, "--no-worker", "--host", "0.0.0.0") as public:
        pass
    assert public.log.count(advice) == 1
    assert advice not in served.log


def test_second_demo_start_has_the_same_credentials_and_events(tmp_path: Path) -> None:
    """Also while the first one serves: what is logged in there stays logged in."""
    with ServerProcess(tmp_path, "--demo", "--no-worker", "--host", "localhost") as first:
        assert f"listening on http://localhost:{first.port}" in first.output
        with ServerProcess(tmp_path, "--demo", "--no-worker") as second:
            counts = []
            for word in ("password", "token"):
                assert first.printed_value(word) == second.printed_value(word)
            for served in (first, second):
                with served.client() as client:
                    assert client.get(LIST, headers=_demo_token(first)).status_code == 200
                    counts.append(client.get("/api/v2/event/?limit=1").json()["count"])
    assert 1900 < counts[0] == counts[1] < 2000
    [file] = [
        path
        for path in tmp_path.iterdir()
        if first.printed_value("token") in path.read_text(errors="replace")
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_demo_credentials_that_others_may_have_read_are_replaced(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo", "--no-worker") as first:
        pass
    file = tmp_path / "demo-credentials.json"
    file.chmod(0o644)
    with ServerProcess(tmp_path, "--demo", "--no-worker") as second, second.client() as client:
        assert second.printed_value("password") != first.printed_value("password")
        assert client.get(LIST, headers=_demo_token(second)).status_code == 200
        assert client.get(LIST, headers=_demo_token(first)).status_code == 401
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_disabled_demo_user_stays_disabled(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo", "--no-worker") as first:
        assert run_command("user", "disable", "demo", data=tmp_path).returncode == 0
    with ServerProcess(tmp_path, "--demo", "--no-worker") as second, second.client() as client:
        assert (
            "The user demo is disabled. To enable it, run: fieldgate user enable demo" in second.log
        )
        assert "password" not in second.output
        assert client.get(LIST, auth=_demo_login(first)).status_code == 401
        assert run_command("user", "enable", "demo", data=tmp_path).returncode == 0
    with ServerProcess(tmp_path, "--demo", "--no-worker") as third, third.client() as client:
        assert client.get(LIST, headers=_demo_token(third)).status_code == 200


def test_password_that_somebody_set_for_the_demo_user_is_kept(tmp_path: Path) -> None:
    """The printed token ends all the same: it would be known in a real installation."""
    with ServerProcess(tmp_path, "--demo", "--no-worker") as first, first.client() as client:
        change = {
            "current_password": first.printed_value("password"),
            "new_password": "nine-lives-of-a-cat",
        }
        assert (
            client.post(
                "/api/v2/account/password/", headers=_demo_token(first), json=change
            ).status_code
            == 200
        )
    own = httpx.BasicAuth("demo", "nine-lives-of-a-cat")
    with ServerProcess(tmp_path, "--demo", "--no-worker") as second, second.client() as client:
        assert "The user demo has a password that --demo did not set." in second.log
        assert "password" not in second.output
        assert client.get(LIST, auth=own).status_code == 200
    with ServerProcess(tmp_path, "--no-worker") as third, third.client() as client:
        assert client.get(LIST, auth=own).status_code == 200
        assert client.get(LIST, headers=_demo_token(first)).status_code == 401


def test_start_without_demo_makes_demo_credentials_invalid(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo", "--no-worker") as demo:
        pass
    with ServerProcess(tmp_path, "--no-worker") as served:
        assert "The password and the tokens of the user demo no longer work." in served.log
        _assert_no_access(served, demo)
    assert not [
        path
        for path in tmp_path.iterdir()
        if demo.printed_value("token") in path.read_text(errors="replace")
    ]
    with ServerProcess(tmp_path, "--no-worker") as again:
        assert "no longer work" not in again.log
    with ServerProcess(tmp_path, "--demo", "--no-worker") as new, new.client() as client:
        assert client.get(LIST, headers=_demo_token(new)).status_code == 200
        _assert_no_access(new, demo)


def test_demo_credentials_do_not_work_in_a_restored_installation(tmp_path: Path) -> None:
    """There the file of the credentials is missing."""
    with ServerProcess(tmp_path / "demo", "--demo", "--no-worker") as demo:
        pass
    backup = tmp_path / "backup.sqlite3"
    assert run_command("backup", str(backup), data=tmp_path / "demo").returncode == 0
    assert run_command("restore", str(backup), data=tmp_path / "real").returncode == 0
    with ServerProcess(tmp_path / "real", "--no-worker") as served:
        _assert_no_access(served, demo)


def _assert_no_access(served: ServerProcess, demo: ServerProcess) -> None:
    with served.client() as client:
        assert client.get(LIST, headers=_demo_token(demo)).status_code == 401
        assert client.get(LIST, auth=_demo_login(demo)).status_code == 401


def test_demo_start_on_a_terminal_ends_with_address_user_and_password(tmp_path: Path) -> None:
    """Nothing but plain text, and nothing after it, also when the import workers are ready."""
    port = free_port()
    terminal, device = pty.openpty()
    command: list[str | Path] = [
        FIELDGATE_COMMAND,
        "serve",
        "--demo",
        "--port",
        str(port),
        "--data",
        tmp_path,
    ]
    with subprocess.Popen(
        command, stdin=device, stdout=device, stderr=device, start_new_session=True
    ) as process:
        os.close(device)
        shown = ""
        try:
            while f"listening on http://127.0.0.1:{port}" not in shown:
                shown += os.read(terminal, 65536).decode()
            login = {"username": "demo", "password": shown.rpartition("password ")[2].split()[0]}
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_SECONDS
            ) as client:
                token = client.post("/get_auth_token", json=login).json()["token"]
                headers = {"Authorization": f"Token {token}"}
                sent = client.post(
                    "/api/v2/imports/", files={"file": ("a.xlsx", xlsx())}, headers=headers
                ).json()
                while client.get(sent["url"], headers=headers).json()["status"] == "processing":
                    pass  # until a worker is ready
            os.set_blocking(terminal, False)
            with suppress(BlockingIOError):
                shown += os.read(terminal, 65536).decode()
        finally:
            os.close(terminal)
            process.terminate()
    lines = [line for line in shown.splitlines() if line]
    assert [line.split()[0] for line in lines[-4:]] == ["demo", "password", "token", "listening"]
    assert "{" not in shown


def _demo_login(served: ServerProcess) -> httpx.BasicAuth:
    return httpx.BasicAuth("demo", served.printed_value("password"))


def _demo_token(served: ServerProcess) -> dict[str, str]:
    return {"Authorization": f"Token {served.printed_value('token')}"}


def test_port_in_use(tmp_path: Path, served: ServerProcess) -> None:
    done = run_command("serve", "--port", str(served.port), data=tmp_path)
    assert done.returncode == 1
    assert f"Port {served.port} is used by another program." in done.stderr


@pytest.mark.parametrize(
    ("host", "message"),
    [("nowhere.invalid", "cannot be resolved"), ("192.0.2.1", "cannot be used")],
)
def test_host_that_cannot_be_bound(tmp_path: Path, host: str, message: str) -> None:
    done = run_command("serve", "--host", host, data=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_aborted_bodies_get_a_json_error(served: ServerProcess) -> None:
    head = b"POST /get_auth_token HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    for rest in (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"Content-Length: 50\r\n\r\n{}"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            connection.sendall(head + rest)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 400"), answer
        assert b'{"detail":"The body ended before it was complete."}' in answer


def _half_sent(port: int, body: bytes) -> socket.socket:
    """Send the head and the first bytes of a request."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    head = (
        "POST /get_auth_token HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Expect: 100-continue",
    )
    connection.sendall("\r\n".join((*head, "", "")).encode())
    assert connection.recv(100).startswith(b"HTTP/1.1 100"), "the request has been accepted"
    connection.sendall(body[:5])
    return connection


def test_shutdown_finishes_accepted_requests(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo", "--no-worker") as served:
        body = json.dumps(
            {"username": "demo", "password": served.printed_value("password")}
        ).encode()
        connections = [_half_sent(served.port, body) for _ in range(5)]
        served.process.send_signal(signal.SIGTERM)
        while True:  # until new connections are refused
            try:
                socket.create_connection(("127.0.0.1", served.port), timeout=1).close()
            except OSError:
                break
        for connection in connections:
            connection.sendall(body[5:])
        with ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(lambda each: each.recv(65536), connections))
        for connection in connections:
            connection.close()
        assert all(
            answer.startswith(b"HTTP/1.1 200") and b'"token":"fgt_' in answer for answer in answers
        )
        assert served.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_service_that_still_starts_is_stopped_at_once(
    tmp_path: Path, number: signal.Signals
) -> None:
    for _ in range(5):  # on a busy machine the signal can come after the start
        output, log = stop_while_starting(tmp_path, number)
        assert "Killing worker" not in log
        assert "Traceback" not in log
        if "listening on" not in output:
            return
    pytest.fail("The service was always ready before it stopped.")


def stop_while_starting(data: Path, number: signal.Signals) -> tuple[str, str]:
    """Return what the service wrote to standard output and standard error."""
    command: list[str | Path] = [
        FIELDGATE_COMMAND,
        "serve",
        "--port",
        str(free_port()),
        "--data",
        data,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "Spawning worker" in line:
                break
        if number == signal.SIGINT:  # a terminal sends it to all processes
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        return process.communicate(timeout=TIMEOUT_SECONDS)


@pytest.mark.nightly
def test_killed_process_is_replaced(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as served, served.client() as client:
        worker = next(pid for pid in children(served.process.pid) if not _is_import_worker(pid))
        os.kill(worker, signal.SIGKILL)
        while True:
            try:
                if client.get(LIST).status_code == 200 and worker not in children(
                    served.process.pid
                ):
                    break
            except httpx.TransportError:
                continue


@pytest.mark.nightly
def test_workers_end_when_the_main_process_is_killed(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo", "--workers", "2") as served, served.client() as client:
        headers = {"Authorization": f"Token {served.printed_value('token')}"}
        url = client.post(
            "/api/v2/imports/", files={"file": ("a.xlsx", xlsx())}, headers=headers
        ).json()["url"]
        while client.get(url, headers=headers).json()["status"] == "processing":
            pass  # then the worker has started its fork server
        others = descendants(served.process.pid)
        assert len(others) >= 4, "two for HTTP, the import worker, and what that one forks from"
        served.process.kill()
        served.process.wait(TIMEOUT_SECONDS)
        wait_for_exit(others)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", served.port))
            probe.listen()


def _is_import_worker(pid: int) -> bool:
    return b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def test_serve_on_postgresql(tmp_path: Path, empty_database_url: str, database_kind: str) -> None:
    environment = {"FIELDGATE_DATABASE_URL": empty_database_url}
    if database_kind == "postgresql":
        refused = run_command("serve", data=tmp_path, environment=environment)
        assert "Run: fieldgate migrate" in refused.stderr
        run_command("migrate", data=tmp_path, environment=environment)
    with (
        ServerProcess(tmp_path, "--demo", "--no-worker", environment=environment) as served,
        served.client() as client,
    ):
        headers = {"Authorization": f"Token {served.printed_value('token')}"}
        assert client.get(LIST, headers=headers).status_code == 200
        assert client.get("/readyz").json()["status"] == "ready"


@pytest.mark.nightly
def test_import_worker_is_restarted_when_killed(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, "--demo") as served, served.client() as client:
        client.headers["Authorization"] = f"Token {served.printed_value('token')}"

        def finished(name: str) -> str:
            url = client.post("/api/v2/imports/", files={"file": (f"{name}.xlsx", xlsx())}).json()[
                "url"
            ]
            while (record := client.get(url).json())["status"] == "processing":
                pass
            return str(record["status"])

        assert finished("first") == "complete"
        worker = next(pid for pid in children(served.process.pid) if _is_import_worker(pid))
        os.kill(worker, signal.SIGKILL)
        assert finished("second") == "complete"
        assert client.get("/api/v2/assets/").json()["count"] == 2


def start_worker(
    data: Path, database_url: str, environment: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [FIELDGATE_COMMAND, "worker", "--data", data],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FIELDGATE_DATABASE_URL": database_url, **(environment or {})},
    )


def test_worker_reports_when_it_is_ready(tmp_path: Path, database_url: str) -> None:
    with start_worker(tmp_path, database_url) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready for imports\n"
        commands = [Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid)]
        assert any("multiprocessing.forkserver" in each for each in commands), commands
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        assert (process.returncode, errors) == (0, "")


def test_worker_on_a_database_without_tables(
    tmp_path: Path, empty_database_url: str, database_kind: str
) -> None:
    with start_worker(tmp_path, empty_database_url) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if database_kind == "sqlite":
            assert (
                process.stderr.readline()
                == f"Creating a new database: {tmp_path / 'fieldgate.db'}\n"
            )
            assert process.stdout.readline() == "ready for imports\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_SECONDS) == 0
        else:
            assert " has no tables of Fieldgate." in process.stderr.read()
            assert process.wait(TIMEOUT_SECONDS) == 1
