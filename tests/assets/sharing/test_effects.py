"""Effects of assigning, removing, replacing and cloning, on both databases."""

from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.db.log import log
from fieldgate.permissions.rules import owner_permissions
from tests.assets.sharing.sharing_team import (
    PUBLIC,
    SharingTeam,
    last_segment,
    permission_url,
    user_url,
)
from tests.conftest import BASE_URL
from tests.data.accounts import disable_user, enable_user
from tests.data.sql import read_sql

BY_BOB = {"_submitted_by": "bob"}


def partial(*entries: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"url": permission_url(codename), "filters": filters} for codename, filters in entries]


async def test_assign_grants_implied_permissions(team: SharingTeam) -> None:
    uid = await team.create_asset()
    body = {"user": user_url("bob"), "permission": permission_url("change_submissions")}
    created = await team.request_assignments(uid, "owner", "POST", json=body)
    record = created.json()
    assert created.status_code == 201
    assert created.headers["Location"] == record["url"]
    assert record == {**body, "url": record["url"], "label": "Edit submissions"}
    assert record["url"].startswith(f"{BASE_URL}/api/v2/assets/{uid}/permission-assignments/p")
    assert await team.permissions_of(uid, "bob") == {
        "view_asset",
        *(f"{verb}_submissions" for verb in ("add", "view", "change")),
    }
    assert (await team.request("owner", "GET", record["url"])).json() == record
    again = await team.request_assignments(uid, "manager", "POST", json=body)
    assert again.status_code == 404
    again = await team.request_assignments(
        uid, "owner", "POST", data={"user": "BOB", "permission": "change_submissions"}
    )
    assert (again.status_code, again.json()) == (201, record), (
        "an existing assignment is returned unchanged"
    )
    assert len(await team.history(uid)) == 4


