"""kill -9 during a thousand writes: every change has exactly one entry in the log, and no entry is without a change."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, assignments
from fieldgate.db import AsyncDatabase
from fieldgate.db.log import LOG_TYPES, count_entries, log
from fieldgate.events.tables import events
from tests.faults.kill_matrix import Site, run_site

WRITES, WRITERS, KILLS = 1000, 6, 10
RETRY_SECONDS = 0.05
EVENT = {"name": "Floods", "disaster_start_date": "2026-07-14", "countries": [123]}


async def _write_all(site: Site, numbers: Iterator[int], done: list[int]) -> None:
    """Each write is repeated until it is acknowledged, as a careful client does."""
    headers = {"Authorization": f"Token {site.token}"}
    async with httpx.AsyncClient(
        base_url=site.server.base_url, headers=headers, timeout=20
    ) as client:
        for number in numbers:
            uid, name = site.assignable[number]
            body = {"user": name, "permission": "view_asset"}
            is_done = False
            while not is_done:
                with suppress(httpx.HTTPError):
                    answer = (
                        await client.post(
                            f"/api/v2/assets/{uid}/permission-assignments/", json=body
                        )
                        if number % 2
                        else await client.put(f"/api/v2/event/{100_000 + number}/", json=EVENT)
                    )
                    assert answer.status_code in (200, 201, 502, 503), answer.text
                    is_done = answer.status_code < 300
                if not is_done:
                    await asyncio.sleep(RETRY_SECONDS)
            done.append(number)


async def _kill_now_and_then(site: Site, done: list[int]) -> None:
    rng = random.Random(1)
    for kill in range(1, KILLS + 1):
        while len(done) < kill * WRITES // (KILLS + 1):
            await asyncio.sleep(0.01)
        while not (processes := site.serving_processes()):
            await asyncio.sleep(0.01)
        with suppress(ProcessLookupError):
            os.kill(rng.choice(processes), signal.SIGKILL)


@pytest.mark.parametrize("database", ["SQLite", "PostgreSQL"])
async def test_entries_and_changes_agree(database: str) -> None:
    async with run_site(database, processes=2) as site:
        numbers, done = iter(range(WRITES)), list[int]()
        killing = asyncio.create_task(_kill_now_and_then(site, done))
        await asyncio.gather(*(_write_all(site, numbers, done) for _ in range(WRITERS)))
        await killing
        opened = AsyncDatabase(site.direct_url)
        try:
            async with opened.read_transaction() as connection:
                shared = select(assets.c.uid, assignments.c.user_id).join_from(assignments, assets)
                changed = Counter(
                    ("asset", uid, user_id) for uid, user_id in await connection.execute(shared)
                )
                changed.update(
                    ("event", str(id_), None)
                    for (id_,) in await connection.execute(select(events.c.id))
                )
                entries = select(log.c.model_name, log.c.object_uid, log.c.subject_id)
                # A write that was not acknowledged and is repeated changes the time of the event.
                entries = entries.where(
                    log.c.model_name.in_(("asset", "event")), log.c.action != "update"
                )
                logged = Counter(tuple(row) for row in await connection.execute(entries))
                everything = len((await connection.execute(select(log.c.id))).all())
                assert await count_entries(connection, LOG_TYPES) == everything
        finally:
            await opened.close()
    assert len(done) == WRITES == logged.total()
    assert logged == changed
