"""Cloning the assignments of another asset."""

from typing import Any

import pytest

from fieldgate.accounts.tables import users
from fieldgate.db import now
from fieldgate.permissions.rules import owner_permissions
from tests.assets.sharing.sharing_team import (
    BATCH_PATH,
    PUBLIC,
    SharingTeam,
    last_segment,
    user_url,
)
from tests.assets.sharing.test_effects import ASSET, BY_BOB, partial
from tests.conftest import BASE_URL
from tests.data.sql import write_sql


async def test_clone_from_and_to_asset_in_collection(team: SharingTeam) -> None:
    """Inherited permissions are copied. On the target, inherited permissions that are not copied are denied."""
    collection, target = await team.create_asset("collection"), await team.create_asset()
    source = await team.create_asset(parent=collection)
    await team.grant(collection, "bob", "change_asset")
    await team.grant(collection, "viewer", "view_asset")
    await team.grant(source, "ann", "view_submissions")
    await team.request_assignments(
        source, "owner", "DELETE", f"{await team.assignment_uid(source, 'viewer', 'view_asset')}/"
    )
    held = {name: await team.permissions_of(source, name) for name in ("ann", "bob", "viewer")}
    assert held == {"ann": {"view_asset", "view_submissions"}, "bob": ASSET, "viewer": set()}
    cloned = await team.request_assignments(
        target, "owner", "PATCH", "clone/", json={"clone_from": source}
    )
    assert cloned.status_code == 200, cloned.text
    assert {name: await team.permissions_of(target, name) for name in held} == held
    other = await team.create_asset()
    await team.grant(other, "viewer", "manage_asset")
    cloned = await team.request_assignments(
        source, "owner", "PATCH", "clone/", json={"clone_from": other}
    )
    assert cloned.status_code == 200, cloned.text
    assert {name: await team.permissions_of(source, name) for name in held} == {
        "ann": set(),
        "bob": set(),
        "viewer": owner_permissions("survey"),
    }
    assert await team.status(source, "bob", "GET") == 404, (
        "denied, although the collection or a team grants it"
    )
    assert await team.permissions_of(collection, "bob") == ASSET
    again = await team.request_assignments(
        source, "owner", "PATCH", "clone/", json={"clone_from": target}
    )
    assert again.status_code == 200, again.text
    assert {name: await team.permissions_of(source, name) for name in held} == held, (
        "no longer denied"
    )


