"""Run the service of a checkout: its programs, with an empty database."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg

START_SECONDS = 60
STOP_SECONDS = 30
SETTINGS = {
    "FIELDGATE_READ_RATE": "off",
    "FIELDGATE_WRITE_RATE": "off",
    "FIELDGATE_ADDRESS_READ_RATE": "off",
    "FIELDGATE_ADDRESS_WRITE_RATE": "off",
    "FIELDGATE_ACCESS_LOG": "off",
    "FIELDGATE_MAX_QUEUED_IMPORTS": "0",
}


class Checkout:
    """A checkout with a folder for its data. The programs are those of its `.venv`, or those that run this tool."""

    def __init__(self, path: Path, folder: Path, database_url: str = "") -> None:
        own = path / ".venv" / "bin" / "fieldgate"
        self._command = own if own.exists() else Path(sys.executable).parent / "fieldgate"
        self._folder = folder
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("FIELDGATE_")
        }
        # Containers often set it. Then each of the programs would compile all modules again.
        inherited.pop("PYTHONDONTWRITEBYTECODE", None)
        own_path = f"{path}:{path / 'client'}"
        self._environment = {**inherited, **SETTINGS, "PYTHONPATH": own_path}
        if database_url:
            self._environment["FIELDGATE_DATABASE_URL"] = database_url
        self.port = _free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command; return what it printed."""
        done = subprocess.run(
            [self._command, *arguments, "--data", self._folder / "data"],
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise SystemExit(f"fieldgate {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve, with one process for requests and one for imports."""
        with ExitStack() as stack:
            stack.enter_context(self._program("serve", "--port", str(self.port), "--no-worker"))
            stack.enter_context(self._program("worker"))
            until = time.monotonic() + START_SECONDS
            while not self._is_ready():
                if time.monotonic() > until:
                    raise SystemExit(
                        f"The service does not start:\n{(self._folder / 'serve.log').read_text()[-4000:]}"
                    )
                time.sleep(0.1)
            yield

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.base_url}/readyz", verify=False).status_code == 200
        except httpx.TransportError:
            return False

    @contextmanager
    def _program(self, name: str, *options: str) -> Iterator[None]:
        command: list[str | Path] = [self._command, name, *options, "--data", self._folder / "data"]
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )
            try:
                yield
            finally:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@contextmanager
def new_database(server_url: str) -> Iterator[str]:
    """Create an empty database on a PostgreSQL server. Without a server, the checkout uses SQLite."""
    if not server_url:
        yield ""
        return
    name = f"recording_{secrets.token_hex(6)}"
    _execute(server_url, f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        _execute(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def _execute(server_url: str, statement: LiteralString) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
