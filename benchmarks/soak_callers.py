"""Well-behaved callers of a soak test, as a process of their own.

Requests follow a schedule that does not depend on responses (open loop), and a latency counts from the scheduled time.
So a server that stalls is charged for every request that would have been sent meanwhile.
"""

import asyncio
import gc
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import msgspec

from benchmarks.forms import form

TIMEOUT_SECONDS = 10.0  # a request without a response by then has failed
MAX_WAITING = 2000  # requests; more are not sent and count as failed
NEW_CONNECTION_SHARE = 0.1  # of requests that do not reuse a connection
CAPACITY_CONCURRENCY = 16
QUESTIONS = 5  # of an imported form

# Shares of requests. Imports have a low rate of their own: each one also takes a worker's time.
SHARES = {"list reader": 0.6, "reader with a token": 0.3, "sharing": 0.1}
IMPORTER = "importer"
IMPORTS_PER_SECOND = 2.0
KINDS = (*SHARES, IMPORTER)


class Person(msgspec.Struct, frozen=True):
    """One user with an own address, token, form and colleagues."""

    address: str
    token: str
    asset: str
    members: list[str]


class CallerJob(msgspec.Struct, frozen=True):
    """What the process does: the highest rate for some seconds, or a fixed rate until a time."""

    port: int
    people: list[Person]
    events: int
    results: str  # file to write
    rate: float = 0.0  # requests a second; 0 means as many as possible
    seconds: float = 0.0
    seed: int = 0


class CallSample(NamedTuple):
    """Scheduled time by the monotonic clock, caller, seconds until the response was read, status (0: none)."""

    at: float
    kind: str
    seconds: float
    status: int

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class Callers:
    """All callers, with one HTTP session for each person."""

    def __init__(self, job: CallerJob) -> None:
        self._job = job
        self._random = random.Random(job.seed)
        self.samples: list[CallSample] = []
        self._waiting = 0
        self._book = form(QUESTIONS)
        self._assigned: dict[str, str] = {}  # path of an assignment to delete next, by address
        self._requests: dict[str, Callable[[], Any]] = {
            "list reader": self._read_list,
            "reader with a token": self._read_own,
            "sharing": self._share,
            IMPORTER: self._import_form,
        }
        self._turns: Iterator[int] = itertools.count()

    async def __aenter__(self) -> "Callers":
        self._sessions = [self._session(person.address, limit=64) for person in self._job.people]
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._sessions:
            await session.close()

    def _session(self, address: str, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            f"http://127.0.0.1:{self._job.port}",
            connector=aiohttp.TCPConnector(limit=limit, local_addr=(address, 0), keepalive_timeout=5),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            auto_decompress=False,
        )

    async def measure_capacity(self) -> float:
        """Requests per second of the usual mix, each caller sending as soon as it is answered."""
        until = time.monotonic() + self._job.seconds
        began = time.monotonic()

        async def send_all_the_time() -> None:
            while time.monotonic() < until:
                await self.call(self._choose_kind(), time.monotonic())

        await asyncio.gather(*(send_all_the_time() for _ in range(CAPACITY_CONCURRENCY)))
        return sum(sample.is_good for sample in self.samples) / (time.monotonic() - began)

    async def follow_schedule(self) -> None:
        """Send at the fixed rate, with random gaps, whatever the server does."""
        until = time.monotonic() + self._job.seconds
        schedules = (
            self._follow(until, self._job.rate, self._choose_kind),
            self._follow(until, IMPORTS_PER_SECOND, lambda: IMPORTER),
        )
        await asyncio.gather(*schedules)

    async def _follow(self, until: float, rate: float, choose: Callable[[], str]) -> None:
        tasks: set[asyncio.Task[None]] = set()
        at = time.monotonic()
        while at < until:
            at += self._random.expovariate(rate)
            delay = at - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            if self._waiting >= MAX_WAITING:
                self.samples.append(CallSample(at, choose(), TIMEOUT_SECONDS, 0))
                continue
            task = asyncio.create_task(self.call(choose(), at))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    def _choose_kind(self) -> str:
        return self._random.choices(list(SHARES), list(SHARES.values()))[0]

    async def call(self, kind: str, at: float) -> None:
        """Send one request that was scheduled for a time."""
        self._waiting += 1
        status = 0
        try:
            status = await self._requests[kind]()
        except (aiohttp.ClientError, OSError, TimeoutError):
            status = 0
        finally:
            self._waiting -= 1
        seconds = time.monotonic() - at if status else TIMEOUT_SECONDS
        self.samples.append(CallSample(at, kind, seconds, status))

    def _next_person(self) -> tuple[Person, aiohttp.ClientSession]:
        number = next(self._turns) % len(self._sessions)
        return self._job.people[number], self._sessions[number]

    async def _read_list(self) -> int:
        person, session = self._next_person()
        offset = self._random.choice((0, 0, 0, 50, self._random.randrange(max(1, self._job.events - 50))))
        path = f"/api/v2/event/?limit=50&offset={offset}"
        if self._random.random() < NEW_CONNECTION_SHARE:
            async with self._session(person.address, limit=1) as alone:
                return await _status(alone.get(path))
        return await _status(session.get(path))

    async def _read_own(self) -> int:
        person, session = self._next_person()
        path = self._random.choice(
            ("/api/v2/permissions/", "/api/v2/imports/?limit=20", f"/api/v2/assets/{person.asset}/")
        )
        return await _status(session.get(path, headers=_token(person)))

    async def _share(self) -> int:
        """Assign a permission, and remove it the next time."""
        person, session = self._next_person()
        if held := self._assigned.pop(person.address, None):
            return await _status(session.delete(held, headers=_token(person)))
        body = {
            "user": f"/api/v2/users/{self._random.choice(person.members)}/",
            "permission": "/api/v2/permissions/view_asset/",
        }
        path = f"/api/v2/assets/{person.asset}/permission-assignments/"
        async with session.post(path, json=body, headers=_token(person)) as response:
            record = await response.read()
            if response.status == 201:
                self._assigned[person.address] = urlsplit(msgspec.json.decode(record)["url"]).path
            return response.status

    async def _import_form(self) -> int:
        person, session = self._next_person()
        data = aiohttp.FormData()
        data.add_field("file", self._book, filename="form.xlsx")
        return await _status(session.post("/api/v2/imports/", data=data, headers=_token(person)))


def _token(person: Person) -> dict[str, str]:
    return {"Authorization": f"Token {person.token}"}


async def _status(request: Any) -> int:
    async with request as response:
        await response.read()
        return int(response.status)


async def run(job: CallerJob) -> list[CallSample] | float:
    """All samples of a fixed rate, or the highest rate."""
    async with Callers(job) as callers:
        if not job.rate:
            return await callers.measure_capacity()
        await callers.follow_schedule()
        return callers.samples


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=CallerJob)
    gc.disable()  # its pauses would count as the server's
    Path(job.results).write_bytes(msgspec.json.encode(asyncio.run(run(job))))


if __name__ == "__main__":
    main()
