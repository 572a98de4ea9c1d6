"""Access that ends: from that moment nothing is granted, in every process, without a write."""

from typing import Any

import pytest

from fieldgate.assets.tables import assignments
from fieldgate.db import now
from tests.access.permission_world import PUBLIC_USER, PermissionWorld
from tests.conftest import Service, StartService

PATH = "/api/v2/assets/"


async def end_all(service: Service) -> None:
    """Let all assignments end now: no version is raised."""
    moment = now()
    async with service.database.transaction() as connection:
        end = moment.replace(microsecond=moment.microsecond // 1000 * 1000)  # the clock of SQLite has milliseconds
        await connection.execute(assignments.update().values(expires_at=end))


@pytest.mark.parametrize("through", ["the form", "its collection", "the public"])
async def test_lists_and_etags_change_when_access_ends(start: StartService, database_url: str, through: str) -> None:
    """Of two processes, both with the responses of before in their caches."""
    async with start(database_url=database_url) as one, start(database_url=database_url) as other:
        world = PermissionWorld(one)
        owner, reader = await world.create_user(), await world.create_user()
        collection = await world.create_asset(owner, "collection")
        form = await world.create_asset(owner, "survey", collection)
        shared = form if through == "the form" else collection
        public_list = f"{PATH}?status=public-discoverable"
        await world.grant(reader, shared, "view_asset")
        if through == "the public":
            await world.grant(PUBLIC_USER, collection, "discover_asset")
        paths = {
            "listed": (PATH, reader.headers),
            "searched": (f"{PATH}?q=asset_type:survey", reader.headers),
            "public": (public_list, {}),
            "shared with": (f"{form.path}permission-assignments/", owner.headers),
        }

        async def ask(service: Service, name: str, etag: str = "") -> Any:
            path, headers = paths[name]
            return await service.get(path, headers={**headers, **({"If-None-Match": etag} if etag else {})})

        before = {}
        for name in paths:
            for service in (one, other):
                answer = await ask(service, name)
                assert (await ask(service, name, answer.headers["etag"])).status_code == 304
            before[name] = answer.headers["etag"], answer.json()
        assert before["listed"][1]["count"] == (1 if through == "the form" else 2)
        await end_all(one)
        for name, (etag, body) in before.items():
            for service in (one, other):
                answer = await ask(service, name, etag)
                assert answer.status_code == 200, name
                assert answer.headers["etag"] != etag
                if name != "public" or through == "the public":
                    assert answer.json() != body
        for service in (one, other):
            assert (await ask(service, "listed")).json()["count"] == 0
            assert (await ask(service, "searched")).json()["results"] == []
            assert (await ask(service, "public")).json()["count"] == 0
            assert {each["user"].rsplit("/", 2)[1] for each in (await ask(service, "shared with")).json()} == {
                owner.username
            }
            assert (await service.get(form.path, headers=reader.headers)).status_code == 404
            assert (await service.get(form.path, headers=owner.headers)).json()["status"] == "private"
