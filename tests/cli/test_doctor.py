"""`fieldgate doctor` as a command, next to a running service."""

import json
from pathlib import Path

from fieldgate.settings import Settings
from tests.processes import ServerProcess, free_port, run_command


def test_running_service_behind_its_public_address(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ServerProcess(data, "--no-worker") as served:
        environment = {"FIELDGATE_PORT": str(served.port), "FIELDGATE_BASE_URL": served.base_url}
        done = run_command("doctor", "--json", data=data, environment=environment)
        report = json.loads(done.stdout)
        found = {finding["check"]: finding for finding in report["findings"]}
        assert (done.returncode, report["ok"], found["service"]["level"]) == (0, True, "ok"), (
            done.stdout
        )
        assert found["proxy"] == {
            "check": "proxy",
            "level": "ok",
            "message": f"{served.base_url} answers, and its links are right.",
            "advice": "",
        }
        given = run_command("doctor", "--port", str(served.port), data=data)
        assert f"ok       service: The service at {served.base_url} is ready." in given.stdout
        # The service does not know this name, so its links have another one.
        other = {**environment, "FIELDGATE_BASE_URL": f"http://localhost:{served.port}/prefix"}
        wrong = run_command("doctor", data=data, environment=other)
        assert wrong.returncode == 1
        assert "error    proxy: " in wrong.stdout


def test_no_service_and_no_database(tmp_path: Path) -> None:
    environment = {"FIELDGATE_PORT": str(free_port()), "FIELDGATE_BASEURL": "x"}
    done = run_command("doctor", data=tmp_path / "mistyped", environment=environment)
    assert done.returncode == 1
    assert "error    files: There is no folder" in done.stdout
    assert "warning  service: No service answers at" in done.stdout
    assert "nothing accepts connections there.\n" in done.stdout
    assert "If it has another port, use --port or set FIELDGATE_PORT.\n" in done.stdout
    assert f"run: fieldgate migrate --data {tmp_path / 'mistyped'}\n" in done.stdout
    assert "ConnectError" not in done.stdout
    assert "Did you mean FIELDGATE_BASE_URL?" in done.stdout
    assert not (tmp_path / "mistyped").exists()


def test_no_secret_is_printed(tmp_path: Path) -> None:
    environment = {
        "FIELDGATE_DATABASE_URL": "postgresql://amina:hunter2@127.0.0.1:9/field?password=hunter2",
        "FIELDGATE_BASE_URL": "https://amina:hunter2@field.example.org",
        "FIELDGATE_SYNC_TOKEN": "hunter2",
        "FIELDGATE_PORT": str(free_port()),
    }
    done = run_command("doctor", "--json", data=tmp_path, environment=environment)
    assert done.returncode == 1
    assert Settings.from_environment(environment).base_url
    assert "hunter2" not in done.stdout + done.stderr
    assert "https://field.example.org was not checked" in done.stdout
