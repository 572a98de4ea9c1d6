"""`…/permission-assignments/explain/`: explanations match what is enforced, and who can request them."""

from urllib.parse import quote

import pytest

from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PERMISSIONS
from tests.access.permission_world import (
    PUBLIC_USER,
    PermissionWorld,
    WorldAsset,
    WorldUser,
    generate_world,
)
from tests.conftest import StartService, nightly_only
from tests.imports.workbooks import xlsx

CODENAMES = [permission.codename for permission in PERMISSIONS]


def path(asset: WorldAsset, user: str, permission: str) -> str:
    return f"{asset.path}permission-assignments/explain/?user={quote(user)}&permission={quote(permission)}"


async def enforced(world: PermissionWorld, person: WorldUser, asset: WorldAsset) -> set[str]:
    """Return what a user may do, as the service shows it."""
    answer = await world.service.get(asset.path, headers=person.headers)
    if person.is_disabled:
        assert answer.status_code == 401
        return set()
    if (
        answer.status_code != 200
    ):  # who may not see it may send to it all the same: the one permission without seeing
        assert answer.status_code == 404
        state = (await world.load_assignments(asset)).state_of(person.id)
        return {"add_submissions"} & rules.effective_permissions(state, asset.asset_type)
    return {each["codename"] for each in answer.json()["effective_permissions"]}


FORM = xlsx()


async def tried(world: PermissionWorld, person: WorldUser, asset: WorldAsset) -> dict[str, bool]:
    """Return what a user may do, found by trying."""
    ask, headers = world.service.request, person.headers
    sent = {"files": {"file": ("household.xlsx", FORM)}, "data": {"destination": asset.uid}}
    done = {
        "view_asset": [await ask("GET", asset.path, headers=headers)],
        "change_asset": [await ask("PATCH", asset.path, headers=headers, json={})],
        "manage_asset": [
            await ask("GET", f"{asset.path}permission-assignments/history/", headers=headers)
        ],
    }
    if person is not PUBLIC_USER:
        done["change_asset"].append(await ask("POST", "/api/v2/imports/", headers=headers, **sent))
    refusals = (401, 403, 404)
    for permission, answers in done.items():
        for answer in answers:
            # Not done for another reason is not refused: what replaces a collection, say, is no form.
            assert answer.status_code in (200, 201, 400, *refusals), (permission, answer.text)
        assert len({answer.status_code in refusals for answer in answers}) == 1, permission
    return {
        permission: answers[0].status_code not in refusals for permission, answers in done.items()
    }


def holds(state: rules.PermissionState) -> bool:
    return bool(state.is_owner or state.granted or state.denied or state.collection or state.teams)


@pytest.mark.parametrize("seed", [1, *nightly_only(2)])
async def test_explanation_matches_enforcement(
    start: StartService, database_url: str, seed: int
) -> None:
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        superuser = world.users[4]
        for asset in world.assets:
            scope = await world.load_assignments(asset)
            for person in (*world.users, PUBLIC_USER):
                asking = (
                    superuser if asset.owner.is_disabled or person.is_superuser else asset.owner
                )
                may = await enforced(world, person, asset)
                did = await tried(world, person, asset)
                for codename in CODENAMES:
                    url = path(asset, person.username, codename)
                    answer = (await service.get(url, headers=asking.headers)).json()
                    if person.is_disabled and not holds(scope.state_of(person.id)):
                        assert answer == {"user": [f"There is no user {person.username}."]}
                        continue
                    assert answer["allowed"] == (codename in may), answer
                    assert answer["rules"][0]["decided"]
                    assert did.get(codename, answer["allowed"]) == answer["allowed"], answer


async def test_explain_authorization(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        owner, manager, viewer, stranger, closed = [await world.create_user() for _ in range(5)]
        asset = await world.create_asset(owner)
        await world.grant(manager, asset, "manage_asset")
        await world.grant(viewer, asset, "view_asset")
        await world.disable(closed)
        public = PUBLIC_USER
        for asking, about, status in (
            (owner, stranger, 200), (manager, closed, 400), (manager, owner, 200), (viewer, viewer, 200),
            (viewer, public, 200), (viewer, owner, 403), (viewer, manager, 403), (stranger, stranger, 404),
            (public, public, 404),
        ):  # fmt: skip
            answer = await service.get(
                path(asset, about.username, "change_asset"), headers=asking.headers
            )
            assert answer.status_code == status, (asking, about)
        for hidden in (path(asset, "nobody", "view_asset"), path(asset, owner.username, "fly")):
            answer = await service.get(hidden, headers=stranger.headers)
            assert answer.status_code == 404, (
                "without access to the asset, whatever the question is"
            )
        unknown = await service.get(path(asset, "nobody", "view_asset"), headers=viewer.headers)
        assert unknown.status_code == 403, "the response does not disclose whether a user exists"
        await world.grant(public, asset, "view_asset")
        assert (await service.get(path(asset, public.username, "view_asset"))).json()["allowed"]
        refused = await service.get(path(asset, owner.username, "view_asset"))
        assert refused.json() == {
            "detail": "Only those who manage this asset can ask about others. Ask about yourself, or the public."
        }


async def test_only_superusers_see_superuser_status(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        owner, manager = [await world.create_user() for _ in range(2)]
        boss, other = [await world.create_user(is_superuser=True) for _ in range(2)]
        asset = await world.create_asset(owner)
        await world.grant(manager, asset, "manage_asset")
        await world.grant(boss, asset, "view_asset")
        url = path(asset, boss.username, "change_asset")
        for asking, allowed, rule in (
            (owner, False, "nothing"), (manager, False, "nothing"),
            (boss, True, "superuser"), (other, True, "superuser"),
        ):  # fmt: skip
            answer = (await service.get(url, headers=asking.headers)).json()
            assert (answer["allowed"], [each["rule"] for each in answer["rules"]]) == (
                allowed,
                [rule],
            )
        answer = await service.get(
            path(asset, boss.username, "view_asset"), headers=manager.headers
        )
        assert [each["rule"] for each in answer.json()["rules"]] == ["assigned"]
        answer = await service.get(
            path(asset, boss.username, "partial_submissions"), headers=manager.headers
        )
        assert [each["rule"] for each in answer.json()["rules"]] == ["nothing"]
