"""`fieldgate serve`: run the service in one or more processes."""

import asyncio
import errno
import http.client
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from fieldgate.accounts.store import AccountStore
from fieldgate.cli.common import data_option, in_use, load_settings, open_database
from fieldgate.cli.demo_user import DemoCredentials, prepare_demo_user, retire_demo_user
from fieldgate.cli.events import create_demo_events
from fieldgate.db import DataVersions
from fieldgate.metrics.access_log import logging_config
from fieldgate.metrics.metrics_folder import create_metrics_folder
from fieldgate.runtime.child_processes import (
    GRACE_PERIOD_SECONDS,
    PARENT_PID_VARIABLE,
    RestartBackoff,
)
from fieldgate.runtime.client_networks import is_in_networks
from fieldgate.runtime.process_limits import fitting_connections, limit_arenas, raise_file_limit
from fieldgate.runtime.temporary_folder import use_own_temporary_folder
from fieldgate.settings import LOOPBACK, PREFIX, Settings

DEMO_EVENTS = 2000
QUIET_LOG = {
    "ACCESS_LOG": "false",
    "LOG_LEVEL": "warning",
}  # settings of a demo on a terminal, unless they are set
STARTUP_TIMEOUT_SECONDS = 60  # then warn that the service does not respond
MAX_HEADER_BYTES = 64 * 1024  # of a request; the HTTP server may accept twice as much
BACKLOG = 4096  # connections that wait to be accepted

log = logging.getLogger(__name__)


@click.command()
@click.option(
    "--host",
    envvar=PREFIX + "HOST",
    default="127.0.0.1",
    show_default=True,
    help="Address to bind to.",
)
@click.option(
    "--port",
    envvar=PREFIX + "PORT",
    default=8000,
    show_default=True,
    type=click.IntRange(1, 65535),
    help="Port to bind to.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of processes.",
)
@click.option(
    "--import-workers",
    default=2,
    show_default=True,
    type=click.IntRange(0, 64),
    help="Number of import workers.",
)
@click.option(
    "--no-worker",
    is_flag=True,
    help="Do not start import workers; run `fieldgate worker` elsewhere.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Create a demo user and, if there are no events, demo events. Loopback only.",
)
@data_option
def serve(
    host: str,
    port: int,
    workers: int,
    import_workers: int,
    no_worker: bool,
    demo: bool,
    data: Path | None,
) -> None:
    """Run the service until it is stopped. Requests in progress are finished first."""
    is_local = host == "localhost" or is_in_networks(host, LOOPBACK)
    if demo and not is_local:
        raise click.ClickException(
            "--demo creates an account that anybody can use, so it needs a loopback address such as 127.0.0.1."
        )
    if demo and sys.stderr.isatty():
        for name, value in QUIET_LOG.items():
            os.environ.setdefault(PREFIX + name, value)
    limit_arenas()
    address = _resolve_free_address(host, port)
    settings = msgspec.structs.replace(load_settings(data), host=host, port=port)
    credentials = asyncio.run(_prepare_database(settings, demo))
    _export_settings(settings)
    if not is_local:
        click.echo(
            "Other machines can reach this port. Put a proxy with TLS in front: see packaging/nginx.conf.",
            err=True,
        )
    max_connections = _fit_connections(settings)
    server = GranianServer(
        "fieldgate.app:create_app",
        factory=True,
        address=address,
        port=port,
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        workers=workers,
        http=HTTPModes.http1,
        # The time of the headers is also that of connections that are idle between requests.
        http1_settings=HTTP1Settings(
            header_read_timeout=settings.idle_timeout * 1000, max_buffer_size=MAX_HEADER_BYTES
        ),
        backlog=BACKLOG,
        backpressure=max_connections,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE_PERIOD_SECONDS,
        log_level=LogLevels(settings.log_level),
        log_dictconfig=logging_config(settings.log_level),
        log_access=False,
    )
    server.display_host = host
    server.credentials = credentials
    server.import_workers = 0 if no_worker else import_workers
    use_own_temporary_folder()
    with in_use(settings):
        create_metrics_folder()
        server.serve()


def _fit_connections(settings: Settings) -> int:
    """Allow as many open files as possible; return how many connections a process can hold."""
    descriptors = raise_file_limit()
    fitting = fitting_connections(settings.max_connections, descriptors)
    if fitting < settings.max_connections:
        click.echo(
            f"Each process holds only {fitting} connections, because at most {descriptors} files can be open."
            f" Raise that limit (ulimit -n, LimitNOFILE=), or lower {PREFIX}MAX_CONNECTIONS.",
            err=True,
        )
    return fitting


def _resolve_free_address(host: str, port: int) -> str:
    """Return the address of the host. Fail if the port is taken: Granian would share it with another server."""
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[
            0
        ]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(target)
            probe.listen()
    except socket.gaierror:
        raise click.BadParameter(f"{host} cannot be resolved.", param_hint="--host") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message = (
                f"Port {port} is used by another program. Stop it, or choose another port: "
                "--port, or PORT= of make."
            )
        else:
            message = f"Port {port} of {host} cannot be used: {error.strerror}."
        raise click.ClickException(message) from None
    return str(target[0])


