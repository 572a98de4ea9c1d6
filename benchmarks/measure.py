"""Rounds that alternate between servers, so that disturbances of the machine affect all of them."""

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import click
import msgspec

from benchmarks.requests import Request, send
from benchmarks.servers import Server

Figure = Callable[[Server], float]  # one round of a server
Figures = dict[str, list[float]]  # all rounds, by the name of the server
LOAD_SCRIPT = Path(__file__).with_name("load.lua")
RESPONSE_TIMEOUT_SECONDS = 10
EXTRA_TIMEOUT_SECONDS = 30  # for wrk, beyond the round itself


class Sample(msgspec.Struct, frozen=True):
    """What wrk measured in one round. Latencies are in microseconds."""

    requests: int
    microseconds: int
    failures: int
    median: int
    p99: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests * 1_000_000 / self.microseconds


class Load:
    """The load of wrk on a core of its own. Each round continues with the next of the requests that vary."""

    def __init__(self, request: Request, seconds: int, core: int) -> None:
        self._request = request
        self._seconds = seconds
        self._core = core
        self._sent: Counter[str] = Counter()

    def __call__(self, server: Server) -> Sample:
        request = self._request.example()
        headers = [f"--header={name}: {value}" for name, value in request.headers(server).items()]
        command = [
            "wrk", "--threads", "1", "--connections", str(request.connections), "--duration", f"{self._seconds}s",
            "--timeout", f"{RESPONSE_TIMEOUT_SECONDS}s", "--script", str(LOAD_SCRIPT), *headers,
            f"http://127.0.0.1:{server.port}{request.path}",
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            body, lines = Path(folder, "body"), Path(folder, "lines")
            body.write_bytes(request.body)
            lines.write_text("".join(f"{line}\n" for line in self._request.lines))
            environment = {
                "WORK_METHOD": request.method,
                "WORK_BODY": str(body),
                "WORK_LINES": str(lines),
            }
            finished = subprocess.run(
                command,
                env={**os.environ, **environment, "WORK_START": str(self._sent[server.name])},
                stdout=subprocess.PIPE,
                timeout=self._seconds + EXTRA_TIMEOUT_SECONDS,
                check=True,
                preexec_fn=partial(os.sched_setaffinity, 0, {self._core}),
            )
        sample = msgspec.json.decode(finished.stdout.splitlines()[-1], type=Sample)
        if sample.failures or not sample.requests:
            raise click.ClickException(
                f"{server.name} did not answer all requests for {request.path}: {sample}"
            )
        self._sent[server.name] += sample.requests + request.connections
        send(request, server)  # waits until the requests that wrk has left are finished
        return sample


def measure(figure: Figure, servers: Mapping[str, Server], rounds: int) -> Figures:
    """Measure the servers in turn, after a round for each that does not count."""
    figures: Figures = {name: [] for name in servers}
    for _ in range(rounds + 1):
        for name, server in servers.items():
            figures[name].append(figure(server))
    return {name: each[1:] for name, each in figures.items()}
