"""Lists of imports: exact pages, fresh in every process, and translated messages."""

from contextlib import AsyncExitStack
from itertools import product

from fieldgate.settings import Settings
from tests.conftest import run_service
from tests.data.imports import complete_oldest_import
from tests.imports.test_routes import FILE, PATH


async def test_pages_by_status_and_order(database_url: str) -> None:
    async with run_service(Settings(database_url=database_url, access_log=False)) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        sent = [
            (await service.client.post(PATH, headers=headers, files=FILE)).json()["uid"]
            for _ in range(5)
        ]
        done = complete_oldest_import(service)
        others = {"Authorization": f"Token {await service.create_token()}"}
        for status, ordering, limit, offset in product(
            (None, "processing", "complete"),
            ("date_created", "-date_created"),
            (1, 3, 10),
            (0, 2, 9, 2**62),
        ):
            expected = [
                uid for uid in sent if status is None or (uid == done) == (status == "complete")
            ]
            expected = expected[::-1] if ordering.startswith("-") else expected
            params = {"ordering": ordering, "limit": limit, "offset": offset}
            params |= {"status": status} if status else {}
            page = (await service.get(PATH, params=params, headers=headers)).json()
            assert page["count"] == len(expected)
            assert [record["uid"] for record in page["results"]] == expected[
                offset : offset + limit
            ]
            empty = (await service.get(PATH, params=params, headers=others)).json()
            assert (empty["count"], empty["results"]) == (0, [])


async def test_other_process_lists_new_imports(database_url: str) -> None:
    settings = Settings(database_url=database_url, access_log=False)
    async with AsyncExitStack() as both:
        one, other = [await both.enter_async_context(run_service(settings)) for _ in range(2)]
        headers = {"Authorization": f"Token {await one.create_token()}"}
        for count in range(1, 4):
            url = (await one.client.post(PATH, headers=headers, files=FILE)).json()["url"]
            listed = await other.get(PATH, headers=headers)
            assert listed.json()["count"] == count
            assert (await other.get(url, headers=headers)).json()["status"] == "processing"
            unchanged = {**headers, "If-None-Match": listed.headers["ETag"]}
            assert (await other.get(PATH, headers=unchanged)).status_code == 304
            complete_oldest_import(one)
            assert (await other.get(PATH, headers=unchanged)).json()["results"][-1][
                "status"
            ] == "complete"
            assert (await other.get(url, headers=headers)).json()["status"] == "complete"
