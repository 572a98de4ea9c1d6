"""Sandbox processes that a request waits for: few at a time, users take turns, and all end when the service stops.

The first one starts the fork server of the sandbox. It ends with this process.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from fieldgate.errors import Problem, ServiceUnavailable
from fieldgate.i18n.messages import Message
from fieldgate.imports.sandbox.runner import FailureReason, OnStart, SandboxFailure, SandboxLimits
from fieldgate.overload import Slots

# Per process of the service.
MAX_SANDBOX_PROCESSES = 2
TIMEOUT_RETRY_SECONDS = 60
LARGE_BYTES = 512 * 1024  # of content that takes several seconds to check
MAX_WAITING_PER_USER = 3  # they hold their bodies in memory

STOPPING = Message("The service is being restarted. Nothing was stored; please try again in a few seconds.")
TOO_BUSY = Message("Too many forms are being checked. Nothing was stored; please try again in a few seconds.")

log = logging.getLogger(__name__)

Result = TypeVar("Result")
SandboxCall = Callable[[SandboxLimits, OnStart], Result]  # blocks


class RequestSandbox:
    def __init__(self, limits: SandboxLimits) -> None:
        self._limits = limits
        self._slots = Slots(MAX_SANDBOX_PROCESSES, 1, max_waiting_per_caller=MAX_WAITING_PER_USER, refusal=TOO_BUSY)
        self._large_slots = Slots(1, 1, max_waiting_per_caller=MAX_WAITING_PER_USER, refusal=TOO_BUSY)
        self._runs: set[_SandboxRun[Any]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def slot(self, user_id: int, size: int = 0) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Large forms, of so many bytes, never have all of them at the same time."""
        async with self._large_slots.slot(user_id) if size > LARGE_BYTES else nullcontext(), self._slots.slot(user_id):
            yield

    async def run(self, call: SandboxCall[Result]) -> Result:
        """Run a call in a thread, inside a `slot`. If the request is cancelled, its process ends.

        Raise ServiceUnavailable if no process starts or the service stops, and what else the call raises.
        """
        if self._is_closed:
            raise ServiceUnavailable(STOPPING)
        run = _SandboxRun(call, self._limits)
        self._runs.add(run)
        thread = asyncio.ensure_future(asyncio.to_thread(run.start))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            run.cancel()
            await asyncio.gather(thread, return_exceptions=True)  # the slot is free when the process has ended
            raise
        except Exception as error:
            if self._is_closed:
                raise ServiceUnavailable(STOPPING) from None
            if isinstance(error, OSError):  # such as SandboxNotStarted
                log.exception("the sandbox could not be started")
                raise ServiceUnavailable from None
            raise
        finally:
            self._runs.discard(run)

    def close(self) -> None:
        """End all processes, so that the service can stop."""
        self._is_closed = True
        for run in list(self._runs):
            run.cancel()


def problem_of(failure: SandboxFailure, what: str, too_slow: Message) -> Problem | None:
    """Log that something could not be done, and return the response; None if the form itself is the reason."""
    level = logging.ERROR if failure.reason is FailureReason.FAULT else logging.WARNING
    log.log(level, "%s: %s %s", what, failure, failure.details)
    if failure.reason is FailureReason.TIME:
        return ServiceUnavailable(too_slow, TIMEOUT_RETRY_SECONDS)
    return Problem() if failure.reason is FailureReason.FAULT else None


class _SandboxRun(Generic[Result]):
    """One sandbox process, which another thread can end."""

    def __init__(self, call: SandboxCall[Result], limits: SandboxLimits) -> None:
        self._call = call
        self._limits = limits
        self._process: BaseProcess | None = None
        self._is_cancelled = False

    def start(self) -> Result:
        return self._call(self._limits, self._on_start)

    def _on_start(self, process: BaseProcess) -> None:
        self._process = process
        if self._is_cancelled:
            process.kill()

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._process is not None:
            self._process.kill()
