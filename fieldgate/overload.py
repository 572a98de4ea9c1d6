"""Bounds on what one process does at a time, so that nobody can use it up.

Work holds slots until it has ended. Callers who wait for one take turns, those with fewest requests first: a flood of
one caller delays others little. Who has to wait for too long is answered with 503. A caller is a user, or an address
without credentials.
"""

import asyncio
import sys
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Hashable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

from fieldgate.errors import ServiceUnavailable
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.runtime.client_networks import network_of

WAIT_SECONDS = 5.0
MAX_WAITING_PER_CALLER = 50  # a browser that opens many tabs, or an office without accounts
RETRY_SECONDS = 5
# Pages and large lists are made on the event loop: a hundred of them at once would delay everybody.
MAX_COSTLY_REQUESTS = 4
# SQLite has one writer, and writers wait in the order of arrival. More writes of one user would gain little.
MAX_WRITES_PER_USER = 8
MAX_LARGE_BODIES_PER_CALLER = 2  # that are parsed and handled at a time
MAX_LOADED_BYTES = (
    16 * 1024 * 1024
)  # of bodies that are in memory as a whole; parsing them takes several times as much
MAX_UNREAD_BYTES = 128 * 1024 * 1024  # of large responses that clients have not read yet
# The HTTP server copies what it gets and keeps it until the client has read it. Of a larger body it gets one part after
# the other, and keeps some of them.
MAX_WHOLE_BYTES = 256 * 1024
PART_BYTES = 64 * 1024
NO_PROGRESS_SECONDS = 30.0  # how long a client may neither send nor read anything

# Readers choose how long an export takes: nobody has more than two, and those without credentials never have the slots
# of users.
MAX_EXPORTS = 16  # of users, and as many of addresses
MAX_EXPORTS_PER_CALLER = 2
MAX_WORKING_EXPORTS = 1  # with the threads of two, other requests wait three times as long
EXPORT_TURN_SECONDS = 600.0  # nobody waits for that long: all who work end their chunk
EXPORT_RETRY_SECONDS = 60

TOO_MANY_EXPORTS = Message("Too many exports are running. Please try again in a minute.")
TOO_MANY_UPLOADS = Message("Too many uploads are in progress. Try again in a few seconds.")

Params = ParamSpec("Params")
Result = TypeVar("Result")
Event = Any  # of ASGI


class _Turn(NamedTuple):
    future: asyncio.Future[None]
    size: int


class Slots:
    """A number of slots for work in all, and for each caller."""

    def __init__(
        self,
        total: int,
        per_caller: int,
        *,
        max_waiting_per_caller: int = MAX_WAITING_PER_CALLER,
        wait_seconds: float | None = None,
        refusal: Message | None = None,
        retry_seconds: int = RETRY_SECONDS,
    ) -> None:
        """By default callers wait for `WAIT_SECONDS`. `refusal` is the message for those who waited for too long."""
        self._total = total
        self._per_caller = per_caller
        self._max_waiting = max_waiting_per_caller
        self._wait_seconds = wait_seconds
        self._refusal = refusal
        self._retry_seconds = retry_seconds
        self._used = 0
        self._held = Counter[Hashable]()
        self._waiting: dict[Hashable, deque[_Turn]] = {}  # callers in the order of their turns

    @asynccontextmanager
    async def slot(self, caller: Hashable, size: int = 1) -> AsyncIterator[None]:
        """Hold slots until the block ends: one, or as many as there are bytes. Raise `ServiceUnavailable`."""
        size = await self.acquire(caller, size)
        try:
            yield
        finally:
            self.release(caller, size)

    async def acquire(self, caller: Hashable, size: int) -> int:
        """Wait for slots, and return how many the caller has got. Raise `ServiceUnavailable`."""
        size = min(
            size, self._per_caller
        )  # what is larger than the share of a caller would never fit
        if caller not in self._waiting and self._fits(caller, size):
            self._add(caller, size)
        else:
            await self._wait(caller, size)
        return size

    def release(self, caller: Hashable, size: int) -> None:
        self._add(caller, -size)
        if not self._held[caller]:
            del self._held[caller]
        while fitting := [each for each in self._waiting if self._may_go_on(each)]:
            next_caller = min(fitting, key=lambda each: len(self._waiting[each]))
            turns = self._waiting.pop(next_caller)
            turn = turns.popleft()
            self._add(next_caller, turn.size)
            turn.future.set_result(None)
            if turns:
                self._waiting[next_caller] = turns  # after all others

    def _add(self, caller: Hashable, size: int) -> None:
        self._used += size
        self._held[caller] += size

    def _fits(self, caller: Hashable, size: int) -> bool:
        return self._held[caller] + size <= self._per_caller and self._used + size <= self._total

    def _may_go_on(self, caller: Hashable) -> bool:
        return self._fits(caller, self._waiting[caller][0].size)

    async def _wait(self, caller: Hashable, size: int) -> None:
        if len(self._waiting.get(caller, ())) >= self._max_waiting:
            raise self._refused()
        turn = _Turn(asyncio.get_running_loop().create_future(), size)
        self._waiting.setdefault(caller, deque()).append(turn)
        seconds = WAIT_SECONDS if self._wait_seconds is None else self._wait_seconds
        try:
            await asyncio.wait([turn.future], timeout=seconds)
        except BaseException:
            self._give_up(caller, turn)
            raise
        if not turn.future.done():
            self._give_up(caller, turn)
            raise self._refused()

    def _give_up(self, caller: Hashable, turn: _Turn) -> None:
        if turn.future.done():  # the slots came at the same moment
            self.release(caller, turn.size)
            return
        self._waiting[caller].remove(turn)
        if not self._waiting[caller]:
            del self._waiting[caller]

    def _refused(self) -> ServiceUnavailable:
        return ServiceUnavailable(self._refusal, self._retry_seconds)


