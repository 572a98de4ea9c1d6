"""Lists of assets follow every change."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest

from fieldgate.assets.tables import assets
from fieldgate.db import now
from tests.access.permission_world import (
    PUBLIC_USER,
    PermissionWorld,
    WorldAsset,
    WorldUser,
    generate_world,
    random_step,
)
from tests.access.test_visibility_sql import PATH, how_shared, is_in_list
from tests.conftest import Service, StartService, nightly_only
from tests.data.accounts import another_superuser, disable_user, enable_user
from tests.data.sql import write_sql

SEARCHES: list[dict[str, Any]] = [
    {},
    {"ordering": "name"},
    {"asset_type": "survey", "status": "shared", "collections_first": "true"},
    {"status": "public-discoverable"},
    {"q": "survey NOT parent:null", "ordering": "-owner__username"},
]


async def change(world: PermissionWorld, rng: random.Random) -> None:
    """Make one change: to permissions mostly, or to an asset, its place or its owner's account."""
    kind = rng.randrange(12)
    asset = rng.choice(world.assets)
    if kind == 0 and asset.asset_type != "collection":
        values = {
            "modified_at": now() - timedelta(days=rng.randrange(9)),
            "name_key": f"name {rng.random()}",
        }
        with write_sql(world.service, "assets") as connection:
            connection.execute(assets.update().where(assets.c.id == asset.id).values(values))
    elif kind == 1 and len(world.assets) > 4 and asset.asset_type != "collection":
        await world.delete(asset)
        world.assets.remove(asset)
        world.deleted.append(asset)
    elif kind == 2:
        parent = rng.choice(
            [None, *(each for each in world.assets if each.asset_type == "collection")]
        )
        asset_type = rng.choice(["survey", "block", *(["collection"] if parent is None else [])])
        await world.create_asset(rng.choice(world.users), asset_type, parent)
    elif kind == 5:
        owner, new_owner = rng.sample(world.users, 2)
        if not new_owner.is_disabled:
            await transfer(world, owner, new_owner)
    elif kind == 11 and world.deleted:
        restored = world.deleted.pop()
        await world.restore(restored)
        world.assets.append(restored)
    elif kind == 3:
        await world.disable(rng.choice(world.users[:4]))
    elif kind == 4:
        await world.enable(rng.choice(world.users[:4]))
    else:
        await random_step(world, rng)


async def transfer(world: PermissionWorld, owner: WorldUser, new_owner: WorldUser) -> None:
    """Give all assets of one user to another."""
    async with another_superuser(world.service) as superuser:
        answer = await world.service.request(
            "POST",
            f"/api/v2/users/{owner.username}/transfer/",
            json={"to": new_owner.username},
            auth=superuser,
        )
    assert answer.status_code == 200, answer.text
    for asset in world.assets:
        if asset.owner is owner:
            asset.owner = new_owner


async def load(service: Service, user: WorldUser, **query: Any) -> dict[str, Any]:
    answer = await service.get(PATH, params=query, headers=user.headers)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


def check_order(world: PermissionWorld, records: list[dict[str, Any]]) -> None:
    """The last changed first, of the same time the first created."""
    ids = {asset.uid: asset.id for asset in world.assets}
    keys = [
        (-datetime.fromisoformat(record["date_modified"]).timestamp(), ids[record["uid"]])
        for record in records
    ]
    assert keys == sorted(keys)


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2)])
async def test_lists_follow_every_change(start: StartService, database_url: str, seed: int) -> None:
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        rng = random.Random(seed)
        for _ in range(25):
            await change(world, rng)
            scopes = {asset.uid: await world.load_assignments(asset) for asset in world.assets}
            enabled = [user for user in world.users if not user.is_disabled]
            for user in enabled:
                records = (await load(service, user, limit=1000))["results"]
                assert {record["uid"]: record["status"] for record in records} == {
                    asset.uid: how_shared(world, asset, scopes[asset.uid])
                    for asset in world.assets
                    if is_in_list(user, asset, scopes[asset.uid])
                }
                check_order(world, records)
            for user in (rng.choice(enabled), PUBLIC_USER):
                for search in SEARCHES:
                    everything = await load(service, user, limit=1000, **search)
                    page = await load(service, user, limit=3, offset=1, **search)
                    assert page["count"] == everything["count"] == len(everything["results"])
                    assert page["results"] == everything["results"][1:4]


