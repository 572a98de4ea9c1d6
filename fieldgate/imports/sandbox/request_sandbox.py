"""Sandbox processes that a request waits for: few at a time, users take turns, and all end when the service stops.

The first one starts the fork server of the sandbox. It ends with this process.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from multiprocessing.process import BaseProcess
from typing import TypeVar

from fieldgate.errors import Problem, ServiceUnavailable
from fieldgate.i18n.messages import Message
from fieldgate.imports.sandbox.runner import FailureReason, OnStart, SandboxFailure, SandboxLimits
from fieldgate.overload import Slots

# Per process of the service.
MAX_SANDBOX_PROCESSES = 2
TIMEOUT_RETRY_SECONDS = 60
LARGE_BYTES = 512 * 1024  # of content that takes several seconds to check
MAX_WAITING_PER_USER = 3  # they hold their bodies in memory

STOPPING = Message(
    "The service is being restarted. Nothing was stored; please try again in a few seconds."
)
SERVER_BUSY = Message(
    "The server is too busy to read the form. Nothing was stored; please try again in a minute."
)
TOO_BUSY = Message(
    "Too many forms are being checked. Nothing was stored; please try again in a few seconds."
)

log = logging.getLogger(__name__)

Result = TypeVar("Result")
SandboxCall = Callable[[SandboxLimits, OnStart], Result]  # blocks


class RequestSandbox:
    def __init__(self, limits: SandboxLimits) -> None:
        self._limits = limits
        self._slots = Slots(
            MAX_SANDBOX_PROCESSES, 1, max_waiting_per_caller=MAX_WAITING_PER_USER, refusal=TOO_BUSY
        )
        self._long_slots = Slots(
            MAX_SANDBOX_PROCESSES - 1,
            1,
            max_waiting_per_caller=MAX_WAITING_PER_USER,
            refusal=TOO_BUSY,
        )
        self._cancels: set[Callable[[], None]] = set()  # of the calls that run
        self._is_closed = False

    @asynccontextmanager
    async def slot(self, user_id: int, *, is_long: bool = False) -> AsyncIterator[None]:
        """Hold a slot until the block ends. Long work never has all of them at the same time."""
        async with (
            self._long_slots.slot(user_id) if is_long else nullcontext(),
            self._slots.slot(user_id),
        ):
            yield

    async def run(self, call: SandboxCall[Result]) -> Result:
        """Run a call in a thread, inside a `slot`. If the request is cancelled, its process ends.

        Raise ServiceUnavailable if no process starts or the service stops, and what else the call raises.
        """
        if self._is_closed:
            raise ServiceUnavailable(STOPPING)
        started: list[BaseProcess] = []
        is_cancelled = threading.Event()

        def note_start(process: BaseProcess) -> None:
            started.append(process)
            if is_cancelled.is_set():
                process.kill()

        def cancel() -> None:
            is_cancelled.set()
            for process in started:
                process.kill()

        self._cancels.add(cancel)
        thread = asyncio.ensure_future(asyncio.to_thread(call, self._limits, note_start))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            cancel()
            await asyncio.gather(
                thread, return_exceptions=True
            )  # the slot is free when the process has ended
            raise
        except Exception as error:
            if self._is_closed:
                raise ServiceUnavailable(STOPPING) from None
            if isinstance(error, OSError):  # such as SandboxNotStarted
                log.exception("the sandbox could not be started")
                raise ServiceUnavailable from None
            raise
        finally:
            self._cancels.discard(cancel)

    def close(self) -> None:
        """End all processes, so that the service can stop."""
        self._is_closed = True
        for cancel in list(self._cancels):
            cancel()


def problem_of(failure: SandboxFailure, what: str, too_slow: Message) -> Problem | None:
    """Log that something could not be done, and return the response; None if the form itself is the reason."""
    level = logging.ERROR if failure.reason is FailureReason.FAULT else logging.WARNING
    log.log(level, "%s: %s %s", what, failure, failure.details)
    if failure.reason is FailureReason.BUSY:
        return ServiceUnavailable(SERVER_BUSY, TIMEOUT_RETRY_SECONDS)
    if failure.reason is FailureReason.TIME:
        return ServiceUnavailable(too_slow, TIMEOUT_RETRY_SECONDS)
    return Problem() if failure.reason is FailureReason.FAULT else None
