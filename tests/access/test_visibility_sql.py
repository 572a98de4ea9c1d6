"""Lists and statuses, computed in SQL, match the rules, and their cost depends on what the reader can see."""

import pytest

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import AssignmentScope
from fieldgate.permissions import rules
from tests.access.permission_world import (
    PUBLIC_USER,
    PermissionWorld,
    WorldAsset,
    WorldUser,
    generate_world,
)
from tests.conftest import StartService, nightly_only

PATH = "/api/v2/assets/"


def is_held(user: WorldUser, scope: AssignmentScope) -> bool:
    return "view_asset" in rules.own_permissions(scope.state_of(user.id), scope.asset_type)


def is_in_list(user: WorldUser, asset: WorldAsset, scope: AssignmentScope) -> bool:
    return is_held(user, scope) and (not asset.owner.is_disabled or asset.owner is user)


def how_shared(world: PermissionWorld, asset: WorldAsset, scope: AssignmentScope) -> str:
    public = rules.own_permissions(scope.state_of(PUBLIC_USER_ID), asset.asset_type)
    if "discover_asset" in public:
        return "public-discoverable"
    if "view_asset" in public:
        return "public"
    others = [
        each
        for each in (*world.users, *world.teams, PUBLIC_USER)
        if each is not asset.owner and not each.is_disabled
    ]
    given = [
        each for each in others if rules.own_permissions(scope.state_of(each.id), asset.asset_type)
    ]
    return "shared" if given else "private"


async def uids(world: PermissionWorld, user: WorldUser, query: str = "") -> set[str]:
    answer = await world.service.get(f"{PATH}?limit=1000&{query}", headers=user.headers)
    found = [record["uid"] for record in answer.json()["results"]]
    assert len(set(found)) == len(found) == answer.json()["count"]
    return set(found)


@pytest.mark.parametrize("seed", [0, 1, *nightly_only(2, 3, 4, 5)])
async def test_lists_and_statuses_match_rules(
    start: StartService, database_url: str, seed: int
) -> None:
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        scopes = {asset.uid: await world.load_assignments(asset) for asset in world.assets}
        statuses = {
            asset.uid: how_shared(world, asset, scopes[asset.uid]) for asset in world.assets
        }
        discoverable = {
            each.uid for each in world.assets
            if statuses[each.uid] == "public-discoverable" and not each.owner.is_disabled
        }  # fmt: skip
        assert await uids(world, PUBLIC_USER) == set()
        for user in [*world.users, PUBLIC_USER]:
            if user.is_disabled:
                assert (await service.get(PATH, headers=user.headers)).status_code == 401
                continue
            assert await uids(world, user, "status=public-discoverable") == discoverable
            if user is PUBLIC_USER:
                continue
            listed = {each.uid for each in world.assets if is_in_list(user, each, scopes[each.uid])}
            own = {each.uid for each in world.assets if each.owner is user}
            assert await uids(world, user) == listed
            assert await uids(world, user, "status=private") == {
                uid for uid in own if statuses[uid] == "private"
            }
            assert await uids(world, user, "status=shared") == listed - own
            public = {uid for uid in listed if statuses[uid] in ("public", "public-discoverable")}
            assert await uids(world, user, "status=public") == public
            for asset in world.assets:
                answer = await service.get(asset.path, headers=user.headers)
                allowed = rules.effective_permissions(
                    scopes[asset.uid].state_of(user.id), asset.asset_type
                )
                if user.is_superuser:
                    allowed = rules.owner_permissions(asset.asset_type)
                assert answer.status_code == (200 if "view_asset" in allowed else 404)
                if answer.status_code == 200:
                    reported = {each["codename"] for each in answer.json()["effective_permissions"]}
                    may_delete = user.is_superuser or user is asset.owner
                    assert reported == allowed | ({"delete_asset"} if may_delete else set())
                    assert answer.json()["status"] == statuses[asset.uid]
                    sees_parent = asset.parent is not None and (
                        user.is_superuser
                        or "view_asset"
                        in rules.effective_permissions(
                            scopes[asset.parent.uid].state_of(user.id), "collection"
                        )
                    )
                    assert (answer.json()["parent"] is not None) == sees_parent


async def test_list_order_is_total(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        reader, giver = await world.create_user(), await world.create_user()
        collection = await world.create_asset(giver, "collection")
        await world.grant(reader, collection, "view_asset")
        for index in range(12):
            asset = await world.create_asset(
                (reader, giver, giver)[index % 3], "survey", collection if index % 3 else None
            )
            if index % 2 and asset.owner is giver:
                await world.grant(reader, asset, "change_asset")
        for ordering in ("date_modified", "-date_modified", "name", "-name", "-date_created"):
            walked: list[str] = []
            url: str | None = f"{PATH}?limit=5&ordering={ordering}"
            while url:
                page = (await service.get(url, headers=reader.headers)).json()
                walked += [record["uid"] for record in page["results"]]
                url = page["next"]
            assert sorted(walked) == sorted(each.uid for each in world.assets)


@pytest.mark.parametrize(
    "how", ["directly", "by its collection", "with the owner of its collection"]
)
async def test_disabled_users_do_not_count_as_sharing(
    start: StartService, database_url: str, how: str
) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner, other = await world.create_user(), await world.create_user()
        collection = await world.create_asset(other if "owner" in how else owner, "collection")
        form = await world.create_asset(owner, "survey", collection)
        if "owner" not in how:
            await world.grant(other, form if how == "directly" else collection, "view_asset")
        statuses = []
        for change in (None, world.disable, world.enable):
            if change is not None:
                await change(other)
            status = (await service.get(form.path, headers=owner.headers)).json()["status"]
            assert (form.uid in await uids(world, owner, "status=private")) == (status == "private")
            statuses.append(status)
        assert statuses == ["shared", "private", "shared"]
