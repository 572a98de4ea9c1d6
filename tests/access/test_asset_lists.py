"""Lists that are kept in memory follow every change, and records from templates equal all other records."""

import asyncio
import random
from datetime import timedelta

import pytest

from fieldgate.assets import asset_lists
from fieldgate.assets.asset_lists import AssetLists, AssetPage
from fieldgate.assets.list_sql import AssetSearch
from fieldgate.assets.routes.list_records import ListEncoder
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets
from fieldgate.db import Database, now
from fieldgate.i18n.languages import Language
from fieldgate.identity import ANONYMOUS, Caller, User
from fieldgate.pagination import PageRequest
from tests.access.permission_world import PermissionWorld, WorldUser, generate_world, random_step
from tests.access.test_visibility_sql import how_shared, is_in_list
from tests.conftest import StartService

EVERYTHING = PageRequest(1000)
SEARCHES = [
    AssetSearch(),
    AssetSearch(ordering="name"),
    AssetSearch(asset_type="survey", status="shared", collections_first=True),
    AssetSearch(status="public-discoverable"),
]


def caller_of(user: WorldUser) -> Caller:
    return User(id=user.id, username=user.username, is_superuser=user.is_superuser)


async def change(world: PermissionWorld, rng: random.Random) -> None:
    """Make one change: to permissions mostly, or to an asset, its place or its owner's account."""
    kind = rng.randrange(10)
    asset = rng.choice(world.assets)
    if kind == 0 and asset.asset_type != "collection":
        values = {"modified_at": now() - timedelta(days=rng.randrange(9)), "name_key": f"name {rng.random()}"}
        async with world.service.database.transaction() as connection:
            await connection.execute(assets.update().where(assets.c.id == asset.id).values(values))
            await world.service.data_versions.bump(connection, TOPIC)
    elif kind == 1 and len(world.assets) > 4 and asset.asset_type != "collection":
        await world.store.delete(User(id=asset.owner.id), asset.uid)
        world.assets.remove(asset)
    elif kind == 2:
        await world.create_asset(rng.choice(world.users), rng.choice(["survey", "block", "collection"]))
    elif kind == 3:
        user = rng.choice(world.users[:4])
        await world.service.store.disable_user(user.username)
        user.is_disabled = True
    elif kind == 4:
        user = rng.choice(world.users[:4])
        await world.service.store.enable_user(user.username)
        user.is_disabled = False
    else:
        await random_step(world, rng)


def check_records(page: AssetPage, caller: Caller) -> None:
    """Records from templates must equal those without, byte by byte."""
    for own_only in (False, True):
        encoder = ListEncoder(page, caller, Language.FRENCH, {}, own_only=own_only)
        assert [encoder.encode(row) for row in page.rows] == [encoder.encode_any(row) for row in page.rows]


@pytest.mark.parametrize("seed", range(3))
async def test_known_lists_follow_every_change(start: StartService, database_url: str, seed: int) -> None:
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
                check_records(page, caller)
            reader = caller_of(rng.choice(world.users))
            for caller in (reader, ANONYMOUS):
                for search in SEARCHES:
                    known = await lists.load(caller, search, PageRequest(3, 1))
                    assert known == await AssetLists(service.database).load(caller, search, PageRequest(3, 1))
                    check_records(known, caller)


async def test_known_list_is_read_once(start: StartService, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asset_lists, "MAX_ROWS_AT_ONCE", 2)
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner = await world.create_user()
        uids = [(await world.create_asset(owner)).uid for _ in range(7)][::-1]
        lists, caller = AssetLists(service.database), caller_of(owner)

        async def load(offset: int, limit: int) -> list[str]:
            page = await lists.load(caller, AssetSearch(), PageRequest(limit, offset))
            assert page.count == len(uids)
            return [row.uid for row in page.rows]

        pages = await asyncio.gather(*(load(offset, 1) for offset in range(7)))
        assert [uid for page in pages for uid in page] == uids
        [known] = lists._known._values.values()
        assert await load(1, 5) == uids[1:6]
        assert await load(7, 50) == []
        assert [*lists._known._values.values()] == [known], "no list was read again"
        await world.store.delete(User(id=owner.id), uids.pop(3))
        assert await load(0, 50) == uids
        assert len(lists._known) == 1
        # A row that was deleted without a new version, as by hand.
        async with service.database.transaction() as connection:
            await connection.execute(assets.delete().where(assets.c.uid == uids.pop()))
        assert await load(0, 50) == uids


async def test_memory_of_lists_is_bounded(
    start: StartService, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner = await world.create_user()
        for _ in range(4):
            await world.create_asset(owner)
        lists, caller = AssetLists(service.database, max_cache_bytes=2000), caller_of(owner)
        for search in (*SEARCHES, AssetSearch(ordering="-name")):
            await lists.load(caller, search, EVERYTHING)
        assert 0 < lists._known.used_size <= 2000
        monkeypatch.setattr(asset_lists, "MAX_CACHED_IDS", 3)
        longer = AssetLists(service.database)
        page = await longer.load(caller, AssetSearch(), PageRequest(2, 1))
        assert (page.count, len(page.rows), len(longer._known)) == (4, 2, 0)
        assert page == await lists.load(caller, AssetSearch(), PageRequest(2, 1))


async def test_list_sees_writes_of_others_at_once(start: StartService, database_url: str) -> None:
    """Another process revokes a permission: the next page does not show the asset."""
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner, reader = await world.create_user(), await world.create_user()
        asset = await world.create_asset(owner)
        await world.grant(reader, asset, "view_asset")
        other = Database(database_url)
        lists, caller = AssetLists(other), caller_of(reader)
        assert (await lists.load(caller, AssetSearch(), EVERYTHING)).count == 1
        assert (await service.get("/api/v2/assets/", headers=reader.headers)).json()["count"] == 1
        await world.revoke(reader, asset, "view_asset")
        assert (await lists.load(caller, AssetSearch(), EVERYTHING)).count == 0
        assert (await service.get("/api/v2/assets/", headers=reader.headers)).json()["count"] == 0
        await other.close()