class GranianServer(Granian):  # type: ignore[misc, valid-type]  # chosen by Granian for the Python it runs on
    """Granian with import workers, a message when the service is ready, and restarts of processes that end.

    The first two run in threads, which are started after the processes are forked: threads do not survive a fork.
    Granian exits if a process ends twice within seconds. Here it is started again after a delay.
    """

    display_host = ""
    credentials: DemoCredentials | None = None
    import_workers = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._backoffs = defaultdict[int, RestartBackoff](RestartBackoff)
        self._stop_event = threading.Event()
        self._worker_threads: list[threading.Thread] = []
        self._delayed: dict[
            int, Any
        ] = {}  # processes that ended and wait to be started again, by number

    def startup(self, *arguments: Any) -> None:
        os.register_at_fork(after_in_child=_restore_signals)
        super().startup(*arguments)
        for number in range(self.import_workers):
            # With several workers, one is always free soon, whatever large files others import.
            options = ["--quick"] if number == 1 else []
            thread = threading.Thread(target=_supervise_worker, args=(self._stop_event, options))
            thread.start()
            self._worker_threads.append(thread)
        threading.Thread(
            target=_announce_when_ready,
            args=(self.display_host, self.bind_port, self.credentials),
            daemon=True,
        ).start()

    def _respawn_workers(self, workers: Iterable[int], *arguments: Any, **options: Any) -> None:
        super()._respawn_workers(
            [number for number in workers if self._is_due(number)], *arguments, **options
        )
        self.respawned_wrks.clear()  # so that Granian does not see that a process ended twice

    def _is_due(self, number: int) -> bool:
        """Whether to start a process again now; otherwise after a delay, which does not hold up the others."""
        ended = self.wrks[number]
        if ended.is_alive() or self._delayed.pop(number, None) is ended:
            return True
        lived = time.monotonic() - ended.birth
        delay = self._backoffs[number].next_delay(lived)
        if delay:
            self._delayed[number] = ended
            log.warning(
                "Process %d ended after %.0f s and is started again in %.0f s",
                number + 1,
                lived,
                delay,
            )
            timer = threading.Timer(delay, self._request_restart, (number, ended))
            timer.daemon = True
            timer.start()
        return not delay

    def _request_restart(self, number: int, ended: Any) -> None:
        """Let the main thread start a process again, unless a reload has done so."""
        if self._delayed.get(number) is ended:
            self.interrupt_children.append(number)
            self.main_loop_interrupt.set()

    def shutdown(self, *arguments: Any) -> None:
        self._stop_event.set()
        try:
            super().shutdown(*arguments)
        finally:
            for thread in self._worker_threads:
                thread.join()


def _restore_signals() -> None:
    """Let a process that still starts end at once. It would inherit handlers that only work in the main process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _supervise_worker(stop_event: threading.Event, options: Sequence[str]) -> None:
    """Keep one `fieldgate worker` running. On shutdown it finishes its current import."""
    backoff = RestartBackoff()
    while not stop_event.is_set():
        started = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "fieldgate", "worker", *options])  # noqa: S603
        while process.poll() is None and not stop_event.wait(0.2):
            pass
        if stop_event.is_set():
            process.terminate()
            process.wait()
        else:
            stop_event.wait(backoff.next_delay(time.monotonic() - started))


async def _prepare_database(settings: Settings, demo: bool) -> DemoCredentials | None:
    from fieldgate.events.queries import (  # here: its imports take a while
        has_demo_events,
        has_real_events,
    )

    async with open_database(settings, creates=True) as database:
        accounts = AccountStore(database, DataVersions(database))
        if not demo:
            await retire_demo_user(accounts, settings.data)
            return None
        credentials = await prepare_demo_user(accounts, settings.data)
        has_events = await database.in_read(
            lambda transaction: has_demo_events(transaction) or has_real_events(transaction)
        )
        if not has_events:
            await asyncio.to_thread(create_demo_events, database.sync, DEMO_EVENTS)
        return credentials


def _export_settings(settings: Settings) -> None:
    """Pass the options of the command line on to worker processes, which read the environment."""
    os.environ[PREFIX + "DATA"] = str(settings.data)
    os.environ[PREFIX + "HOST"] = settings.host
    os.environ[PREFIX + "PORT"] = str(settings.port)
    os.environ[PARENT_PID_VARIABLE] = str(os.getpid())


def _announce_when_ready(host: str, port: int, credentials: DemoCredentials | None) -> None:
    """Print the address as soon as the service responds, after the credentials of a demo."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    until = time.monotonic() + STARTUP_TIMEOUT_SECONDS
    while time.monotonic() < until:
        try:
            connection = http.client.HTTPConnection(target, port, timeout=2)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.client.OK:
                announced = f"listening on http://{shown}:{port}"
                click.echo(announced if credentials is None else f"{credentials.text}\n{announced}")
                return
        except OSError:
            pass
        time.sleep(0.05)
    click.echo("The service does not respond yet. See its log.", err=True)
