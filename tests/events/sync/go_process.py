"""The process of a server like IFRC GO, and its database, which tests change while it runs."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.processes import free_port

TOKEN = "f0e1d2c3"


class GoProcess:
    def __init__(self, folder: Path, events: int) -> None:
        self._file = folder / "go.db"
        self._events = events
        self._port = free_port()  # the same after a restart
        self._process: subprocess.Popen[bytes]
        self.base_url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        environment = {
            **os.environ,
            "GO_DATABASE": str(self._file),
            "DJANGO_SETTINGS_MODULE": "tests.events.sync.go_system.settings",
        }
        module = "tests.events.sync.go_system"
        command = [sys.executable, "-m", module, str(self._port), str(self._events)]
        self._process = subprocess.Popen(command, env=environment)
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.get(f"{self.base_url}/api/v2/region/", trust_env=False)
                return
            except httpx.TransportError:
                assert self._process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(60)

    def requests(self) -> list[str]:
        """The paths and queries of all requests."""
        log = Path(f"{self._file}.log").read_text().splitlines()
        return [line.removeprefix("/api/v2/") for line in log if "/region/" not in line]

    def get(self, path: str, language: str = "en", token: str = "") -> Any:
        headers = {"Accept-Language": language}
        if token:
            headers["Authorization"] = f"Token {token}"
        url = f"{self.base_url}/api/v2/{path}"
        return httpx.get(url, headers=headers, trust_env=False, timeout=60).json()

    def ids(self) -> set[int]:
        return {id_ for (id_,) in self._execute("SELECT id FROM go_system_event")}

    def edit(self, id_: int, **columns: Any) -> None:
        """Change an event, as an editor who saves it."""
        columns = {"updated_at": f"2026-06-01 00:00:00.{time.time_ns() % 10**6:06}", **columns}
        names = ", ".join(f"{name} = :{name}" for name in columns)
        self._execute(f"UPDATE go_system_event SET {names} WHERE id = :id", {**columns, "id": id_})

    def delete(self, id_: int) -> None:
        for table in ("event_countries", "event_countries_for_preview"):
            self._execute(f"DELETE FROM go_system_{table} WHERE event_id = :id", {"id": id_})
        self._execute("DELETE FROM go_system_event WHERE id = :id", {"id": id_})

    def add(self, id_: int, **columns: Any) -> None:
        """Add an event like the first one."""
        names = [row[1] for row in self._execute("PRAGMA table_info(go_system_event)")]
        others = [name for name in names if name not in ("id", "slug")]
        self._execute(
            f"INSERT INTO go_system_event (id, {', '.join(others)}) "
            f"SELECT :id, {', '.join(others)} FROM go_system_event WHERE id = 1",
            {"id": id_},
        )
        self.edit(id_, **columns)

    def _execute(self, sql: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        with closing(sqlite3.connect(self._file, timeout=30)) as database, database:
            return database.execute(sql, values or {}).fetchall()