async def test_lists_follow_other_processes_at_once(start: StartService, database_url: str) -> None:
    """One process writes; the next list and the next page of another show the change."""
    async with start(database_url=database_url) as one, start(database_url=database_url) as other:
        world = PermissionWorld(one)
        owner, leaver, reader = [await world.create_user() for _ in range(3)]
        renamed, revoked, deleted = [await world.create_asset(owner) for _ in range(3)]
        of_leaver = await world.create_asset(leaver)
        for asset in world.assets:
            await world.grant(reader, asset, "view_asset")

        async def write(method: str, path: str, **options: Any) -> None:
            answer = await one.request(method, path, headers=owner.headers, **options)
            assert answer.is_success, answer.text

        async def revoke(asset: WorldAsset) -> None:
            assignments = (
                await one.get(f"{asset.path}permission-assignments/", headers=owner.headers)
            ).json()
            [given] = [
                each["url"] for each in assignments if each["user"].endswith(f"/{reader.username}/")
            ]
            await write("DELETE", given)

        async def listed() -> list[str]:
            """The names in the list, which must also be those on its page for people."""
            records = (await other.get(PATH, headers=reader.headers)).json()["results"]
            page = (await other.get(PATH, headers={**reader.headers, "Accept": "text/html"})).text
            assert {each.uid for each in world.assets if each.uid in page} == {
                each["uid"] for each in records
            }
            assert all(each["name"] in page for each in records)
            return sorted(each["name"] for each in records)

        assert await listed() == ["survey 0", "survey 1", "survey 2", "survey 3"]
        await write("PATCH", renamed.path, json={"name": "another"})
        assert await listed() == ["another", "survey 1", "survey 2", "survey 3"]
        await revoke(revoked)
        assert await listed() == ["another", "survey 2", "survey 3"]
        await write("DELETE", deleted.path)
        assert await listed() == ["another", "survey 3"]
        await disable_user(one, of_leaver.owner.username)
        assert await listed() == ["another"]
        await enable_user(one, of_leaver.owner.username)
        assert await listed() == ["another", "survey 3"]
        collection = await world.create_asset(owner, "collection")
        await world.create_asset(owner, "block", collection)
        assert await listed() == ["another", "survey 3"]
        given = {
            "user": f"/api/v2/users/{reader.username}/",
            "permission": "/api/v2/permissions/view_asset/",
        }
        await write("POST", f"{collection.path}permission-assignments/", json=given)
        assert await listed() == ["another", "block 5", "collection 4", "survey 3"]
        await revoke(collection)
        assert await listed() == ["another", "survey 3"]
        await transfer(world, leaver, owner)
        assert await listed() == ["another", "survey 3"]
        await transfer(world, owner, reader)
        assert await listed() == ["another", "block 5", "collection 4", "survey 1", "survey 3"]
        await transfer(world, reader, owner)
        assert await listed() == []


@pytest.mark.parametrize("seed", [0, *nightly_only(1)])
async def test_lists_of_assignments_follow_every_change(
    start: StartService, database_url: str, seed: int
) -> None:
    """A service with cached responses answers as one without, at once after changes through another one."""
    async with (
        start(database_url=database_url) as one,
        start(database_url=database_url) as cached,
        start(database_url=database_url, response_cache_size=0) as uncached,
    ):
        world = await generate_world(one, seed)
        rng = random.Random(seed)
        used_before = cached.app.app_context.response_cache.used_bytes
        for _ in range(12):
            await change(world, rng)
            for asset in rng.sample(world.assets, 3):
                path = f"{asset.path}permission-assignments/"
                for user in rng.sample([each for each in world.users if not each.is_disabled], 3):
                    for headers in (user.headers, {}):
                        expected = await uncached.get(path, headers=headers)
                        for _ in range(2):
                            found = await cached.get(path, headers=headers)
                            assert (found.status_code, found.content) == (
                                expected.status_code,
                                expected.content,
                            )
        assert cached.app.app_context.response_cache.used_bytes > used_before
