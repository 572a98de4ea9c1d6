"""A real server with the demo user, some events and a second user; commands run in this process or in their own."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import certifi
import msgspec
import pytest
from fieldgate_client.cli import main

from tests.data.accounts import create_user
from tests.data.commands import run_command
from tests.processes import ServerProcess

EVENTS = 400
CLIENT_COMMAND = Path(sys.executable).parent / "fieldgate-client"


class Done(msgspec.Struct):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class DemoServer(msgspec.Struct):
    url: str
    token: str
    password: str
    username: str = "demo"


RunClient = Callable[..., Done]


async def fill_database(data: Path, events: int, *usernames: str) -> None:
    database_url = f"sqlite:///{data / 'fieldgate.db'}"
    done = await run_command(database_url, "events", "demo", str(events))
    assert done.exit_code == 0, done.output
    for username in usernames:
        create_user(database_url, username)


@pytest.fixture(scope="session")
def demo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    data = tmp_path_factory.mktemp("demo-server")
    asyncio.run(fill_database(data, EVENTS, "bashir"))
    with ServerProcess(data, "--demo", "--import-workers", "1") as process:
        yield DemoServer(
            process.base_url, process.printed_value("token"), process.printed_value("password")
        )


@pytest.fixture(scope="session")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Loading all certificates takes 50 ms of each command, and these tests use http."""
    end = "-----END CERTIFICATE-----\n"
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(Path(certifi.where()).read_text().partition(end)[0] + end)
    return file


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_certificate: Path) -> Path:
    """The file with servers and tokens, in a folder of this test."""
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("FIELDGATE_URL", raising=False)
    monkeypatch.delenv("FIELDGATE_TOKEN", raising=False)
    return tmp_path / "config" / "fieldgate-client" / "servers.json"


@pytest.fixture
def run(config: Path, capsys: pytest.CaptureFixture[str]) -> RunClient:
    """Run a command in this process."""

    def run_client(*arguments: str | Path) -> Done:
        code = main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run_client


@pytest.fixture
def logged_in(demo_server: DemoServer, monkeypatch: pytest.MonkeyPatch, config: Path) -> DemoServer:
    """The demo user's token is in the environment."""
    monkeypatch.setenv("FIELDGATE_URL", demo_server.url)
    monkeypatch.setenv("FIELDGATE_TOKEN", demo_server.token)
    return demo_server
