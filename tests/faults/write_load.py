"""Clients that write while something fails, and what they were told: the base of every claim about lost writes.

Each write is repeated, as a careful client does, until it is acknowledged: imports with their Idempotency-Key, events
with PUT, assignments with the same POST.
"""

import asyncio
import itertools
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

from tests.imports.workbooks import xlsx

KINDS = ("imports", "events", "assignments")
SECONDS_BETWEEN = {"imports": 0.4, "events": 0.12, "assignments": 0.12}  # of one writer
WRITERS = {"imports": 1, "events": 2, "assignments": 2}
RETRY_SECONDS = 0.1
REQUEST_TIMEOUT_SECONDS = 20
SETTLE_SECONDS = 90  # for writes in progress at the end
READ_SECONDS = 5  # how long a written event is looked for while the service does not answer
FLOOD = 12
ALLOWED_STATUSES = {200, 201, 503}
BOOK = xlsx()


def event_body(id_: int, value: int) -> dict[str, Any]:
    """What is sent to write an event with this value."""
    return {
        "name": {"en": f"Event {id_}"}, "disaster_start_date": "2026-07-14", "dtype": FLOOD, "visibility": 3,
        "num_affected": value,
    }  # fmt: skip


class Acknowledged(msgspec.Struct):
    """What the service confirmed."""

    imports: dict[str, str] = {}  # uids by file name
    events: dict[int, int] = {}  # the last value by id
    assignments: set[tuple[str, str]] = set()  # uid of the asset and username

    @property
    def count(self) -> int:
        return len(self.imports) + len(self.events) + len(self.assignments)


