"""PostgreSQL with a synchronous standby, PgBouncer, nginx, and services that share nothing but the database.

with ScalingSite(SHORT) as site, site.services(4, import_workers=2) as services:
    httpx.get(f"{services.base_url}/api/v2/event/")
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

from benchmarks.servers import Server
from tests.faults.postgres_cluster import (
    COPY_TIMEOUT_SECONDS,
    PgBouncer,
    PostgresCluster,
    PostgresNode,
)
from tests.http.test_behind_nginx import NGINX, nginx_config
from tests.processes import (
    FIELDGATE_COMMAND,
    TIMEOUT_SECONDS,
    ServerProcess,
    children,
    descendants,
    free_port,
    wait_for_exit,
)
from tests.scaling.fill import Sizes, World, fill

DATABASE_NAME = "fieldgate"
EVENTS = "/api/v2/event/"
SETTINGS: dict[str, Any] = {
    "max_connections": "300",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
}  # one copy runs as standby
WORLD = "world.json"
START_TIMEOUT_SECONDS = 300  # a million events, and other services that start at the same time


class ScalingSite:
    """The database servers and what is before them. Deleted at the end of the block."""

    def __init__(self, sizes: Sizes, keep: Path | None = None) -> None:
        """`keep`: a folder with a filled database, which is filled first if it is empty."""
        self._sizes = sizes
        self._keep = keep
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.folder = Path(
                self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldgate-scaling-"))
            )
            self.cluster = PostgresCluster(**SETTINGS)
            self._stack.callback(self.cluster.close)
            self.node: PostgresNode = self.cluster.primary  # the one that accepts writes
            self.world = self._open_database()
            self.free_pairs = self.world.free_pairs()  # of all sections: each pair is assigned once
            report("standby and PgBouncer")
            self.cluster.add_standby()
            self.bouncer = PgBouncer(self.node, system_user=self.cluster.system_user)
            self._stack.enter_context(self.bouncer)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _open_database(self) -> World:
        kept, data = self._keep, self.node.data
        if kept is not None and (kept / WORLD).exists():
            world = msgspec.json.decode((kept / WORLD).read_bytes(), type=World)
            assert world.sizes == self._sizes, f"{kept} has other sizes: {world.sizes}"
            report(f"database of {kept}")
            shutil.rmtree(data)
            _copy_folder(kept / "data", data)
            self.cluster.__enter__()
            return world
        self.cluster.__enter__()
        self.node.create_database(DATABASE_NAME)
        world = asyncio.run(fill(self.direct_url, self.folder / "filling", self._sizes, report))
        report("vacuum")
        for statement in ("VACUUM ANALYZE", "CHECKPOINT"):
            self.node.query(statement, DATABASE_NAME, timeout=COPY_TIMEOUT_SECONDS)
        if kept is not None:
            self.node.stop()
            kept.mkdir(parents=True, exist_ok=True)
            _copy_folder(data, kept / "data")
            (kept / WORLD).write_bytes(msgspec.json.encode(world))
            self.node.start()
        return world

    @property
    def direct_url(self) -> str:
        """The URL of the database past PgBouncer."""
        return self.node.url(DATABASE_NAME)

    def database_bytes(self) -> int:
        return int(self.node.query(f"SELECT pg_database_size('{DATABASE_NAME}')"))

    def environment(self, *, is_pooled: bool) -> dict[str, str]:
        """The settings of services."""
        return {
            "FIELDGATE_DATABASE_URL": self.bouncer.url(DATABASE_NAME)
            if is_pooled
            else self.direct_url,
            "FIELDGATE_DATABASE_POOLER": str(is_pooled),
            "FIELDGATE_TRUSTED_PROXIES": "127.0.0.1",
            "FIELDGATE_ALLOWED_HOSTS": "127.0.0.1",
            "FIELDGATE_MAX_QUEUED_IMPORTS": "0",
            "FIELDGATE_IMPORT_LEASE": "5s",
            "FIELDGATE_ACCESS_LOG": "false",
            "FIELDGATE_LOG_LEVEL": "error",
        }

    @contextmanager
    def services(
        self, count: int, *, import_workers: int = 0, is_pooled: bool = True
    ) -> "Iterator[Services]":
        """Start services and workers, all at once, and nginx before them."""
        environment = self.environment(is_pooled=is_pooled)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self.folder)))
            for number in range(import_workers):
                stack.enter_context(_run_worker(folder / f"worker{number}", environment))
            yield stack.enter_context(Services(folder, count, environment, self.world))

    def fail_over(self) -> None:
        """Kill the primary, promote the standby, and send the clients there."""
        standby = self.cluster.standby
        assert standby is not None
        self.cluster.primary.kill()
        standby.promote()
        self.bouncer.redirect(standby)
        self.node = standby


class Services:
    """Running services, each with its own data folder and port, behind nginx."""

    def __init__(self, folder: Path, count: int, environment: dict[str, str], world: World) -> None:
        self.ports = [free_port() for _ in range(count)]
        self.processes: dict[int, ServerProcess] = {}
        self.start_seconds: dict[int, float] = {}  # until the first page, by service
        self.proxy = Proxy(folder / "nginx")
        self._folder = folder
        self._environment = environment
        self._world = world

    def __enter__(self) -> Self:
        try:
            with ThreadPoolExecutor() as threads:
                list(threads.map(self.start, range(len(self.ports))))
            self.proxy.start(self.ports)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        self.proxy.stop()
        with ThreadPoolExecutor() as threads:
            list(threads.map(self.stop, self.processes))

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.proxy.port}"

    @property
    def urls(self) -> list[str]:
        """The addresses of the services past nginx."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    @property
    def server(self) -> Server:
        """All of them as one server of the benchmarks, which is nginx."""
        return Server(str(len(self.ports)), self.proxy.port, self.proxy.pid, self._world.tokens)

    def start(self, number: int) -> None:
        """Start a service, and wait for its first page of events."""
        began = time.perf_counter()
        served = ServerProcess(
            self._folder / f"service{number}",
            "--no-worker",
            environment=self._environment,
            port=self.ports[number],
            timeout=START_TIMEOUT_SECONDS,
        )
        self.processes[number] = served.__enter__()
        httpx.get(f"{served.base_url}{EVENTS}", timeout=TIMEOUT_SECONDS).raise_for_status()
        self.start_seconds[number] = time.perf_counter() - began

    def stop(self, number: int) -> None:
        """Stop a service, as a supervisor does."""
        self.processes[number].stop()

    def kill(self, number: int) -> None:
        """kill -9 of a service, with all its processes."""
        pid = self.processes[number].process.pid
        pids = [pid, *descendants(pid)]
        for each in pids:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        wait_for_exit(pids)
        self.processes[number].stop()  # closes its pipes

    def restart_one_by_one(self) -> None:
        """Take each service out of nginx, restart it, and put it back when it is ready."""
        for number, port in enumerate(self.ports):
            self.proxy.use(each for each in self.ports if each != port)
            self.stop(number)
            self.start(number)
            self.proxy.use(self.ports)