class Exports:
    """Files that are made while they are sent: a limited number, of which one works at a time, in turns by caller."""

    def __init__(self) -> None:
        self._user_slots = _export_slots()
        self._address_slots = _export_slots()
        # Each caller waits for one turn only, so that all callers have as many.
        self._turns_of_caller = Slots(sys.maxsize, 1, wait_seconds=EXPORT_TURN_SECONDS)
        self._turns = Slots(MAX_WORKING_EXPORTS, 1, wait_seconds=EXPORT_TURN_SECONDS)

    async def stream(
        self, chunks: AsyncGenerator[bytes, None], caller: Hashable
    ) -> AsyncGenerator[bytes, None]:
        """Yield the chunks. A slot of the caller is taken from before the first is made until the last was sent.

        `caller` is the id of a user, or an address.
        """
        slots = self._user_slots if isinstance(caller, int) else self._address_slots
        async with aclosing(chunks), slots.slot(caller):
            while True:
                async with self._turns_of_caller.slot(caller), self._turns.slot(caller):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                yield chunk


def _export_slots() -> Slots:
    return Slots(
        MAX_EXPORTS,
        MAX_EXPORTS_PER_CALLER,
        refusal=TOO_MANY_EXPORTS,
        retry_seconds=EXPORT_RETRY_SECONDS,
    )


class NoProgress(Exception):
    """The client neither sent nor read anything for too long."""


class Overload:
    """The bounds that all requests share. There is one in each process."""

    def __init__(self, max_requests: int, max_upload_bytes: int) -> None:
        self._max_requests = max_requests
        self.requests = 0  # in work; those that wait for their client do not count, because a slow client costs little
        self.costly = Slots(MAX_COSTLY_REQUESTS, 1)
        self.writes = Slots(sys.maxsize, MAX_WRITES_PER_USER, max_waiting_per_caller=sys.maxsize)
        self.uploads = Slots(
            max_upload_bytes, max(1, max_upload_bytes // 2), refusal=TOO_MANY_UPLOADS
        )
        self.loaded_bodies = Slots(MAX_LOADED_BYTES, MAX_LOADED_BYTES, refusal=TOO_MANY_UPLOADS)
        self.large_bodies = Slots(
            sys.maxsize, MAX_LARGE_BODIES_PER_CALLER, refusal=TOO_MANY_UPLOADS
        )
        self.responses = Slots(MAX_UNREAD_BYTES, MAX_UNREAD_BYTES // 2)
        self.exports = Exports()

    def check_requests(self) -> None:
        """Raise `ServiceUnavailable` if there are more requests than allowed, with the one that asks."""
        if self.requests > self._max_requests:
            raise ServiceUnavailable

    async def wait_for_client(self, transfer: Awaitable[Result]) -> Result:
        """Receive or send a part. Raise `NoProgress`."""
        self.requests -= 1
        try:
            async with asyncio.timeout(NO_PROGRESS_SECONDS):
                return await transfer
        except TimeoutError:
            raise NoProgress from None
        finally:
            self.requests += 1

    def in_parts(
        self, send: Callable[[Event], Awaitable[None]]
    ) -> Callable[[Event], Awaitable[None]]:
        """ASGI's `send`, which passes a large body on in parts. It raises `NoProgress`."""

        async def send_parts(event: Event) -> None:
            body, has_more = event.get("body", b""), event.get("more_body", False)
            if len(body) <= MAX_WHOLE_BYTES:
                await self.wait_for_client(send(event))
                return
            for end in range(PART_BYTES, len(body) + PART_BYTES, PART_BYTES):
                part = {
                    **event,
                    "body": body[end - PART_BYTES : end],
                    "more_body": has_more or end < len(body),
                }
                await self.wait_for_client(send(part))

        return send_parts


def caller_key(caller: Caller, address: str) -> Hashable:
    """Who holds a slot: a user with service accounts, or the address of a caller without credentials."""
    return network_of(address) if caller.quota_id is None else caller.quota_id


async def run_in_thread(
    work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function in a thread. A caller that is cancelled waits until it has ended: the work holds its slot."""
    return await run_interruptible(partial(work, *args, **kwargs), lambda: None)


async def run_interruptible(work: Callable[[], Result], interrupt: Callable[[], None]) -> Result:
    """Run a function in a thread. A caller that is cancelled interrupts it, and waits until it has ended."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        interrupt()
        await asyncio.gather(running, return_exceptions=True)
        raise


async def run_in_thread_if(
    is_large: bool, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function in a thread if the input is large, otherwise at once.

    Small inputs take less time than the switch to a thread and back.
    """
    if is_large:
        return await run_in_thread(work, *args, **kwargs)
    return work(*args, **kwargs)


class SharedCall(Generic[Result]):
    """A function without arguments. Callers that wait at the same time share one call of it."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._function = function
        self._running: asyncio.Task[Result] | None = None

    async def __call__(self) -> Result:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._function())
        # A caller that is cancelled does not take the result from the others.
        return await asyncio.shield(self._running)
