"""Lists of imports: exact pages, fresh in every process, and translated messages."""

from contextlib import AsyncExitStack
from datetime import timedelta
from itertools import product

from fieldgate.db import AsyncDatabase
from fieldgate.imports.store import COMPLETE, PROCESSING, ImportStore
from fieldgate.pagination import PageRequest
from fieldgate.settings import Settings
from tests.conftest import run_service
from tests.imports.test_routes import BOOK, FILE, PATH


async def test_pages_by_status_and_order(database_url: str) -> None:
    async with run_service(Settings(database_url=database_url, access_log=False)) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        sent = [
            (await service.client.post(PATH, headers=headers, files=FILE)).json()["uid"]
            for _ in range(5)
        ]
        store = ImportStore(service.database, service.data_versions)
        done = await _finish_one(service.database, store)
        for status, ordering, limit, offset in product(
            (None, PROCESSING, COMPLETE),
            ("date_created", "-date_created"),
            (1, 3, 10),
            (0, 2, 9, 2**62),
        ):
            expected = [
                uid for uid in sent if status is None or (uid == done) == (status == COMPLETE)
            ]
            expected = expected[::-1] if ordering.startswith("-") else expected
            count, rows = await store.list_for_user(1, status, ordering, PageRequest(limit, offset))
            assert count == len(expected)
            assert [row.uid for row in rows] == expected[offset : offset + limit]
            assert (await store.list_for_user(2, status, ordering, PageRequest(limit, offset))) == (
                0,
                [],
            )


async def test_other_process_lists_new_imports(database_url: str) -> None:
    settings = Settings(database_url=database_url, access_log=False)
    async with AsyncExitStack() as both:
        one, other = [await both.enter_async_context(run_service(settings)) for _ in range(2)]
        headers = {"Authorization": f"Token {await one.create_token()}"}
        for count in range(1, 4):
            url = (await one.client.post(PATH, headers=headers, files=FILE)).json()["url"]
            listed = await other.get(PATH, headers=headers)
            assert listed.json()["count"] == count
            assert (await other.get(url, headers=headers)).json()["status"] == PROCESSING
            unchanged = {**headers, "If-None-Match": listed.headers["ETag"]}
            assert (await other.get(PATH, headers=unchanged)).status_code == 304
            await _finish_one(one.database, ImportStore(one.database, one.data_versions))
            assert (await other.get(PATH, headers=unchanged)).json()["results"][-1][
                "status"
            ] == COMPLETE
            assert (await other.get(url, headers=headers)).json()["status"] == COMPLETE


async def _finish_one(database: AsyncDatabase, store: ImportStore) -> str:
    """Finish the oldest import without parsing its file. Return its uid."""
    job = await store.leases.claim(timedelta(minutes=1))
    assert job is not None
    assert job.data == BOOK
    async with database.transaction() as connection:
        await connection.run_sync(store.finish, job, COMPLETE, {"updated": []})
    return job.uid