async def test_list_is_sorted_and_complete(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await team.grant(uid, PUBLIC, "view_submissions")
    rows = await team.list_assignments(uid)
    named = [(last_segment(row["user"]), last_segment(row["permission"])) for row in rows]
    assert named == sorted(named)
    assert {permission for name, permission in named if name == "owner"} == owner_permissions(
        "survey"
    )
    assert [name for name, _ in named].count("manager") == len(owner_permissions("survey"))
    assert {permission for name, permission in named if name == PUBLIC} == {
        "view_asset",
        "view_submissions",
    }
    for row in rows:
        assert (await team.request("owner", "GET", row["url"])).json() == row, (
            "every assignment has a URL, the owner's too"
        )
    assert len({row["url"] for row in rows}) == len(rows)
    page = await team.request_assignments(uid, "owner", "GET", "?format=api")
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert await team.status(uid, "owner", "HEAD") == 200
    kept = (await team.request_assignments(uid, "owner", "GET", "?format=json")).json()
    assert kept[0]["url"].endswith("/?format=json")


async def test_partial_permissions(team: SharingTeam) -> None:
    uid = await team.create_asset()
    named = {"user": "bob", "permission": "partial_submissions"}
    given = partial(("change_submissions", [BY_BOB]), ("delete_submissions", [{"_id": {"$gt": 5}}]))
    created = await team.request_assignments(
        uid, "owner", "POST", json={**named, "partial_permissions": given}
    )
    record = created.json()
    assert created.status_code == 201, created.text
    reported = {
        last_segment(each["url"]): each["filters"] for each in record["partial_permissions"]
    }
    assert list(reported) == [
        "add_submissions",
        "view_submissions",
        "change_submissions",
        "delete_submissions",
    ]
    assert reported["view_submissions"] == [BY_BOB, {"_id": {"$gt": 5}}]
    assert reported["add_submissions"] == [BY_BOB]
    verbs = [
        "default",
        *(f"{verb}_submissions" for verb in ("view", "change", "delete", "validate")),
    ]
    assert list(record["label"]) == verbs
    assert await team.permissions_of(uid, "bob") == {
        "view_asset",
        "add_submissions",
        "partial_submissions",
    }
    other = {**named, "partial_permissions": partial(("view_submissions", [{}]))}
    changed = (await team.request_assignments(uid, "owner", "POST", json=other)).json()
    assert (changed["url"], changed["partial_permissions"]) == (
        record["url"],
        partial(("view_submissions", [{}])),
    )
    twice = partial(("view_submissions", [{"a": 1}]), ("view_submissions", [{"b": 2}]))
    joined = (
        await team.request_assignments(
            uid, "owner", "POST", json={**named, "partial_permissions": twice}
        )
    ).json()
    assert joined["partial_permissions"] == partial(("view_submissions", [{"a": 1}, {"b": 2}]))
    form = {
        **named,
        "partial_permissions": f'[{{"url": "{permission_url("view_submissions")}", "filters": [{{}}]}}]',
    }
    assert await team.status(uid, "owner", "POST", data=form) == 201, "forms contain it as JSON"
    gone = await team.request_assignments(
        uid, "owner", "DELETE", f"{await team.assignment_uid(uid, 'bob', 'view_asset')}/"
    )
    assert gone.status_code == 204
    assert await team.permissions_of(uid, "bob") == {"add_submissions"}


ASSET = {"view_asset", "change_asset"}


async def test_replace_all(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await team.grant(uid, "bob", "view_submissions")
    await team.grant(uid, "ann", "add_submissions")
    await disable_user(team.service, "ann")
    before = {row["url"]: row for row in await team.list_assignments(uid)}
    new = [
        {"user": user_url("bob"), "permission": permission_url("view_asset")},
        {"user": "/api/v2/users/BOB", "permission": "/api/v2/permissions/add_submissions.json"},
        {"user": "bob", "permission": "view_asset"},
        {"user": "editor", "permission": "change_asset"},
        {"user": PUBLIC, "permission": "view_asset"},
        {"user": "viewer", "permission": "partial_submissions",
         "partial_permissions": partial(("validate_submissions", [BY_BOB]))},
    ]  # fmt: skip
    answer = await team.request_assignments(uid, "manager", "POST", "bulk/", json=new)
    assert answer.status_code == 200, answer.text
    assert answer.json() == await team.list_assignments(uid)
    held = {
        name: await team.permissions_of(uid, name)
        for name in ("bob", "editor", "viewer", "manager", PUBLIC)
    }
    assert held == {
        "bob": {"view_asset", "add_submissions"},
        "editor": {"view_asset", "change_asset"},
        "viewer": {"view_asset", "partial_submissions"},
        "manager": set(),
        PUBLIC: {"view_asset"},
    }
    for row in answer.json():
        name, permission = last_segment(row["user"]), last_segment(row["permission"])
        stays = (name, permission) in {("bob", "view_asset"), ("viewer", "view_asset")} or name in (
            "owner",
            "editor",
        )
        assert (before.get(row["url"]) == row) == stays, "unchanged assignments keep their URL"
    assert (await team.request_assignments(uid, "owner", "POST", "bulk/", json=[])).json() == [
        row for row in await team.list_assignments(uid) if last_segment(row["user"]) == "owner"
    ]
    await enable_user(team.service, "ann")
    assert await team.permissions_of(uid, "ann") == {"add_submissions"}, (
        "disabled users are left alone"
    )


async def test_inherited_permissions(team: SharingTeam) -> None:
    collection = await team.create_asset("collection", owner="ann")
    uid = await team.create_asset("survey", parent=collection)
    await team.grant(collection, "bob", "manage_asset", by="ann")
    rows = {
        (last_segment(row["user"]), last_segment(row["permission"])): row["url"]
        for row in await team.list_assignments(uid)
    }
    assert {key for key in rows if key[0] != "owner"} == {
        (name, permission)
        for name in ("ann", "bob")
        for permission in ("view_asset", "change_asset")
    }
    assert last_segment(rows["bob", "view_asset"]) == await team.assignment_uid(
        collection, "bob", "view_asset"
    )
    assert last_segment(rows["ann", "view_asset"]) == await team.assignment_uid(
        collection, "ann", "view_asset"
    )
    await team.grant(uid, "bob", "view_asset")
    twice = [
        row["url"]
        for row in await team.list_assignments(uid)
        if (last_segment(row["user"]), last_segment(row["permission"])) == ("bob", "view_asset")
    ]
    assert len(twice) == 2
    assert (await team.request("owner", "DELETE", rows["bob", "change_asset"])).status_code == 204
    assert await team.permissions_of(uid, "bob") == {"view_asset"}
    reported = await team.history(uid)
    assert (reported[0]["effect"], last_segment(reported[0]["permission"])) == (
        "denied",
        "change_asset",
    )
    assert (await team.request("owner", "DELETE", twice[0])).status_code == 204
    assert await team.permissions_of(uid, "bob") == set(), "deleting one of the two removes both"
    assert await team.status(uid, "bob", "GET") == 404
    assert "change_asset" in await team.permissions_of(collection, "bob")
    await team.grant(uid, "bob", "change_asset")
    assert await team.permissions_of(uid, "bob") == {"view_asset", "change_asset"}
    assert await team.status(uid, "owner", "DELETE", "bulk/", json={"username": "ann"}) == 204
    assert await team.permissions_of(uid, "ann") == set()
    assert (await team.request("ann", "DELETE", rows["ann", "view_asset"])).status_code == 404
    answer = await team.request_assignments(
        uid, "owner", "POST", "bulk/", json=[{"user": "bob", "permission": "view_asset"}]
    )
    assert {(last_segment(row["user"])) for row in answer.json()} == {"owner", "bob"}
    assert await team.permissions_of(uid, "bob") == {"view_asset"}


async def test_remove_user(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    for name in ("manager", user_url("viewer"), "nobody", "EDITOR"):
        assert await team.status(uid, "owner", "DELETE", "bulk/", json={"username": name}) == 204
    assert {last_segment(row["user"]) for row in await team.list_assignments(uid)} == {"owner"}
    await team.grant(uid, "bob", "view_asset")
    await disable_user(team.service, "bob")
    assert await team.status(uid, "owner", "DELETE", "bulk/", json={"username": "bob"}) == 204
    await enable_user(team.service, "bob")
    assert await team.permissions_of(uid, "bob") == set()


async def test_disabled_user_is_not_listed(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    row = await team.assignment_uid(uid, "viewer", "view_asset")
    await disable_user(team.service, "viewer")
    assert await team.permissions_of(uid, "viewer") == set()
    assert await team.status(uid, "owner", "GET", f"{row}/") == 404
    assert await team.status(uid, "owner", "DELETE", f"{row}/") == 404


async def test_history(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "bob", "change_asset")
    await team.request_assignments(
        uid, "boss", "DELETE", f"{await team.assignment_uid(uid, 'bob', 'view_asset')}/"
    )
    reported = await team.history(uid)
    keys = ("by", "act", "permission", "effect", "reason")
    assert [tuple(last_segment(each[key]) for key in keys) for each in reported] == [
        ("boss", "remove", "change_asset", "removed", "dependent"),
        ("boss", "remove", "view_asset", "removed", "asked"),
        ("owner", "assign", "view_asset", "granted", "implied"),
        ("owner", "assign", "change_asset", "granted", "asked"),
    ]  # fmt: skip
    assert reported[0]["because"] == permission_url("view_asset")
    assert reported[0]["message"] == "change_asset: removed, as it requires view_asset."
    french = await team.request_assignments(
        uid, "owner", "GET", "history/?limit=1", headers={"Accept-Language": "fr"}
    )
    assert french.json()["count"] == 4
    assert french.json()["results"][0]["message"] != reported[0]["message"]


async def test_pages_of_the_history_are_cut_inside_entries(team: SharingTeam) -> None:
    """The log has one entry per person and asset, the history a record per effect."""
    uid, other = await team.create_asset(), await team.create_asset()
    for name in ("bob", "viewer"):
        for asset in (uid, other):
            await team.grant(asset, name, "manage_asset")
    whole = await team.history(uid)
    with read_sql(team.service) as connection:
        rows = connection.execute(
            select(log).where(log.c.object_uid == uid, log.c.effect_count > 0)
        ).all()
    assert {(row.action, row.username, row.object_name, row.model_name) for row in rows} == {
        ("modify-user-permissions", "owner", rows[0].object_name, "asset")
    }
    assert [row.subject_name for row in rows] == ["bob", "viewer"]
    assert rows[0].details["before"] == []
    assert "manage_asset" in rows[0].details["after"]
    assert all(
        row.user_uid.startswith("u") and row.subject_uid.startswith("u") and row.subject_id
        for row in rows
    )
    assert sum(row.effect_count for row in rows) == len(whole)
    for limit in (1, 4, 7):
        pages = []
        for offset in range(0, len(whole) + limit, limit):
            answer = await team.request_assignments(
                uid, "owner", "GET", f"history/?limit={limit}&offset={offset}"
            )
            assert answer.json()["count"] == len(whole)
            pages += answer.json()["results"]
        assert pages == whole


@pytest.mark.parametrize(
    ("before", "asked", "action"),
    [
        ([], "view_asset", "share-form-publicly"),
        ([], "view_submissions", "share-data-publicly"),
        (["view_submissions"], None, "unshare-form-publicly"),
        (["view_asset"], "add_submissions", "modify-user-permissions"),
    ],
)
async def test_log_has_words_for_the_public(
    team: SharingTeam, before: list[str], asked: str | None, action: str
) -> None:
    uid = await team.create_asset()
    for permission in before:
        await team.grant(uid, "AnonymousUser", permission)
    if asked is None:
        found = await team.assignment_uid(uid, "AnonymousUser", "view_asset")
        await team.request_assignments(uid, "owner", "DELETE", f"{found}/")
    else:
        await team.grant(uid, "AnonymousUser", asked)
    with read_sql(team.service) as connection:
        query = (
            select(log.c.action).where(log.c.object_uid == uid).order_by(log.c.id.desc()).limit(1)
        )
        assert connection.execute(query).scalar_one() == action


async def test_permissions_of_a_user_replaced_by_none(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    others = await team.permissions_of(uid, "viewer")
    body = {"user": "editor", "permissions": []}
    assert (
        await team.request_assignments(uid, "owner", "PATCH", "bulk/", json=body)
    ).status_code == 200
    assert (await team.permissions_of(uid, "editor"), await team.permissions_of(uid, "viewer")) == (
        set(),
        others,
    )
