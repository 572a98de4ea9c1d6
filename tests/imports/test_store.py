"""The store of imports and its job queue, on SQLite and PostgreSQL."""

import asyncio
import re
from datetime import timedelta

import pytest
from sqlalchemy import Table, event, func, select, text

from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.assets.store import AssetStore, NewAsset
from fieldgate.assets.tables import files
from fieldgate.db import Database, DataVersions, Timestamp, now
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.identity import User
from fieldgate.imports.claim_sql import ClaimedRow, users_in_turn_query
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.store import COMPLETE, ImportStore, Job, LostLease
from fieldgate.imports.tables import imports
from fieldgate.imports.upload import IdempotencyKeyReused, parse_upload
from fieldgate.pagination import PageRequest
from tests.databases import address_of
from tests.imports.workbooks import xlsx

LEASE = timedelta(seconds=30)
BOOK = xlsx()


@pytest.fixture
def store(database: Database) -> ImportStore:
    return ImportStore(database, DataVersions(database))


async def create_user(database: Database, name: str = "amina") -> int:
    return await AccountStore(database, DataVersions(database)).create_user(NewUser(username=name, password_hash="x"))


async def create_import(store: ImportStore, user_id: int, name: str = "a", key: str | None = None) -> str:
    return await store.create(user_id, parse_upload(ImportRequest(file=UploadedFile(f"{name}.xlsx", BOOK)), 10**9), key)


async def finish(database: Database, store: ImportStore, job: Job) -> None:
    async with database.transaction() as connection:
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []})


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_creation_times_are_in_commit_order(database: Database, store: ImportStore) -> None:
    """Only SQLite serializes writers, so only there ids and times are in the same order."""
    other = Database(address_of(database))
    user_id = await create_user(database)
    async with database._write_lock:
        waiting = [asyncio.create_task(create_import(store, user_id, f"f{n}")) for n in range(4)]
        for _ in range(5):
            await asyncio.sleep(0)
        first = await create_import(ImportStore(other, DataVersions(other)), user_id, "of another process")
    await asyncio.gather(*waiting)
    await other.close()
    async with database.read_transaction() as connection:
        rows = (await connection.execute(select(imports.c.uid, imports.c.created_at).order_by(imports.c.id))).all()
    assert (len(rows), rows[0].uid) == (5, first)
    timestamps = [row.created_at for row in rows]
    assert timestamps == sorted(timestamps)


async def test_each_import_is_claimed_once(database: Database, store: ImportStore) -> None:
    user_id = await create_user(database)
    taken = [await create_import(store, user_id, f"f{n}") for n in range(12)]
    jobs = await asyncio.gather(*(store.claim(LEASE) for _ in range(15)))
    claimed = [job.uid for job in jobs if job is not None]
    assert len(claimed) == len(set(claimed))
    while (job := await store.claim(LEASE)) is not None:
        claimed.append(job.uid)
    assert sorted(claimed) == sorted(taken)


async def test_concurrent_claims_all_succeed(database: Database, store: ImportStore) -> None:
    user_id = await create_user(database)
    for n in range(11):
        await create_import(store, user_id, f"f{n}")
    jobs = await asyncio.gather(*(store.claim(LEASE) for _ in range(4)))
    assert len({job.uid for job in jobs if job is not None}) == 4


async def test_file_is_loaded_after_claim_is_committed(database: Database, store: ImportStore) -> None:
    """Otherwise a worker would hold SQLite's lock while it loads a large file."""
    await create_import(store, await create_user(database))
    read = store._claims.load_claimed

    async def slowly(import_id: int) -> ClaimedRow | None:
        async with asyncio.timeout(5), database.transaction() as connection:
            await connection.execute(imports.update().where(imports.c.id == import_id).values(name="seen"))
        return await read(import_id)

    store._claims.load_claimed = slowly  # type: ignore[method-assign]
    job = await store.claim(LEASE)
    assert job is not None
    assert (job.name, job.data) == ("seen", BOOK)


async def test_claiming_uses_indexes_only(database: Database, store: ImportStore) -> None:
    query = users_in_turn_query(database)
    if database.is_sqlite:
        query = query.params(now=Timestamp.pack(now()))
    statement = query.compile(dialect=database.dialect, compile_kwargs={"literal_binds": True})
    async with database.read_transaction() as connection:
        if database.is_sqlite:
            plan = (await connection.execute(text(f"EXPLAIN QUERY PLAN {statement}"))).all()
        else:
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
            await connection.execute(text("SET LOCAL enable_bitmapscan = off"))
            plan = (await connection.execute(text(f"EXPLAIN {statement}"))).all()
    steps = "\n".join(row[-1] for row in plan)
    for index in ("ix_imports_user_id_id_lease_until", "ix_imports_user_id_claimed_at"):
        assert index in steps
    looks = [row[-1] for row in plan if re.search(r"(SCAN|SEARCH|Scan).* imports", row[-1])]
    assert all("ix_imports_" in look for look in looks), looks


async def test_oldest_first_and_fair_between_users(database: Database, store: ImportStore) -> None:
    many, one = await create_user(database, "many"), await create_user(database, "one")
    hundreds = [await create_import(store, many, f"f{n}") for n in range(10)]
    single = await create_import(store, one)
    order = []
    while (job := await store.claim(LEASE)) is not None:
        order.append(job.uid)
        await finish(database, store, job)
    assert order.index(single) <= 1, "one file does not wait for ten of another user"
    assert [uid for uid in order if uid != single] == hundreds


