"""The log, on both databases: entries, counts, rows per minute, removal of old entries and of names."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import Row, func, select

from fieldgate.accounts.account_log import login_entry
from fieldgate.db import AsyncDatabase, Timestamp, now
from fieldgate.db import log as log_module
from fieldgate.db.log import (
    ACCESS,
    LOG_TYPES,
    PROJECT,
    USERS,
    LogEntry,
    LogObject,
    LogUser,
    blank_names,
    count_entries,
    count_in_log,
    log,
    purge_log,
    write_log,
    write_log_sync,
)
from fieldgate.identity import Caller, Origin, User

AMINA = User(
    id=7,
    username="amina",
    uid="uAmina",
    credential="laptop",
    origin=Origin("10.0.0.7", {b"user-agent": b"curl/8"}, b"r-1"),
)
FORM = LogObject("asset", "aForm", "Household survey", owner_id=7)
RENAMED = LogEntry(
    log_type=PROJECT,
    action="update-name",
    object=FORM,
    subject=LogUser(9, "uBob", "bob"),
    details={"name": {"old": "A", "new": "B"}},
)
DOWNLOAD = LogEntry(log_type=ACCESS, action="export", object=FORM)


async def _entries(database: AsyncDatabase) -> Sequence[Row[Any]]:
    async with database.read_transaction() as connection:
        return (await connection.execute(select(log).order_by(log.c.id))).all()


async def _count(database: AsyncDatabase, *types: str) -> int:
    async with database.read_transaction() as connection:
        return await count_entries(connection, types or LOG_TYPES)


async def test_entry_has_who_what_where_and_names(database: AsyncDatabase) -> None:
    async with database.transaction() as connection:
        await write_log(connection, AMINA, RENAMED)
    [entry] = await _entries(database)
    assert (entry.user_id, entry.user_uid, entry.username, entry.credential) == (
        7,
        "uAmina",
        "amina",
        "laptop",
    )
    assert (entry.ip_address, entry.source, entry.request_id) == ("10.0.0.7", "curl/8", "r-1")
    assert (entry.model_name, entry.object_uid, entry.object_name) == (
        "asset",
        "aForm",
        "Household survey",
    )
    assert (entry.subject_id, entry.subject_name, entry.owner_id) == (9, "bob", 7)
    assert entry.details == {"name": {"old": "A", "new": "B"}}


async def test_long_values_are_cut(database: AsyncDatabase) -> None:
    """Headers are chosen by the caller; no entry may fail because of them."""
    origin = Origin("1" * 99, {b"user-agent": b"x" * 9999}, b"y" * 500)
    caller = msgspec.structs.replace(AMINA, origin=origin, credential="z" * 500)
    async with database.transaction() as connection:
        await write_log(connection, caller, RENAMED)
    [entry] = await _entries(database)
    assert [len(value) for value in (entry.ip_address, entry.source, entry.request_id)] == [
        45,
        200,
        64,
    ]


async def test_rolled_back_change_has_no_entry(database: AsyncDatabase) -> None:
    with pytest.raises(ZeroDivisionError):
        async with database.transaction() as connection:
            await write_log(connection, AMINA, RENAMED)
            raise ZeroDivisionError
    assert not await _entries(database)
    assert await _count(database) == 0


async def test_counts_of_concurrent_writers_are_exact(database: AsyncDatabase) -> None:
    async def write(number: int) -> None:
        entries = [RENAMED] * (1 + number % 3)
        await database.write(lambda connection: write_log_sync(connection, AMINA, entries))

    await asyncio.gather(*map(write, range(30)))
    assert await _count(database, PROJECT) == len(await _entries(database)) == 60
    assert await _count(database, ACCESS) == 0


async def test_one_row_per_minute_whose_count_rises(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Timestamp.unpack(0)
    monkeypatch.setattr(log_module, "now", lambda: start)
    one_network = ("2001:db8::1", "2001:db8::2:0:0:1")
    addresses = ("10.0.0.1", "10.0.0.2", *one_network, "2001:db8:0:1::1")
    with_other_token = msgspec.structs.replace(AMINA, credential="phone")
    elsewhere = msgspec.structs.replace(AMINA, origin=Origin("10.0.0.8"))
    callers: list[Caller] = [*[AMINA] * 5, with_other_token, elsewhere]
    callers += [Caller(origin=Origin(address)) for address in addresses]
    await asyncio.gather(*(count_in_log(database, caller, DOWNLOAD) for caller in callers))
    monkeypatch.setattr(log_module, "now", lambda: start + timedelta(minutes=1))
    await count_in_log(database, AMINA, DOWNLOAD)
    assert sorted(row.times for row in await _entries(database)) == [1, 1, 1, 1, 1, 1, 2, 5]
    assert await _count(database, ACCESS) == 8


@pytest.mark.parametrize("user_id", [None, 7])
async def test_a_flood_of_addresses_does_not_fill_the_log(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch, user_id: int | None
) -> None:
    """Beyond a number of addresses per minute, the rest share an entry without address."""
    monkeypatch.setattr(log_module, "now", lambda: Timestamp.unpack(0))
    most = log_module.MAX_ORIGINS_PER_MINUTE
    for number in range(most + 20):
        caller = Caller(
            id=user_id, username="amina", credential="password", origin=Origin(f"10.0.0.{number}")
        )
        await count_in_log(database, caller, DOWNLOAD)
    *single, rest = await _entries(database)
    assert [(row.ip_address, row.times) for row in single] == [
        (f"10.0.0.{number}", 1) for number in range(most)
    ]
    assert (rest.ip_address, rest.source, rest.credential, rest.times) == ("", "", "", 20)
    assert rest.username == "amina"
    first = Caller(
        id=user_id, username=single[0].username, credential="password", origin=Origin("10.0.0.0")
    )
    await count_in_log(database, first, DOWNLOAD)
    assert (await _entries(database))[0].times == 2
    other = msgspec.structs.replace(DOWNLOAD, object=LogObject("asset", "aOther"))
    await count_in_log(database, caller, other)
    assert (await _entries(database))[-1].ip_address == caller.origin.address
    assert await _count(database, ACCESS) == most + 2


async def test_a_flood_of_unknown_names_does_not_hide_a_guess_at_a_user(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "now", lambda: Timestamp.unpack(0))
    failed = login_entry("auth-failed")
    most = log_module.MAX_ORIGINS_PER_MINUTE
    for number in range(most + 20):
        await count_in_log(
            database, Caller(credential="password", origin=Origin(f"10.0.0.{number}")), failed
        )
    guess = Caller(username="amina", credential="password", origin=Origin("10.9.9.9"))
    await count_in_log(database, guess, failed)
    *unknown, of_user = await _entries(database)
    assert {row.username for row in unknown} == {""}
    assert len(unknown) == most + 1
    assert (of_user.username, of_user.ip_address, of_user.times) == ("amina", "10.9.9.9", 1)


async def test_purge_deletes_what_is_old(
    database: AsyncDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "PURGE_BATCH", 4)
    async with database.transaction() as connection:
        await write_log(connection, AMINA, *[RENAMED] * 10, DOWNLOAD)
        newest = (await connection.execute(select(func.max(log.c.id)))).scalar_one()
        old = log.update().where(log.c.id < newest - 1).values(made_at=now() - timedelta(days=10))
        await connection.execute(old)
    assert await purge_log(database, now() - timedelta(days=9)) == 9
    assert len(await _entries(database)) == await _count(database) == 2
    assert (await _count(database, PROJECT), await _count(database, ACCESS)) == (1, 1)


async def test_names_of_a_user_who_left_are_blanked(database: AsyncDatabase) -> None:
    failed = Caller(username="Bob", origin=Origin("10.0.0.1"))
    bob, about = (
        User(id=9, username="bob", uid="uBob", credential="session"),
        LogUser(9, "uBob", "bob"),
    )
    with_token = msgspec.structs.replace(bob, credential="Phone of Bob")
    token = LogEntry(
        log_type=USERS,
        action="create",
        object=LogObject("token", "fgt_1", "Phone of Bob"),
        subject=about,
    )
    async with database.transaction() as connection:
        await write_log(connection, AMINA, RENAMED)
        await write_log(connection, bob, RENAMED)
        await write_log(connection, failed, DOWNLOAD)
        await write_log(connection, AMINA, token)
        await write_log(connection, with_token, DOWNLOAD)
        await blank_names(connection, about)
    first, second, third, created, used = await _entries(database)
    assert (first.username, first.subject_name, first.subject_uid) == ("amina", "", "uBob")
    assert (second.username, second.user_uid, second.credential) == ("", "uBob", "session")
    assert (created.object_uid, created.object_name, created.credential) == (
        "fgt_1",
        "",
        AMINA.credential,
    )
    assert (used.user_uid, used.credential, used.object_name) == ("uBob", "", FORM.name)
    assert third.username == ""
