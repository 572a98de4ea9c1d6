"""Lists of assets follow every change."""

import random
from datetime import timedelta
from typing import Any

import pytest

from fieldgate.assets.asset_lists import AssetLists, AssetSearch
from fieldgate.assets.search_query import parse_search
from fieldgate.assets.sharing.transfer import OwnershipStore, Transfer
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets
from fieldgate.db import RowPage, now
from fieldgate.identity import ANONYMOUS, Caller, User
from fieldgate.pagination import PageRequest
from tests.access.permission_world import (
    PermissionWorld,
    WorldAsset,
    WorldUser,
    generate_world,
    random_step,
)
from tests.access.test_visibility_sql import PATH, how_shared, is_in_list
from tests.accounts.disabled_users import disable_user
from tests.conftest import StartService, nightly_only

EVERYTHING = PageRequest(1000)
SEARCHES = [
    AssetSearch(),
    AssetSearch(ordering="name"),
    AssetSearch(asset_type="survey", status="shared", collections_first=True),
    AssetSearch(status="public-discoverable"),
    AssetSearch(parse_search("survey NOT parent:null"), ordering="-owner__username"),
]


def caller_of(user: WorldUser) -> Caller:
    return User(id=user.id, username=user.username, is_superuser=user.is_superuser)


async def change(world: PermissionWorld, rng: random.Random) -> None:
    """Make one change: to permissions mostly, or to an asset, its place or its owner's account."""
    kind = rng.randrange(12)
    asset = rng.choice(world.assets)
    if kind == 0 and asset.asset_type != "collection":
        values = {
            "modified_at": now() - timedelta(days=rng.randrange(9)),
            "name_key": f"name {rng.random()}",
        }
        async with world.service.database.transaction() as connection:
            await connection.execute(assets.update().where(assets.c.id == asset.id).values(values))
            await world.service.data_versions.bump(connection, TOPIC)
    elif kind == 1 and len(world.assets) > 4 and asset.asset_type != "collection":
        await world.trash.delete(User(id=asset.owner.id), asset.uid)
        world.assets.remove(asset)
        world.deleted.append(asset)
    elif kind == 2:
        parent = rng.choice(
            [None, *(each for each in world.assets if each.asset_type == "collection")]
        )
        asset_type = rng.choice(["survey", "block", *(["collection"] if parent is None else [])])
        await world.create_asset(rng.choice(world.users), asset_type, parent)
    elif kind == 5:
        await transfer(world, *rng.sample(world.users, 2))
    elif kind == 11 and world.deleted:
        restored = world.deleted.pop()
        await world.trash.restore(User(id=restored.owner.id), restored.uid)
        world.assets.append(restored)
    elif kind == 3:
        await world.disable(rng.choice(world.users[:4]))
    elif kind == 4:
        await world.enable(rng.choice(world.users[:4]))
    else:
        await random_step(world, rng)


async def transfer(world: PermissionWorld, owner: WorldUser, new_owner: WorldUser) -> None:
    """Give all assets of one user to another."""
    store = OwnershipStore(world.service.database, world.service.data_versions)
    await store.transfer(
        Transfer(
            owner_id=owner.id,
            new_owner_id=new_owner.id,
            by=User(id=new_owner.id, username=new_owner.username),
        )
    )
    for asset in world.assets:
        if asset.owner is owner:
            asset.owner = new_owner


def check_order(page: RowPage) -> None:
    keys = [(-row.modified_at.timestamp(), row.id) for row in page.rows]
    assert keys == sorted(keys)


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2)])
async def test_lists_follow_every_change(start: StartService, database_url: str, seed: int) -> None:
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        rng = random.Random(seed)
        lists = AssetLists(service.database)
        for _ in range(25):
            await change(world, rng)
            scopes = {asset.uid: await world.load_assignments(asset) for asset in world.assets}
            for user in [each for each in world.users if not each.is_disabled]:
                caller = caller_of(user)
                page = await lists.load(caller, AssetSearch(), EVERYTHING)
                assert {row.uid: row.status for row in page.rows} == {
                    asset.uid: how_shared(world, asset, scopes[asset.uid])
                    for asset in world.assets
                    if is_in_list(user, asset, scopes[asset.uid])
                }
                check_order(page)
            reader = caller_of(rng.choice(world.users))
            for caller in (reader, ANONYMOUS):
                for search in SEARCHES:
                    everything = await lists.load(caller, search, EVERYTHING)
                    page = await lists.load(caller, search, PageRequest(3, 1))
                    assert page.total == everything.total == len(everything.rows)
                    assert [row.uid for row in page.rows] == [row.uid for row in everything.rows][
                        1:4
                    ]


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
        await disable_user(one.store, of_leaver.owner.username)
        assert await listed() == ["another"]
        await one.store.enable_user(of_leaver.owner.username)
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