class Proxy:
    """nginx with the shipped configuration, but without TLS."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, ports: Iterable[int]) -> None:
        assert NGINX, "nginx is not installed; `make nightly` installs it."
        self._folder.mkdir()
        self._write_config(ports)
        command: list[str | Path] = [NGINX, "-p", self._folder, "-c", self._folder / "nginx.conf"]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + TIMEOUT_SECONDS
        while True:
            with suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=TIMEOUT_SECONDS)
                return
            assert self._process.poll() is None, (self._folder / "error.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)

    def use(self, ports: Iterable[int]) -> None:
        """Send requests to these services only, as `nginx -s reload` does."""
        before = set(children(self.pid))
        self._write_config(ports)
        os.kill(self.pid, signal.SIGHUP)
        until = time.monotonic() + TIMEOUT_SECONDS
        while before & set(children(self.pid)):  # they finish their requests first
            assert time.monotonic() < until, "nginx goes on with the former configuration"
            time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(TIMEOUT_SECONDS)

    def _write_config(self, ports: Iterable[int]) -> None:
        first, *others = ports
        config = nginx_config(self._folder, self.port, first)
        further = "".join(f"server 127.0.0.1:{port} max_fails=0;\n" for port in others)
        config = config.replace("# server 10.0.0.2:8000 max_fails=0;", further + "#")
        config = config.replace(f":{self.port} ssl", f":{self.port}")
        lines = [line for line in config.splitlines() if not line.strip().startswith("ssl_")]
        (self._folder / "nginx.conf").write_text("\n".join(lines))


@contextmanager
def _run_worker(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        [FIELDGATE_COMMAND, "worker", "--data", folder],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # "ready for imports"
        yield
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)


def _copy_folder(source: Path, target: Path) -> None:
    """Copy a data folder with its owner and rights."""
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


def report(text: str) -> None:
    """Tell what is being done."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
