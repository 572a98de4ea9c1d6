"""Single sign-on and commands: the start asks no provider, and the operator links accounts."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.accounts import PASSWORD
from tests.processes import ServerProcess, run_command

PROVIDER = """
[[provider]]
id = "ngo"
name = "Red Cross account"
issuer = "{issuer}"
client_id = "fieldgate"
"""
# A start of the service in this process, then the modules that it loaded.
START = """
import asyncio, json, os, sys
from fieldgate.app import build_app
from fieldgate.settings import Settings

async def start():
    async with build_app(Settings.from_environment(os.environ)).lifespan():
        print(json.dumps(sorted(sys.modules)))

asyncio.run(start())
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    assert run_command("migrate", data=folder).returncode == 0
    done = run_command("user", "create", "amina", "--password-stdin", data=folder, stdin=PASSWORD)
    assert done.returncode == 0, done.stderr
    return folder


def environment(folder: Path, issuer: str) -> dict[str, str]:
    file = folder / "sign-on.toml"
    file.write_text(PROVIDER.format(issuer=issuer))
    return {"FIELDGATE_SIGN_ON": str(file), "FIELDGATE_BASE_URL": "http://127.0.0.1:8000"}


def test_the_start_asks_no_provider_and_loads_no_library_for_it(data: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        chosen = environment(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        done = subprocess.run(
            [sys.executable, "-c", START],
            env={**os.environ, **chosen, "FIELDGATE_DATA": str(data)},
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
        assert loaded & {"authlib", "joserfc", "cryptography"} == set()
        assert "fieldgate" in loaded
        with pytest.raises(BlockingIOError):
            silent.accept()  # nobody has connected


def test_passwords_work_without_network(data: Path, tmp_path: Path) -> None:
    """The name of the provider cannot be found (RFC 6761), as without any network."""
    with (
        ServerProcess(
            data, "--no-worker", environment=environment(tmp_path, "https://login.invalid")
        ) as server,
        server.client() as client,
    ):
        answer = client.get("/login/ngo/", headers={"Accept": "text/html", "Accept-Language": "en"})
        assert answer.status_code == 503
        assert "cannot be reached" in answer.text
        answer = client.post("/login/", data={"username": "amina", "password": PASSWORD})
        assert answer.status_code == 303
        assert client.get("/me/", auth=("amina", PASSWORD)).json()["username"] == "amina"
        assert "login.invalid" in server.log


def test_link(data: Path, tmp_path: Path) -> None:
    chosen = environment(tmp_path, "https://login.example")

    def link(
        name: str, subject: str, issuer: str = "https://login.example"
    ) -> subprocess.CompletedProcess[str]:
        return run_command("user", "link", name, issuer, subject, data=data, environment=chosen)

    done = link("amina", "7", "https://login.example/")
    assert done.returncode == 2
    assert (
        "https://login.example/ is no provider of this service. Its providers: https://login.example."
        in done.stderr
    )
    done = run_command("user", "link", "amina", "https://login.example", "7", data=data)
    assert done.returncode == 2
    assert "Its providers: none: set FIELDGATE_SIGN_ON as for the service." in done.stderr
    done = link("amina", "7")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "user amina can log in as 7 at https://login.example\n"
    assert link("amina", "7").returncode == 0
    run_command("user", "create", "omar", "--password-stdin", data=data, stdin=PASSWORD)
    done = link("omar", "7")
    assert done.returncode == 1
    assert "This account already belongs to another user here." in done.stderr
    assert link("nobody", "8").returncode == 1
    done = run_command("user", "create", "robot", "--owner", "amina", data=data)
    assert done.returncode == 0, done.stderr
    done = link("robot", "8")
    assert done.returncode == 1
    assert "This user is disabled, or a service account." in done.stderr
    assert run_command("user", "disable", "omar", data=data).returncode == 0
    done = link("omar", "8")
    assert done.returncode == 1
    assert "This user is disabled, or a service account." in done.stderr


def test_a_wrong_file_is_reported(data: Path, tmp_path: Path) -> None:
    chosen = environment(tmp_path, "http://login.example")
    done = run_command("user", "list", data=data, environment=chosen)
    assert done.returncode == 1
    assert (
        "FIELDGATE_SIGN_ON: the issuer 'http://login.example' of ngo must be an https URL"
        in done.stderr
    )
