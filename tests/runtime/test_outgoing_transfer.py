"""How fast a client reads, and breaking a response off."""

import asyncio
from typing import Any

import pytest

from fieldgate.runtime.outgoing_transfer import (
    LONG_BYTES_PER_SECOND,
    LONG_SECONDS,
    SLOW_BYTES_PER_SECOND,
    WINDOW_SECONDS,
    BrokenOff,
    OutgoingTransfer,
)

PART = 256 * 1024


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def read(transfer: OutgoingTransfer, clock: Clock, rate: float, seconds: float, part: int = PART) -> None:
    """Let a client read at a rate for some time."""
    until = clock.now + seconds
    while clock.now < until:
        transfer.begin_part(part)
        clock.now += part / rate
        transfer.end_part()


def test_a_fast_client_is_never_slow() -> None:
    clock = Clock()
    transfer = OutgoingTransfer(clock)
    for _ in range(20):
        read(transfer, clock, 2 * LONG_BYTES_PER_SECOND, LONG_SECONDS / 10)
        assert not transfer.is_slow


def test_a_slow_client_has_some_seconds() -> None:
    clock = Clock()
    transfer = OutgoingTransfer(clock)
    read(transfer, clock, SLOW_BYTES_PER_SECOND / 8, WINDOW_SECONDS - 2, part=4096)
    assert not transfer.is_slow
    read(transfer, clock, SLOW_BYTES_PER_SECOND / 8, 2, part=4096)
    assert transfer.is_slow
    assert transfer.rate == pytest.approx(SLOW_BYTES_PER_SECOND / 8, rel=0.2)


def test_a_client_that_stops_becomes_slow() -> None:
    clock = Clock()
    transfer = OutgoingTransfer(clock)
    read(transfer, clock, 100 * PART, 20)
    transfer.begin_part(PART)
    clock.now += WINDOW_SECONDS - 2
    assert not transfer.is_slow
    clock.now += 4
    assert transfer.is_slow
    assert transfer.rate == 0


def test_a_client_on_a_slow_line_has_two_minutes() -> None:
    clock = Clock()
    transfer = OutgoingTransfer(clock)
    read(transfer, clock, 2 * SLOW_BYTES_PER_SECOND, LONG_SECONDS - 5)
    assert not transfer.is_slow
    read(transfer, clock, 2 * SLOW_BYTES_PER_SECOND, 6)
    assert transfer.is_slow


def test_work_of_the_service_does_not_count() -> None:
    clock = Clock()
    transfer = OutgoingTransfer(clock)
    for _ in range(100):
        read(transfer, clock, 10 * LONG_BYTES_PER_SECOND, 0.1)
        clock.now += 60
    assert not transfer.is_slow


async def test_a_response_is_broken_off_while_the_client_does_not_read() -> None:
    transfer = OutgoingTransfer()
    is_sending = asyncio.Event()

    async def send(_: Any) -> None:
        is_sending.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(_send_one(transfer, send))
    await is_sending.wait()
    transfer.break_off()
    with pytest.raises(BrokenOff):
        await task


async def test_a_response_is_broken_off_between_two_parts() -> None:
    transfer = OutgoingTransfer()
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    await _send_one(transfer, send)
    transfer.break_off()
    with pytest.raises(BrokenOff):
        await _send_one(transfer, send)
    assert len(sent) == 1


async def test_other_timeouts_stay_what_they_are() -> None:
    async def send(_: Any) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await _send_one(OutgoingTransfer(), send)


async def _send_one(transfer: OutgoingTransfer, send: Any) -> None:
    await transfer.measure(send)({"type": "http.response.body", "body": b"x", "more_body": True})
