"""The queue, the same on SQLite and PostgreSQL: who works on what, until when, and never twice."""

import asyncio
import re
from datetime import timedelta

import pytest
from sqlalchemy import Table, event, func, select, text

from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.assets.store import AssetStore, NewAsset
from fieldgate.assets.tables import files
from fieldgate.db import Database, DataVersions, now
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.identity import User
from fieldgate.imports.schemas import ImportRequest
from fieldgate.imports.store import COMPLETE, ImportStore, Job, LostLease
from fieldgate.imports.tables import imports
from fieldgate.imports.upload import IdempotencyKeyReused, parse_upload
from fieldgate.pagination import PageRequest
from tests.imports.workbooks import xlsx

LEASE = timedelta(seconds=30)
BOOK = xlsx()


@pytest.fixture
def store(database: Database) -> ImportStore:
    return ImportStore(database, DataVersions(database))


async def user(database: Database, name: str = "amina") -> int:
    return await AccountStore(database, DataVersions(database)).create_user(NewUser(username=name, password_hash="x"))


async def put(store: ImportStore, user_id: int, name: str = "a", key: str | None = None) -> str:
    return await store.create(user_id, parse_upload(ImportRequest(file=UploadedFile(f"{name}.xlsx", BOOK)), 10**9), key)


async def end(database: Database, store: ImportStore, job: Job) -> None:
    async with database.transaction() as connection:
        await store.finish(connection, job, COMPLETE, {"updated": []})


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_moments_run_in_the_order_of_commits(database: Database, store: ImportStore) -> None:
    """However long an import waits for its turn; PostgreSQL has no turns, and numbers whoever comes."""
    other = Database(database.url.render_as_string())
    number = await user(database)
    async with database._write_lock:
        waiting = [asyncio.create_task(put(store, number, f"f{n}")) for n in range(4)]
        for _ in range(5):
            await asyncio.sleep(0)
        first = await put(ImportStore(other, DataVersions(other)), number, "of another process")
    await asyncio.gather(*waiting)
    await other.close()
    async with database.read_transaction() as connection:
        rows = (await connection.execute(select(imports.c.uid, imports.c.created_at).order_by(imports.c.id))).all()
    assert (len(rows), rows[0].uid) == (5, first)
    moments = [row.created_at for row in rows]
    assert moments == sorted(moments)


async def test_each_import_is_claimed_once_however_many_workers_there_are(
    database: Database, store: ImportStore
) -> None:
    number = await user(database)
    taken = [await put(store, number, f"f{n}") for n in range(12)]
    jobs = await asyncio.gather(*(store.claim(LEASE) for _ in range(15)))
    claimed = [job.uid for job in jobs if job is not None]
    assert len(claimed) == len(set(claimed))
    while (job := await store.claim(LEASE)) is not None:
        claimed.append(job.uid)
    assert sorted(claimed) == sorted(taken)


async def test_workers_that_ask_at_once_all_get_something_to_do(database: Database, store: ImportStore) -> None:
    number = await user(database)
    for n in range(11):
        await put(store, number, f"f{n}")
    jobs = await asyncio.gather(*(store.claim(LEASE) for _ in range(4)))
    assert len({job.uid for job in jobs if job is not None}) == 4


async def test_a_file_is_read_after_the_claim_is_committed(database: Database, store: ImportStore) -> None:
    """Or a worker would hold SQLite's lock while a large file travels."""
    await put(store, await user(database))
    read = store._load_job

    async def slowly(import_id: int, lease: str) -> Job | None:
        async with asyncio.timeout(5), database.transaction() as connection:
            await connection.execute(imports.update().where(imports.c.id == import_id).values(name="seen"))
        return await read(import_id, lease)

    store._load_job = slowly  # type: ignore[method-assign]
    job = await store.claim(LEASE)
    assert job is not None
    assert (job.name, job.data) == ("seen", BOOK)


async def test_claiming_does_not_look_at_the_history(database: Database, store: ImportStore) -> None:
    statement = store._users_in_turn().compile(dialect=database.dialect, compile_kwargs={"literal_binds": True})
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


async def test_the_oldest_first_and_fair_between_users(database: Database, store: ImportStore) -> None:
    many, one = await user(database, "many"), await user(database, "one")
    hundreds = [await put(store, many, f"f{n}") for n in range(10)]
    single = await put(store, one)
    order = []
    while (job := await store.claim(LEASE)) is not None:
        order.append(job.uid)
        await end(database, store, job)
    assert order.index(single) <= 1, "one file is not held up by ten of somebody else"
    assert [uid for uid in order if uid != single] == hundreds