async def test_expired_lease_is_claimed_again_and_lost_by_first_worker(database: Database, store: ImportStore) -> None:
    user_id = await create_user(database)
    await create_import(store, user_id)
    slow = await store.claim(timedelta(0))
    assert slow is not None
    quick = await store.claim(LEASE)
    assert quick is not None
    assert (quick.uid, quick.attempts) == (slow.uid, 2)
    with pytest.raises(LostLease):
        await finish(database, store, slow)
    with pytest.raises(LostLease):
        await store.renew(slow, LEASE)
    await store.renew(quick, LEASE)
    await finish(database, store, quick)
    with pytest.raises(LostLease):
        await finish(database, store, quick)
    assert await store.claim(LEASE) is None


async def test_clocks_of_workers_do_not_matter(
    database: Database, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_import(store, await create_user(database))
    job = await store.claim(LEASE)
    assert job is not None
    if database.is_sqlite:
        return  # all workers are on one machine
    for ahead in (timedelta(hours=1), timedelta(hours=-1)):
        wrong = now() + ahead
        for module in ("imports.store", "db.database"):
            monkeypatch.setattr(f"fieldgate.{module}.now", lambda wrong=wrong: wrong, raising=False)
        assert await store.claim(LEASE) is None
        await store.renew(job, LEASE)
    monkeypatch.undo()
    assert await store.claim(LEASE) is None
    await store.renew(job, timedelta(0))
    assert await store.claim(LEASE) is not None


async def test_job_has_the_request(database: Database, store: ImportStore) -> None:
    user_id = await create_user(database)
    uid = await create_import(store, user_id, "household")
    job = await store.claim(LEASE)
    assert job is not None
    assert (job.uid, job.user_id, job.username, job.name, job.filename, job.data) == (
        uid, user_id, "amina", "household", "household.xlsx", BOOK,
    )  # fmt: skip


async def test_repeated_key_returns_first_import(database: Database, store: ImportStore) -> None:
    user_id, other = await create_user(database), await create_user(database, "other")
    uids = await asyncio.gather(*(create_import(store, user_id, key="k") for _ in range(6)))
    assert len(set(uids)) == 1
    assert await create_import(store, other, key="k") != uids[0], "keys are per user"
    with pytest.raises(IdempotencyKeyReused):
        await create_import(store, user_id, "another", key="k")


async def test_lists(database: Database, store: ImportStore) -> None:
    user_id, other = await create_user(database), await create_user(database, "other")
    taken = [await create_import(store, user_id, f"f{n}") for n in range(3)]
    await create_import(store, other)
    job = await store.claim(LEASE)
    assert job is not None
    await finish(database, store, job)
    count, rows = await store.list_for_user(user_id, None, "date_created", PageRequest(2, 0))
    assert (count, [row.uid for row in rows]) == (3, taken[:2])
    count, rows = await store.list_for_user(user_id, None, "-date_created", PageRequest(2, 0))
    assert [row.uid for row in rows] == taken[:0:-1]
    count, rows = await store.list_for_user(user_id, "processing", "date_created", PageRequest())
    assert (count, [row.uid for row in rows]) == (2, taken[1:])
    assert await store.get_for_user(other, taken[0]) is None


async def test_purge_deletes_old_imports_and_their_files(database: Database, store: ImportStore) -> None:
    user_id = await create_user(database)
    await create_import(store, user_id)
    kept = await create_import(store, user_id, "later")
    job = await store.claim(LEASE)
    assert job is not None
    await finish(database, store, job)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert [row.uid for row in (await store.list_for_user(user_id, None, "date_created", PageRequest()))[1]] == [kept]
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(func.count()).select_from(files))).scalar_one() == 1


async def count(database: Database, table: Table) -> int:
    async with database.read_transaction() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def test_file_of_an_asset_version_is_kept(database: Database, store: ImportStore) -> None:
    owned, user_id = AssetStore(database, DataVersions(database)), await create_user(database)
    await create_import(store, user_id)
    job = await store.claim(LEASE)
    assert job is not None
    new = NewAsset(owner_id=user_id, asset_type="survey", name="a", content={}, summary={}, file_id=job.file_id)
    async with database.transaction() as connection:
        [(_, uid)] = await owned.create(connection, [new])
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []})
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert await count(database, files) == 1
    await owned.delete(User(id=user_id), uid)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await count(database, files) == 0, "also if no import was deleted"


async def test_purge_deletes_in_batches(
    database: Database, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.imports.store.BATCH_SIZE", 2)
    user_id = await create_user(database)
    for n in range(5):
        await create_import(store, user_id, f"f{n}")
        job = await store.claim(LEASE)
        assert job is not None
        await finish(database, store, job)
    begun: list[object] = []
    event.listen(database._engine.sync_engine, "begin", begun.append)
    assert await store.purge(now() + timedelta(days=1)) == 5
    assert len(begun) >= 6
    assert (await count(database, imports), await count(database, files)) == (0, 0)


async def test_excerpts_and_files_belong_to_their_user(database: Database, store: ImportStore) -> None:
    amina, brahim = await create_user(database), await create_user(database, "brahim")
    uid = await create_import(store, amina)
    assert await store.get_excerpts_for_user(amina, uid) == []
    job = await store.claim(LEASE)
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
        assert (await connection.execute(text("SELECT count(*) FROM imports WHERE excerpts IS NULL"))).scalar() == 1
    assert await store.get_excerpts_for_user(amina, uid) == [], "an import of an earlier release"
