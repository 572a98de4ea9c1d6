import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fieldgate.http.response.large_bodies import MAX_WHOLE_BYTES, SLICE_BYTES, BrokenOff, LargeBodies, SlicedSend

CLIENT = ("127.0.0.1", "5000")
BODY = bytes(range(256)) * (4 * SLICE_BYTES // 256 + 1)
MAX_BYTES = 2 * len(BODY)


class Reader:
    """A client that takes some parts and then none, until it goes on."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._goes_on = asyncio.Event()
        self.events: list[Any] = []

    async def send(self, event: Any) -> None:
        if len(self.events) == self._parts:
            await self._goes_on.wait()
        self.events.append(event)

    def go_on(self) -> None:
        self._goes_on.set()

    @property
    def body(self) -> bytes:
        return b"".join(event["body"] for event in self.events)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def bodies(clock: Clock) -> LargeBodies:
    return LargeBodies(MAX_BYTES, clock)


@pytest.mark.parametrize("has_more", [False, True])
async def test_large_body_is_sent_in_parts(bodies: LargeBodies, has_more: bool) -> None:
    reader = Reader(100)
    waiting: set[tuple[str, str]] = set()
    body = BODY * 2
    assert len(body) > MAX_WHOLE_BYTES
    await SlicedSend(reader.send, bodies, CLIENT, waiting)(
        {"type": "http.response.body", "body": body, "more_body": has_more}
    )
    assert reader.body == body
    assert {len(event["body"]) for event in reader.events[:-1]} == {SLICE_BYTES}
    assert [event["more_body"] for event in reader.events] == [True] * (len(reader.events) - 1) + [has_more]
    assert (waiting, bodies.size) == (set(), 0)


async def test_slowest_client_gives_way_when_too_many_bytes_wait(bodies: LargeBodies, clock: Clock) -> None:
    stalled, slow, fast = Reader(1), Reader(3), Reader(100)
    sending = [asyncio.create_task(bodies.send(each.send, BODY, has_more=False)) for each in (slow, stalled)]
    await asyncio.sleep(0)
    clock.now = 10.0
    await bodies.send(fast.send, BODY, has_more=False)
    assert fast.body == BODY
    with pytest.raises(BrokenOff):
        await sending[1]
    assert bodies.size == len(BODY)
    slow.go_on()
    await sending[0]
    assert slow.body == BODY
    assert bodies.size == 0


async def test_one_body_is_sent_however_large_it_is(clock: Clock) -> None:
    reader = Reader(100)
    await LargeBodies(1, clock).send(reader.send, BODY, has_more=False)
    assert reader.body == BODY


@pytest.mark.parametrize("error", [OSError, TimeoutError, asyncio.CancelledError])
async def test_body_that_failed_no_longer_counts(bodies: LargeBodies, error: type[BaseException]) -> None:
    async def fail(event: Any) -> None:
        raise error

    failing: Callable[[Any], Awaitable[None]] = fail
    with pytest.raises(error):
        await bodies.send(failing, BODY, has_more=False)
    assert bodies.size == 0
