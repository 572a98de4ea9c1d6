"""Shared assets over HTTP: what they show, and permissions revoked while they are used."""

import asyncio
from typing import Any

import pytest

from fieldgate.assets.tables import assets, assignments
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.access.permission_world import PUBLIC_USER, PermissionWorld
from tests.conftest import BASE_URL, StartService
from tests.data.sql import write_sql
from tests.databases import wait_for_locks
from tests.imports.test_worker import ImportHarness
from tests.imports.workbooks import xlsx


async def test_asset_shows_status_and_permissions(start: StartService) -> None:
    async with start() as service:
        world = PermissionWorld(service)
        owner, viewer = await world.create_user(username="Ann.O'Neil"), await world.create_user()
        thing, block = await world.create_asset(owner), await world.create_asset(owner, "block")
        await world.grant(viewer, thing, "add_submissions", "view_asset")
        shown = (await service.get(thing.path, headers=viewer.headers)).json()
        assert shown["owner"] == f"{BASE_URL}/api/v2/users/Ann.O'Neil/"
        assert shown["status"] == "shared"
        assert shown["effective_permissions"] == [
            {"codename": "add_submissions"},
            {"codename": "view_asset"},
        ]
        offered = [
            each["url"].rstrip("/").rpartition("/")[2] for each in shown["assignable_permissions"]
        ]
        assert offered == ["view_asset", "change_asset", "manage_asset", "add_submissions", "view_submissions",
                           "partial_submissions", "change_submissions", "delete_submissions",
                           "validate_submissions"]  # fmt: skip
        own = (await service.get(block.path, headers=owner.headers)).json()
        assert [each["codename"] for each in own["effective_permissions"]] == [
            "change_asset", "manage_asset", "view_asset", "delete_asset",
        ]  # fmt: skip
        assert (own["status"], len(own["assignable_permissions"])) == ("private", 3)
        listed = (await service.get("/api/v2/assets/", headers=viewer.headers)).json()["results"]
        assert [(each["uid"], each["status"]) for each in listed] == [(thing.uid, "shared")]
        assert "effective_permissions" not in listed[0]


async def test_permission_revoked_during_request(start: StartService, database_url: str) -> None:
    """Permissions are checked again after the asset is locked."""
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner, editor = await world.create_user(), await world.create_user()
        collection = await world.create_asset(owner, "collection")
        thing = await world.create_asset(owner, "survey", collection)
        await world.grant(editor, collection, "change_asset")
        change = service.request("PATCH", thing.path, headers=editor.headers, json={"name": "Mine"})
        with write_sql(service, "assets") as holder:
            holder.execute(assets.select().where(assets.c.id == thing.id).with_for_update())
            task = asyncio.create_task(change)
            if database_url.startswith("sqlite"):
                await asyncio.wait([task], timeout=0.3)
                assert not task.done()
            else:
                await wait_for_locks(service, [task])
            revoked = assignments.c.permission == "change_asset"
            holder.execute(assignments.delete().where(revoked))
        assert (await task).status_code == 403
        assert (await service.get(thing.path, headers=owner.headers)).json()["name"] == "survey 1"


@pytest.mark.parametrize("how", ["taken", "hidden", "disabled", "passed down"])
async def test_permission_revoked_before_import_is_written(
    start: StartService, database_url: str, how: str
) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner, editor = await world.create_user(), await world.create_user()
        collection = await world.create_asset(owner, "collection")
        thing = await world.create_asset(owner, "survey", collection)
        await world.grant(editor, collection if how == "passed down" else thing, "change_asset")
        harness = ImportHarness(service, editor.headers, ImportWorker(Settings(), service.database))
        url = await harness.send(xlsx(), destination=thing.uid)
        if how == "disabled":
            await world.disable(editor)
        else:
            await world.revoke(editor, thing, "view_asset" if how == "hidden" else "change_asset")
        assert await harness.worker.process_one()
        if how == "disabled":
            await world.enable(editor)
        record = await harness.get(url)
        assert (record["status"], record["messages"]["error_type"]) == (
            "error",
            "destination_not_allowed",
        )
        assert (await service.get(thing.path, headers=owner.headers)).json()["version_count"] == 1


def named(record: dict[str, Any]) -> set[tuple[str, str]]:
    """Return users and permissions from the record of an asset."""
    parts = [
        (each["user"].split("/")[-2], each["permission"].split("/")[-2])
        for each in record["permissions"]
    ]
    assert len(set(parts)) == len(parts)
    return set(parts)


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("is_public", [False, True])
async def test_assignments_shown_in_asset_and_list(
    start: StartService, database_url: str, is_inside: bool, is_public: bool
) -> None:
    """A list shows the caller's, the owner's and the public's assignments; the asset shows managers all of them."""
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        names = ("owner", "viewer", "editor", "manager", "closed", "boss", "stranger")
        users_by_name = {
            name: await world.create_user(username=name, is_superuser=name == "boss")
            for name in names
        }
        collection = (
            await world.create_asset(users_by_name["owner"], "collection") if is_inside else None
        )
        thing = await world.create_asset(users_by_name["owner"], "block", collection)
        given = {"viewer": ("view_asset",), "editor": ("change_asset",), "closed": ("view_asset",)}
        for name, permissions in given.items():
            await world.grant(users_by_name[name], collection or thing, *permissions)
        await world.grant(users_by_name["manager"], thing, "manage_asset")
        if is_public:
            await world.grant(PUBLIC_USER, collection or thing, "view_asset")
        await world.disable(users_by_name["closed"])

        manages = {"view_asset", "change_asset", "manage_asset"}
        held = {
            "owner": manages,
            "manager": manages,
            "editor": {"view_asset", "change_asset"},
            "viewer": {"view_asset"},
        }
        if is_public:
            held["AnonymousUser"] = {"view_asset"}

        def rows(*of: str) -> set[tuple[str, str]]:
            return {(name, permission) for name in of for permission in held.get(name, ())}

        everything = rows(*held)
        for name, listed, reported in (
            ("owner", rows("owner", "AnonymousUser"), everything),
            ("manager", rows("owner", "manager", "AnonymousUser"), everything),
            (
                "editor",
                rows("owner", "editor", "AnonymousUser"),
                rows("owner", "editor", "AnonymousUser"),
            ),
            (
                "viewer",
                rows("owner", "viewer", "AnonymousUser"),
                rows("owner", "viewer", "AnonymousUser"),
            ),
            ("boss", None, everything),
            ("stranger", None, rows("owner", "AnonymousUser") if is_public else None),
            ("", None, rows("owner") if is_public else None),
        ):
            headers = users_by_name[name].headers if name else {}
            found = (await service.get("/api/v2/assets/?asset_type=block", headers=headers)).json()[
                "results"
            ]
            assert [named(each) for each in found] == ([] if listed is None else [listed]), name
            answer = await service.get(thing.path, headers=headers)
            assert answer.status_code == (404 if reported is None else 200), name
            if reported is not None:
                assert named(answer.json()) == reported, name