async def test_clone(team: SharingTeam) -> None:
    source, target = await team.create_asset(owner="ann"), await team.create_shared_asset()
    given = partial(("view_submissions", [BY_BOB]))
    await team.grant(source, "bob", "partial_submissions", by="ann", partial_permissions=given)
    await team.grant(source, PUBLIC, "add_submissions", by="ann")
    await team.grant(source, "owner", "manage_asset", by="ann")
    kept = await team.assignment_uid(target, "viewer", "view_asset")
    await team.grant(source, "viewer", "view_asset", by="ann")
    path = f"{BASE_URL}/api/v2/assets/{source}/"
    answer = await team.request_assignments(
        target, "owner", "PATCH", "clone/", json={"clone_from": path}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json() == await team.list_assignments(target)
    names = ("ann", "bob", "manager", "viewer", PUBLIC)
    assert {name: await team.permissions_of(target, name) for name in names} == {
        "ann": owner_permissions("survey"),
        "bob": {"view_asset", "partial_submissions"},
        "manager": set(),
        "viewer": {"view_asset"},
        PUBLIC: {"add_submissions"},
    }
    assert await team.assignment_uid(target, "viewer", "view_asset") == kept
    row = next(row for row in await team.list_assignments(target) if "partial_permissions" in row)
    assert row["partial_permissions"] == given
    assert {each["act"] for each in (await team.history(target))[:5]} == {"clone"}


async def test_clone_copies_only_visible_assignments(team: SharingTeam) -> None:
    source, target = await team.create_shared_asset(), await team.create_asset(owner="ann")
    await team.grant(source, "ann", "view_asset")
    await team.grant(source, PUBLIC, "add_submissions")
    answer = await team.request_assignments(
        target, "ann", "PATCH", "clone/", json={"clone_from": source}
    )
    assert answer.status_code == 200, answer.text
    names = ("owner", "manager", "editor", "viewer", PUBLIC)
    assert {
        name: await team.permissions_of(target, name)
        for name in names
        if await team.permissions_of(target, name)
    } == {
        "owner": owner_permissions("survey"),
        PUBLIC: {"add_submissions"},
    }


FILTERS = [{"url": "view_submissions", "filters": [{}]}]


async def replace(
    team: SharingTeam, uid: str, by: str = "owner", query: str = "", **body: Any
) -> tuple[int, Any]:
    answer = await team.request_assignments(uid, by, "PATCH", f"bulk/{query}", json=body)
    return answer.status_code, answer.json()


async def test_replaces_the_permissions_of_one_user(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    others = await team.permissions_of(uid, "viewer")
    status, record = await replace(team, uid, user="editor", permissions=["view_submissions"])
    assert status == 200
    assert record["dry_run"] is False
    assert [(each["label"], each["effect"], each["why"]) for each in record["effects"]] == [
        ("View submissions", "granted", "chosen"),
        ("Edit form", "removed", "not included"),
    ]
    assert await team.permissions_of(uid, "editor") == {"view_asset", "view_submissions"}
    assert await team.permissions_of(uid, "viewer") == others
    entry = (await team.history(uid))[0]
    assert (entry["act"], entry["label"]) == ("replace", "Edit form")


async def test_partial_permissions(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    partials = [{"url": "change_submissions", "filters": [{"team": "north"}]}]
    status, _ = await replace(
        team, uid, user="ann", permissions=["partial_submissions"], partial_permissions=partials
    )
    assert status == 200
    assert await team.permissions_of(uid, "ann") == {
        "add_submissions",
        "partial_submissions",
        "view_asset",
    }
    assert (await replace(team, uid, user="ann", permissions=[]))[0] == 200
    assert await team.permissions_of(uid, "ann") == set()


async def test_inherited_assignments_are_marked(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    await team.grant(collection, "ann", "change_asset")
    uid = await team.create_asset(parent=collection)
    await team.grant(uid, "ann", "view_submissions")
    marked = {
        (last_segment(row["permission"]), row.get("inherited"))
        for row in await team.list_assignments(uid)
        if row["user"].endswith("/ann/")
    }
    assert marked == {
        ("view_asset", True),
        ("change_asset", True),
        ("view_asset", None),
        ("view_submissions", None),
    }
    status, record = await replace(team, uid, user="ann", permissions=["view_submissions"])
    assert status == 200
    assert [(each["label"], each["effect"], each["why"]) for each in record["effects"]] == [
        ("Edit form", "denied", "no longer comes from the collection or a team")
    ]


USERS = 1000


@pytest.fixture
async def bulk_users(team: SharingTeam) -> list[str]:
    names = [f"u{index:04}" for index in range(USERS)]
    rows = [
        {
            "uid": name, "username": name, "username_key": name, "password_hash": "", "first_name": "", "last_name": "",
            "is_superuser": False, "is_ifrc": False, "is_demo": False, "countries": [], "created_at": now(),
        }
        for name in names
    ]  # fmt: skip
    with write_sql(team.service) as connection:
        connection.execute(users.insert(), rows)
    return names


async def test_a_thousand_users_in_every_kind_of_write(
    team: SharingTeam, bulk_users: list[str]
) -> None:
    uid, small = await team.create_asset(), await team.create_asset()

    async def send(answer: Any) -> Any:
        given = await answer
        assert given.status_code == 200, given.text[:500]
        return given.json()

    for permission, rows in (("manage_asset", 8), ("view_asset", 1), ("change_submissions", 4)):
        new = [{"user": user_url(name), "permission": permission} for name in bulk_users]
        await send(team.request_assignments(small, "owner", "POST", "bulk/", json=new[:10]))
        listed = await send(team.request_assignments(uid, "owner", "POST", "bulk/", json=new))
        assert len(listed) == USERS * rows + 8
        assert listed == await team.list_assignments(uid)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).content
    files = {"file": ("x.csv", table)}
    reported = await send(
        team.request_assignments(uid, "owner", "POST", "csv/?mode=remove", files=files)
    )
    assert reported["counts"] == {"removed": USERS * 4}
    body = {"assets": [uid, small], "users": bulk_users, "permissions": ["add_submissions"]}
    reported = await send(team.request("owner", "POST", f"{BATCH_PATH}add/", json=body))
    assert reported["counts"]["granted"] == USERS + USERS - 10
    assert {last_segment(row["user"]) for row in await team.list_assignments(uid)} == {
        "owner",
        *bulk_users,
    }
    shown = await send(team.request("owner", "GET", f"/api/v2/assets/{uid}/"))
    assert shown["permissions"] == await team.list_assignments(uid)
    dry = await send(team.request_assignments(uid, "owner", "POST", "bulk/?dry_run=true", json=[]))
    assert dry["counts"] == {"removed": USERS}


async def test_effects_are_limited(team: SharingTeam, bulk_users: list[str]) -> None:
    uids = [await team.create_asset() for _ in range(2)]
    body = {"assets": uids, "users": bulk_users, "permissions": ["manage_asset"]}
    reported = (
        await team.request("owner", "POST", f"{BATCH_PATH}add/?dry_run=true", json=body)
    ).json()
    assert (reported["counts"], len(reported["effects"]), len(reported["result"])) == (
        {"granted": 16_000},
        10_000,
        2_000,
    )
