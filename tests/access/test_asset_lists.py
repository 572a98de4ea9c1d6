"""Lists that are kept in memory follow every change, and records from templates equal all other records."""

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from fieldgate.accounts.store import IssuedBy
from fieldgate.assets import asset_lists
from fieldgate.assets.asset_lists import AssetLists, AssetPage
from fieldgate.assets.list_sql import AssetSearch
from fieldgate.assets.routes.list_records import ListEncoder
from fieldgate.assets.search_query import parse_search
from fieldgate.assets.sharing.ownership import OwnershipStore, Transfer
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets
from fieldgate.db import now
from fieldgate.i18n.languages import Language
from fieldgate.identity import ANONYMOUS, Caller, User
from fieldgate.pagination import PageRequest
from tests.access.permission_world import PermissionWorld, WorldAsset, WorldUser, generate_world, random_step
from tests.access.test_visibility_sql import PATH, how_shared, is_in_list
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
    kind = rng.randrange(11)
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
        parent = rng.choice([None, *(each for each in world.assets if each.asset_type == "collection")])
        asset_type = rng.choice(["survey", "block", *(["collection"] if parent is None else [])])
        await world.create_asset(rng.choice(world.users), asset_type, parent)
    elif kind == 5:
        await transfer(world, *rng.sample(world.users, 2))
    elif kind == 3:
        await world.disable(rng.choice(world.users[:4]))
    elif kind == 4:
        await world.enable(rng.choice(world.users[:4]))
    else:
        await random_step(world, rng)


async def transfer(world: PermissionWorld, owner: WorldUser, new_owner: WorldUser) -> None:
    """Give all assets of one user to another."""
    store = OwnershipStore(world.service.database, world.service.data_versions)
    await store.transfer(Transfer(owner_id=owner.id, new_owner_id=new_owner.id, by=new_owner.id))
    for asset in world.assets:
        if asset.owner is owner:
            asset.owner = new_owner


def encode_all(page: AssetPage, caller: Caller) -> list[bytes]:
    return ListEncoder(page, caller, Language.ENGLISH, {}, own_only=False).encode_all()


def check_records(page: AssetPage, caller: Caller) -> None:
    """Records from templates must equal those without, byte by byte."""
    for own_only in (False, True):
        encoder = ListEncoder(page, caller, Language.FRENCH, {}, own_only=own_only)
        assert [encoder.encode(row) for row in page.rows] == [encoder.encode_any(row) for row in page.rows]


def check_order(page: AssetPage) -> None:
    keys = [(-row.modified_at, row.id) for row in page.rows]
    assert keys == sorted(keys)


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2)])
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
                check_order(page)
            reader = caller_of(rng.choice(world.users))
            for caller in (reader, ANONYMOUS):
                for search in SEARCHES:
                    known = await lists.load(caller, search, PageRequest(3, 1))
                    new = await AssetLists(service.database).load(caller, search, PageRequest(3, 1))
                    assert (known.count, known.versions) == (new.count, new.versions)
                    assert encode_all(known, caller) == encode_all(new, caller)
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


async def test_long_lists_are_not_kept(start: StartService, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asset_lists, "MAX_CACHED_IDS", 3)
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner = await world.create_user()
        uids = [(await world.create_asset(owner)).uid for _ in range(4)][::-1]
        lists, caller = AssetLists(service.database), caller_of(owner)

        async def load() -> bool:
            """Check pages, and return whether the list is known to be long. None of its ids are kept then."""
            for offset in (1, 0):
                page = await lists.load(caller, AssetSearch(), PageRequest(2, offset))
                assert (page.count, [row.uid for row in page.rows]) == (len(uids), uids[offset : offset + 2])
            [known] = lists._known._values.values()
            assert len(known.ids) == (0 if known.is_long else len(uids))
            return known.is_long

        assert await load()
        uids.insert(0, (await world.create_asset(owner)).uid)
        assert await load(), "also after a change"
        for _ in range(2):
            await world.store.delete(User(id=owner.id), uids.pop())
        await lists.load(caller, AssetSearch(), EVERYTHING)  # notices that the list is short now
        assert not await load()
        uids.insert(0, (await world.create_asset(owner)).uid)
        assert await load(), "it is long again"


async def test_lists_follow_other_processes_at_once(start: StartService, database_url: str) -> None:
    """One process writes, another has the list in memory: its next list and its next page show the change."""
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
            assignments = (await one.get(f"{asset.path}permission-assignments/", headers=owner.headers)).json()
            [given] = [each["url"] for each in assignments if each["user"].endswith(f"/{reader.username}/")]
            await write("DELETE", given)

        async def listed() -> list[str]:
            """The names in the list, which must also be those on its page for people."""
            records = (await other.get(PATH, headers=reader.headers)).json()["results"]
            page = (await other.get(PATH, headers={**reader.headers, "Accept": "text/html"})).text
            assert {each.uid for each in world.assets if each.uid in page} == {each["uid"] for each in records}
            assert all(each["name"] in page for each in records)
            return sorted(each["name"] for each in records)

        assert await listed() == ["survey 0", "survey 1", "survey 2", "survey 3"]
        await write("PATCH", renamed.path, json={"name": "another"})
        assert await listed() == ["another", "survey 1", "survey 2", "survey 3"]
        await revoke(revoked)
        assert await listed() == ["another", "survey 2", "survey 3"]
        await write("DELETE", deleted.path)
        assert await listed() == ["another", "survey 3"]
        await one.store.disable_user(of_leaver.owner.username)
        assert await listed() == ["another"]
        await one.store.enable_user(of_leaver.owner.username)
        assert await listed() == ["another", "survey 3"]
        collection = await world.create_asset(owner, "collection")
        await world.create_asset(owner, "block", collection)
        assert await listed() == ["another", "survey 3"]
        given = {"user": f"/api/v2/users/{reader.username}/", "permission": "/api/v2/permissions/view_asset/"}
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


async def test_logins_keep_lists(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner = await world.create_user()
        await world.create_asset(owner)
        lists, caller = AssetLists(service.database), caller_of(owner)
        await lists.load(caller, AssetSearch(), EVERYTHING)
        [known] = lists._known._values.values()
        await service.store.issue_token(owner.id, IssuedBy.SESSION, None)
        await lists.load(caller, AssetSearch(), EVERYTHING)
        assert [*lists._known._values.values()] == [known]


@pytest.mark.parametrize("seed", range(2))
async def test_lists_of_assignments_follow_every_change(start: StartService, database_url: str, seed: int) -> None:
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
                            assert (found.status_code, found.content) == (expected.status_code, expected.content)
        assert cached.app.app_context.response_cache.used_bytes > used_before


async def test_searches_do_not_fill_the_cache_of_statements(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every form of an expression is another statement, and a statement can take 400 KB."""
    async with start() as service:
        database = service.database
        kept = database._engine.sync_engine._compiled_cache
        assert kept is not None
        lists, words = AssetLists(database), ["survey", "name:a", "parent:null", "tags:b"]

        async def search(terms: int) -> None:
            expression = parse_search(" OR ".join(words[number % 4] for number in range(terms)))
            await lists.load(ANONYMOUS, AssetSearch(expression), EVERYTHING)

        for max_ids in (asset_lists.MAX_CACHED_IDS, -1):  # with -1, no list is short enough to be kept
            monkeypatch.setattr(asset_lists, "MAX_CACHED_IDS", max_ids)
            await search(1)
            before = len(kept)
            for terms in range(2, 12):
                await search(terms)
            assert len(kept) == before