class WriteLoad:
    """Writers at a bounded rate until the end of the block, which waits until all writes are acknowledged."""

    def __init__(
        self,
        base_url: str,
        token: str,
        event_ids: Iterator[int],
        pairs: Iterator[tuple[str, str]],
    ) -> None:
        self.acknowledged = Acknowledged()
        self.statuses: Counter[str] = Counter()
        self.unexpected: list[str] = []
        self.stale_reads: list[str] = []
        self.longest_pause = 0.0  # between two acknowledged writes of any kind
        self._event_ids = event_ids
        self._pairs = pairs
        self._name = secrets.token_hex(4)
        self._numbers = itertools.count()
        self._last_success = dict.fromkeys(
            KINDS, float("-inf")
        )  # when the last successful request began
        self._successes = 0
        self._last_acknowledged = float("inf")
        self._is_stopped = False
        # A new connection for each request, so that every process gets some.
        self._client = httpx.AsyncClient(
            base_url=base_url,
            headers={"Authorization": f"Token {token}"},
            timeout=REQUEST_TIMEOUT_SECONDS,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def __aenter__(self) -> Self:
        writers = {
            "imports": self._write_import,
            "events": self._write_event,
            "assignments": self._write_assignment,
        }
        self._tasks = [
            asyncio.create_task(self._write_until_stopped(kind, writers[kind]))
            for kind, number in WRITERS.items()
            for _ in range(number)
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_stopped = True
        if error is not None:
            for task in self._tasks:
                task.cancel()
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await asyncio.gather(*self._tasks, return_exceptions=error is not None)
        finally:
            await self._client.aclose()

    async def recovery_seconds(self, since: float, timeout_seconds: float) -> float:
        """Wait until a request of every kind that began after `since` was acknowledged; seconds from then on."""
        until = time.monotonic() + timeout_seconds
        while min(self._last_success.values()) < since:
            for task in self._tasks:
                assert not task.done(), task.exception()
            assert time.monotonic() < until, (
                f"no recovery within {timeout_seconds} s: {self.statuses}"
            )
            await asyncio.sleep(0.01)
        return time.monotonic() - since

    async def wait_for_writes(self, number: int) -> None:
        """Wait until this many more writes are acknowledged."""
        wanted = self._successes + number
        while self._successes < wanted:
            for task in self._tasks:
                assert not task.done(), task.exception()
            await asyncio.sleep(0.01)

    async def _write_until_stopped(
        self, kind: str, write: Callable[[dict[str, int]], Awaitable[None]]
    ) -> None:
        own: dict[str, int] = {}
        while not self._is_stopped:
            await write(own)
            await asyncio.sleep(SECONDS_BETWEEN[kind])

    async def _write_import(self, own: dict[str, int]) -> None:
        name = f"{self._name}-{next(self._numbers)}.xlsx"
        response = await self._send_until_acknowledged(
            "imports",
            "POST",
            "/api/v2/imports/",
            headers={"Idempotency-Key": name},
            files={"file": (name, BOOK)},
        )
        self.acknowledged.imports[name] = response["uid"]

    async def _write_event(self, own: dict[str, int]) -> None:
        """Create an event, then replace it four times; read each through any process."""
        turn = own["turn"] = own.get("turn", -1) + 1
        if turn % 5 == 0:
            own["id"] = next(self._event_ids)
        id_, path = own["id"], f"/api/v2/event/{own['id']}/"
        await self._send_until_acknowledged("events", "PUT", path, json=event_body(id_, turn))
        self.acknowledged.events[id_] = turn
        await self._read_back(id_, turn, time.monotonic(), is_list=turn % 2 == 1)

    async def _write_assignment(self, own: dict[str, int]) -> None:
        uid, username = next(self._pairs)
        body = {
            "user": f"/api/v2/users/{username}/",
            "permission": "/api/v2/permissions/view_asset/",
        }
        path = f"/api/v2/assets/{uid}/permission-assignments/"
        await self._send_until_acknowledged("assignments", "POST", path, json=body)
        self.acknowledged.assignments.add((uid, username))

    async def _send_until_acknowledged(
        self, kind: str, method: str, path: str, **options: Any
    ) -> dict[str, Any]:
        while True:
            began = time.monotonic()
            response = await self._send(method, path, **options)
            if response is not None and response.status_code in (200, 201):
                self._last_success[kind] = max(self._last_success[kind], began)
                self._successes += 1
                self.longest_pause = max(
                    self.longest_pause, time.monotonic() - self._last_acknowledged
                )
                self._last_acknowledged = time.monotonic()
                record: dict[str, Any] = response.json()
                return record
            await asyncio.sleep(RETRY_SECONDS)

    async def _send(self, method: str, path: str, **options: Any) -> httpx.Response | None:
        try:
            response = await self._client.request(method, path, **options)
        except httpx.TransportError as error:
            self.statuses[type(error).__name__] += 1
            return None
        self.statuses[str(response.status_code)] += 1
        if response.status_code not in ALLOWED_STATUSES:
            self.unexpected.append(f"{method} {path}: {response.status_code} {response.text[:200]}")
            assert len(self.unexpected) < 50, self.unexpected
        return response

    async def _read_back(self, id_: int, value: int, acknowledged_at: float, is_list: bool) -> None:
        """Read the event until there is an answer, which must have the value."""
        path = f"/api/v2/event/?id__in={id_}" if is_list else f"/api/v2/event/{id_}/"
        while time.monotonic() - acknowledged_at < READ_SECONDS:
            seconds = time.monotonic() - acknowledged_at
            answer = await self._read_value(path, is_list)
            if answer == value:
                return
            if answer is not None:
                self.stale_reads.append(
                    f"{path}: {answer} instead of {value}, {seconds:.3f} s after the acknowledgement"
                )
                return
            await asyncio.sleep(0.02)

    async def _read_value(self, path: str, is_list: bool) -> int | None:
        """The value of an event, -1 if there is no such event, None without an answer."""
        try:
            response = await self._client.get(path)
        except httpx.TransportError:
            return None
        if response.status_code == 404:
            return -1
        if response.status_code != 200:
            return None
        record = response.json()
        if is_list:
            if not record["results"]:
                return -1
            record = record["results"][0]
        return int(record["num_affected"] or 0)