async def test_a_lease_that_ran_out_is_claimed_again_and_the_first_worker_cannot_finish(
    database: Database, store: ImportStore
) -> None:
    number = await user(database)
    await put(store, number)
    slow = await store.claim(timedelta(0))
    assert slow is not None
    quick = await store.claim(LEASE)
    assert quick is not None
    assert (quick.uid, quick.attempts) == (slow.uid, 2)
    with pytest.raises(LostLease):
        await end(database, store, slow)
    with pytest.raises(LostLease):
        await store.renew(slow, LEASE)
    await store.renew(quick, LEASE)
    await end(database, store, quick)
    with pytest.raises(LostLease):
        await end(database, store, quick)
    assert await store.claim(LEASE) is None


async def test_workers_on_machines_whose_clocks_differ(
    database: Database, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, await user(database))
    job = await store.claim(LEASE)
    assert job is not None
    if database.is_sqlite:
        return  # all of them are on one machine
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


async def test_a_job_knows_what_was_asked(database: Database, store: ImportStore) -> None:
    number = await user(database)
    uid = await put(store, number, "household")
    job = await store.claim(LEASE)
    assert job is not None
    assert (job.uid, job.user_id, job.username, job.name, job.filename, job.data) == (
        uid, number, "amina", "household", "household.xlsx", BOOK,
    )  # fmt: skip


async def test_a_repeated_key_gives_the_first_answer(database: Database, store: ImportStore) -> None:
    number, other = await user(database), await user(database, "other")
    answers = await asyncio.gather(*(put(store, number, key="k") for _ in range(6)))
    assert len(set(answers)) == 1
    assert await put(store, other, key="k") != answers[0], "a key belongs to who sent it"
    with pytest.raises(IdempotencyKeyReused):
        await put(store, number, "another", key="k")


async def test_lists(database: Database, store: ImportStore) -> None:
    number, other = await user(database), await user(database, "other")
    taken = [await put(store, number, f"f{n}") for n in range(3)]
    await put(store, other)
    job = await store.claim(LEASE)
    assert job is not None
    await end(database, store, job)
    count, rows = await store.list_for_user(number, None, "date_created", PageRequest(2, 0))
    assert (count, [row.uid for row in rows]) == (3, taken[:2])
    count, rows = await store.list_for_user(number, None, "-date_created", PageRequest(2, 0))
    assert [row.uid for row in rows] == taken[:0:-1]
    count, rows = await store.list_for_user(number, "processing", "date_created", PageRequest())
    assert (count, [row.uid for row in rows]) == (2, taken[1:])
    assert await store.get_for_user(other, taken[0]) is None


async def test_old_imports_are_forgotten_with_their_files(database: Database, store: ImportStore) -> None:
    number = await user(database)
    await put(store, number)
    kept = await put(store, number, "later")
    job = await store.claim(LEASE)
    assert job is not None
    await end(database, store, job)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert [row.uid for row in (await store.list_for_user(number, None, "date_created", PageRequest()))[1]] == [kept]
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(func.count()).select_from(files))).scalar_one() == 1


async def count(database: Database, table: Table) -> int:
    async with database.read_transaction() as connection:
        return int((await connection.execute(select(func.count()).select_from(table))).scalar_one())


async def test_a_file_stays_as_long_as_a_version_came_from_it(database: Database, store: ImportStore) -> None:
    owned, number = AssetStore(database, DataVersions(database)), await user(database)
    await put(store, number)
    job = await store.claim(LEASE)
    assert job is not None
    new = NewAsset(owner_id=number, asset_type="survey", name="a", content={}, summary={}, file_id=job.file_id)
    async with database.transaction() as connection:
        [(_, uid)] = await owned.create(connection, [new])
        await store.finish(connection, job, COMPLETE, {"updated": []})
    assert await store.purge(now() + timedelta(days=1)) == 1
    assert await count(database, files) == 1
    await owned.delete(User(id=number), uid)
    assert await store.purge(now() - timedelta(days=1)) == 0
    assert await count(database, files) == 0, "whether or not an import went too"


async def test_much_is_forgotten_in_small_steps(
    database: Database, store: ImportStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.imports.store.BATCH_SIZE", 2)
    number = await user(database)
    for n in range(5):
        await put(store, number, f"f{n}")
        job = await store.claim(LEASE)
        assert job is not None
        await end(database, store, job)
    begun: list[object] = []
    event.listen(database._engine.sync_engine, "begin", begun.append)
    assert await store.purge(now() + timedelta(days=1)) == 5
    assert len(begun) >= 6
    assert (await count(database, imports), await count(database, files)) == (0, 0)
