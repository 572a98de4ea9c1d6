"""Keys that can be used once, on both databases."""

import asyncio
from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from fieldgate.db import AsyncDatabase
from fieldgate.db.one_time_keys import OneTimeKeys
from fieldgate.db.tables import leases

DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def _names(database: AsyncDatabase) -> list[str]:
    async with database.read_transaction() as connection:
        return list(
            (await connection.execute(select(leases.c.name).order_by(leases.c.name))).scalars()
        )


async def test_key_can_be_used_once(database: AsyncDatabase) -> None:
    first_process, second_process = OneTimeKeys(database, DAY), OneTimeKeys(database, DAY)
    assert await first_process.use("a")
    assert not await first_process.use("a")
    assert not await second_process.use("a")
    assert await second_process.use("b" * 5000)


async def test_of_several_uses_at_once_one_is_the_first(database: AsyncDatabase) -> None:
    keys = [OneTimeKeys(database, DAY) for _ in range(5)]
    assert sorted(await asyncio.gather(*(each.use("a") for each in keys))) == [False] * 4 + [True]


async def test_only_a_hash_is_stored_and_expired_keys_are_forgotten(
    database: AsyncDatabase,
) -> None:
    async with database.transaction() as connection:
        await connection.execute(
            leases.insert().values(name="other work", holder="x", expires=EPOCH)
        )
    assert await OneTimeKeys(database, timedelta(0)).use("secret")
    _, stored = await _names(database)
    assert "secret" not in stored
    assert await OneTimeKeys(database, DAY).use("other")
    names = await _names(database)
    assert stored not in names
    assert "other work" in names, "an expired lease of other work stays"
