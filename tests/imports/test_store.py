"""The store of imports and its job queue, on SQLite and PostgreSQL."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import Table, func, select, text

from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.assets.store import AssetStore, NewAsset
from fieldgate.assets.tables import files
from fieldgate.assets.trash import Trash
from fieldgate.db import AsyncDatabase, DataVersions, now
from fieldgate.errors import Unauthorized
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.identity import WORKER, User
from fieldgate.imports.leases import Job, LostLease
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.store import COMPLETE, ImportStore
from fieldgate.imports.tables import imports
from fieldgate.imports.upload import IdempotencyKeyReused, parse_upload
from fieldgate.pagination import PageRequest
from tests.imports.workbooks import xlsx

LEASE = timedelta(seconds=30)
BOOK = xlsx()


@pytest.fixture
def store(database: AsyncDatabase) -> ImportStore:
    return ImportStore(database, DataVersions(database))


async def create_user(database: AsyncDatabase, name: str = "amina") -> int:
    return await AccountStore(database, DataVersions(database)).create_user(
        NewUser(username=name, password_hash="x")
    )


async def create_import(
    store: ImportStore, user_id: int, name: str = "a", key: str | None = None
) -> str:
    return await store.create(
        user_id, parse_upload(ImportRequest(file=UploadedFile(f"{name}.xlsx", BOOK)), 10**9), key
    )


async def finish(database: AsyncDatabase, store: ImportStore, job: Job) -> None:
    async with database.transaction() as connection:
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []})


async def begin_earlier(database: AsyncDatabase, job: Job, time: timedelta) -> None:
    """Have an import begun earlier than it was."""
    begin = imports.c.claimed_at - text(str(time // timedelta(microseconds=1)))
    async with database.transaction() as connection:
        await connection.execute(
            imports.update().where(imports.c.id == job.id).values(claimed_at=begin)
        )


async def test_each_import_is_claimed_once(database: AsyncDatabase, store: ImportStore) -> None:
    user_id = await create_user(database)
    taken = [await create_import(store, user_id, f"f{n}") for n in range(12)]
    jobs = await asyncio.gather(*(store.leases.claim(LEASE) for _ in range(15)))
    claimed = [job.uid for job in jobs if job is not None]
    assert len(claimed) == len(set(claimed))
    while (job := await store.leases.claim(LEASE)) is not None:
        claimed.append(job.uid)
    assert sorted(claimed) == sorted(taken)


async def test_concurrent_claims_all_succeed(database: AsyncDatabase, store: ImportStore) -> None:
    user_id = await create_user(database)
    for n in range(11):
        await create_import(store, user_id, f"f{n}")
    jobs = await asyncio.gather(*(store.leases.claim(LEASE) for _ in range(4)))
    assert len({job.uid for job in jobs if job is not None}) == 4


async def test_oldest_first_and_fair_between_users(
    database: AsyncDatabase, store: ImportStore
) -> None:
    many, one = await create_user(database, "many"), await create_user(database, "one")
    hundreds = [await create_import(store, many, f"f{n}") for n in range(10)]
    single = await create_import(store, one)
    order = []
    while (job := await store.leases.claim(LEASE)) is not None:
        order.append(job.uid)
        await finish(database, store, job)
    assert order.index(single) <= 1, "one file does not wait for ten of another user"
    assert [uid for uid in order if uid != single] == hundreds


async def test_service_accounts_take_the_turns_of_their_owner(
    database: AsyncDatabase, store: ImportStore
) -> None:
    owner, other = await create_user(database, "owner"), await create_user(database, "other")
    accounts = AccountStore(database, DataVersions(database))
    bots = [
        await accounts.create_user(NewUser(username=f"bot{n}", owner_id=owner)) for n in range(4)
    ]
    await create_import(store, owner)
    for bot in bots:
        await create_import(store, bot)
    await create_import(store, other)
    order = []
    while (job := await store.leases.claim(LEASE)) is not None:
        order.append(job.user_id)
        await finish(database, store, job)
    assert order.index(other) <= 1, "one file does not wait for those of each account"
    assert await store.is_queue_full(bots[0], 1) is False
    for bot in bots:
        await create_import(store, bot)
    assert [await store.is_queue_full(each, 4) for each in (owner, *bots, other)] == [True] * 5 + [
        False
    ]


@pytest.mark.parametrize("is_finished", [True, False])
async def test_users_take_turns_by_the_time_that_their_imports_took(
    database: AsyncDatabase, store: ImportStore, is_finished: bool
) -> None:
    large, small = await create_user(database, "large"), await create_user(database, "small")
    for _ in range(3):
        await create_import(store, large)
    first = await store.leases.claim(LEASE)
    assert first is not None
    if is_finished:
        await finish(database, store, first)
    await begin_earlier(database, first, timedelta(minutes=1))
    for _ in range(3):
        await create_import(store, small)
    order = []
    while (job := await store.leases.claim(LEASE)) is not None:
        order.append(job.user_id)
        await finish(database, store, job)
    assert order == [small, small, small, large, large], "three short files take less than a minute"


async def test_large_files_leave_the_quick_worker_free(
    database: AsyncDatabase, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.imports.leases.MAX_QUICK_BYTES", len(BOOK) - 1)
    await create_import(store, await create_user(database, "large"))
    assert await store.leases.claim(LEASE, only_quick=True) is None
    monkeypatch.setattr("fieldgate.imports.leases.MAX_QUICK_BYTES", len(BOOK))
    assert await store.leases.claim(LEASE, only_quick=True) is not None


@pytest.mark.parametrize("is_finished", [True, False])
async def test_users_of_slow_imports_leave_the_quick_worker_free(
    database: AsyncDatabase, store: ImportStore, is_finished: bool
) -> None:
    slow, other = await create_user(database, "slow"), await create_user(database, "other")
    for _ in range(3):
        await create_import(store, slow)
    first = await store.leases.claim(LEASE, only_quick=True)
    assert first is not None
    if is_finished:
        await finish(database, store, first)
    await begin_earlier(database, first, timedelta(seconds=5))
    assert await store.leases.claim(LEASE, only_quick=True) is None
    expected = await create_import(store, other)
    found = await store.leases.claim(LEASE, only_quick=True)
    assert (found and found.uid) == expected
    left = [await store.leases.claim(LEASE) for _ in range(3)]
    assert [job and job.user_id for job in left] == [slow, slow, None], (
        "the other worker takes what is left"
    )


@pytest.mark.parametrize("only_quick", [False, True])
async def test_time_of_busy_tries_counts_for_the_user(
    database: AsyncDatabase, store: ImportStore, only_quick: bool
) -> None:
    slow = await create_user(database, "slow")
    for _ in range(3):
        await create_import(store, slow)
    other = await create_user(database, "other")
    for _ in range(3):
        await create_import(store, other)
    first = await store.leases.claim(LEASE, only_quick=only_quick)
    assert first is not None
    assert first.user_id == slow
    await begin_earlier(database, first, timedelta(seconds=90))
    await store.postpone(first, {"updated": []}, timedelta(seconds=30))
    order = []
    while (job := await store.leases.claim(LEASE, only_quick=only_quick)) is not None:
        order.append(job.user_id)
        await finish(database, store, job)
    assert order == [other] * 3 + [slow] * (0 if only_quick else 2)


async def test_imports_of_busy_tries_come_last(database: AsyncDatabase, store: ImportStore) -> None:
    """Also when the tries were so long ago that their time no longer counts."""
    user_id = await create_user(database, "busy")
    tried = await create_import(store, user_id)
    first = await store.leases.claim(LEASE)
    assert first is not None
    await begin_earlier(database, first, timedelta(hours=1))
    await store.postpone(first, {"updated": []}, timedelta(seconds=-1))
    other = await create_import(store, await create_user(database, "other"))
    own = await create_import(store, user_id)
    order = []
    while (job := await store.leases.claim(LEASE)) is not None:
        order.append(job.uid)
        await finish(database, store, job)
    assert sorted(order[:2]) == sorted([other, own])
    assert order[2:] == [tried]


async def test_purge_keeps_imports_between_two_tries(
    database: AsyncDatabase, store: ImportStore
) -> None:
    uid = await create_import(store, await create_user(database))
    first = await store.leases.claim(LEASE)
    assert first is not None
    await store.postpone(first, {"updated": []}, timedelta(seconds=-1))
    assert await store.purge(now() + timedelta(hours=1)) == 0
    again = await store.leases.claim(LEASE)
    assert again is not None
    assert again.uid == uid


async def test_expired_lease_is_claimed_again_and_lost_by_first_worker(
    database: AsyncDatabase, store: ImportStore
) -> None:
    user_id = await create_user(database)
    await create_import(store, user_id)
    slow = await store.leases.claim(timedelta(0))
    assert slow is not None
    quick = await store.leases.claim(LEASE)
    assert quick is not None
    assert (quick.uid, quick.attempts) == (slow.uid, 2)
    with pytest.raises(LostLease):
        await finish(database, store, slow)
    with pytest.raises(LostLease):
        await store.leases.renew(slow, LEASE)
    await store.leases.renew(quick, LEASE)
    await finish(database, store, quick)
    with pytest.raises(LostLease):
        await finish(database, store, quick)
    assert await store.leases.claim(LEASE) is None


async def test_clocks_of_workers_do_not_matter(
    database: AsyncDatabase, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_import(store, await create_user(database))
    job = await store.leases.claim(LEASE)
    assert job is not None
    if database.is_sqlite:
        return  # all workers are on one machine
    for ahead in (timedelta(hours=1), timedelta(hours=-1)):
        wrong = now() + ahead
        for module in ("imports.store", "db.async_database"):
            monkeypatch.setattr(f"fieldgate.{module}.now", lambda wrong=wrong: wrong, raising=False)
        assert await store.leases.claim(LEASE) is None
        await store.leases.renew(job, LEASE)
    monkeypatch.undo()
    assert await store.leases.claim(LEASE) is None
    await store.leases.renew(job, timedelta(0))
    assert await store.leases.claim(LEASE) is not None


async def test_repeated_key_returns_first_import(
    database: AsyncDatabase, store: ImportStore
) -> None:
    user_id, other = await create_user(database), await create_user(database, "other")
    uids = await asyncio.gather(*(create_import(store, user_id, key="k") for _ in range(6)))
    assert len(set(uids)) == 1
    assert await create_import(store, other, key="k") != uids[0], "keys are per user"
    with pytest.raises(IdempotencyKeyReused):
        await create_import(store, user_id, "another", key="k")


@pytest.mark.parametrize("key", [None, "k"])
async def test_user_who_left_meanwhile_imports_nothing(
    database: AsyncDatabase, store: ImportStore, key: str | None
) -> None:
    with pytest.raises(Unauthorized):
        await create_import(store, await create_user(database) + 1, key=key)


async def test_purge_deletes_old_imports_and_their_files(
    database: AsyncDatabase, store: ImportStore
) -> None:
    user_id = await create_user(database)
    await create_import(store, user_id)
    kept = await create_import(store, user_id, "later")
    job = await store.leases.claim(LEASE)
    assert job is not None
    await finish(database, store, job)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert [
        row.uid
        for row in (await store.list_for_user(user_id, None, "date_created", PageRequest()))[1]
    ] == [kept]
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(func.count()).select_from(files))).scalar_one() == 1


async def count(database: AsyncDatabase, table: Table) -> int:
    async with database.read_transaction() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def test_file_of_an_asset_version_is_kept(
    database: AsyncDatabase, store: ImportStore
) -> None:
    owned, user_id = AssetStore(database, DataVersions(database)), await create_user(database)
    await create_import(store, user_id)
    job = await store.leases.claim(LEASE)
    assert job is not None
    new = NewAsset(
        owner_id=user_id, asset_type="survey", name="a", content={}, summary={}, file_id=job.file_id
    )
    async with database.transaction() as connection:
        [(_, uid)] = await owned.create(connection, [new])
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []})
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert await count(database, files) == 1
    trash = Trash(database, DataVersions(database), days=30)
    await trash.delete(User(id=user_id), uid)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await count(database, files) == 1, "it can be restored"
    assert await trash.purge(WORKER, now()) == 1
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await count(database, files) == 0, "also if no import was deleted"


async def test_excerpts_and_files_belong_to_their_user(
    database: AsyncDatabase, store: ImportStore
) -> None:
    amina, brahim = await create_user(database), await create_user(database, "brahim")
    uid = await create_import(store, amina)
    assert await store.get_excerpts_for_user(amina, uid) == []
    job = await store.leases.claim(LEASE)
    assert job is not None
    excerpt = {"sheet": "survey", "columns": ["A"], "rows": []}
    async with database.transaction() as connection:
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []}, excerpts=[excerpt])
    assert await store.get_excerpts_for_user(amina, uid) == [excerpt]
    assert await store.get_excerpts_for_user(brahim, uid) is None
    assert await store.get_file_for_user(amina, uid) == BOOK
    assert await store.get_file_for_user(brahim, uid) is None
    async with database.transaction() as connection:
        await connection.execute(imports.update().values(excerpts=None))
        assert (
            await connection.execute(text("SELECT count(*) FROM imports WHERE excerpts IS NULL"))
        ).scalar() == 1
    assert await store.get_excerpts_for_user(amina, uid) == [], "an import of an earlier release"
