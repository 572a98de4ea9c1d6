"""The load: wrk on its own core, with a fixed number of connections."""

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import click
import msgspec

from benchmarks.contenders import Contender
from benchmarks.processes import CHECKOUT
from benchmarks.response_checks import WrongResponse
from benchmarks.work import Work

RESPONSE_TIMEOUT_SECONDS = 10
EXTRA_TIMEOUT_SECONDS = 30  # for wrk, beyond the round itself

_SCRIPT = Path(__file__).with_name("load.lua")


class Sample(msgspec.Struct, frozen=True):
    """Results of wrk for one round. Latencies are in microseconds."""

    requests: int
    microseconds: int
    refused: int
    broken: int
    late: int
    p50: int
    p99: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests * 1_000_000 / self.microseconds


def require_wrk() -> None:
    """Stop if wrk is not installed, and show the command to install it."""
    if subprocess.run([CHECKOUT / "scripts" / "need", "wrk", "wrk"], check=False).returncode:
        raise click.ClickException("wrk is required.")


def run_load(
    work: Work, contender: Contender, *, seconds: int, core: int, start: int = 0, pause: float = 0.0
) -> Sample:
    """Load one contender with the work. A walk starts at its path number `start`.

    With a `pause`, each connection waits before each request, for a random time with this mean in milliseconds.
    """
    headers = [f"--header={name}: {value}" for name, value in work.headers_for(contender.token, contender.etag).items()]
    command = [
        "wrk", "--threads", "1", "--connections", str(work.connections), "--duration", f"{seconds}s",
        "--timeout", f"{RESPONSE_TIMEOUT_SECONDS}s", "--script", str(_SCRIPT), *headers,
        f"http://127.0.0.1:{contender.port}{work.path}",
    ]  # fmt: skip
    with tempfile.NamedTemporaryFile() as body, tempfile.NamedTemporaryFile("w") as paths:
        body.write(work.body)
        body.flush()
        paths.writelines(f"{path}\n" for path in work.paths)
        paths.flush()
        finished = subprocess.run(
            command,
            env={
                **os.environ,
                "WORK_METHOD": work.method,
                "WORK_BODY": body.name,
                "WORK_SCRIPT": str(work.script or ""),
                "WORK_PATHS": paths.name,
                "WORK_START": str(start),
                "WORK_PAUSE": str(pause),
            },
            stdout=subprocess.PIPE,
            timeout=seconds + EXTRA_TIMEOUT_SECONDS,
            check=True,
            preexec_fn=partial(os.sched_setaffinity, 0, {core}),
        )
    sample = msgspec.json.decode(finished.stdout.splitlines()[-1], type=Sample)
    if sample.refused or sample.broken or sample.late:
        raise WrongResponse(f"{work.name}: {contender.name} did not answer all requests correctly: {sample}")
    if not sample.requests:
        raise WrongResponse(f"{work.name}: {contender.name} answered no request within {seconds} s; use longer rounds.")
    return sample
