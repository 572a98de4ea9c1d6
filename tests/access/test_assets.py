"""Shared assets over HTTP: what is shown of them, and rights that are taken away in the very moment they are used."""

import asyncio
from typing import Any

import pytest

from fieldgate.assets.sharing import access
from fieldgate.assets.store import AssetStore
from fieldgate.imports.worker import Worker
from fieldgate.settings import Settings
from tests.access.world import THE_PUBLIC_ITSELF, World
from tests.conftest import BASE, Start
from tests.imports.test_worker import Desk
from tests.imports.workbooks import xlsx

FIELDS = ("owner", "owner__username", "status", "effective_permissions", "assignable_permissions")


async def test_what_is_shown_of_an_asset(start: Start) -> None:
    async with start() as service:
        world = World(service)
        owner, viewer = await world.person(username="Ann.O'Neil"), await world.person()
        thing, block = await world.thing(owner), await world.thing(owner, "block")
        await world.give(viewer, thing, "add_submissions", "view_asset")
        shown = (await service.get(thing.path, headers=viewer.headers)).json()
        assert shown["owner"] == f"{BASE}/api/v2/users/Ann.O'Neil/"
        assert shown["status"] == "shared"
        assert shown["effective_permissions"] == [{"codename": "add_submissions"}, {"codename": "view_asset"}]
        offered = [each["url"].rstrip("/").rpartition("/")[2] for each in shown["assignable_permissions"]]
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


async def test_why_not(start: Start) -> None:
    async with start() as service:
        world = World(service)
        owner, viewer, manager = [await world.person() for _ in range(3)]
        thing = await world.thing(owner)
        await world.give(viewer, thing, "view_asset")
        await world.give(manager, thing, "manage_asset")
        said = set()
        for language in ("en", "fr", "es", "ar"):
            headers = {**viewer.headers, "Accept-Language": language}
            patched = await service.request("PATCH", thing.path, json={}, headers=headers)
            deleted = await service.request("DELETE", thing.path, headers={**headers, **manager.headers})
            assert (patched.status_code, deleted.status_code) == (403, 403)
            said |= {patched.json()["detail"], deleted.json()["detail"]}
        assert len(said) == 8
        assert "You may see this asset, but only its owner can delete it." in said
        assert "You may see this asset, but this needs the permission change_asset." in said


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_right_that_is_taken_away_while_it_is_used(
    start: Start, database_url: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for again when nobody else can change anything any more."""
    async with start(database_url=database_url) as service:
        world = World(service)
        owner, editor = await world.person(), await world.person()
        collection = await world.thing(owner, "collection")
        thing = await world.thing(owner, "survey", collection)
        await world.give(editor, collection, "change_asset")
        find = AssetStore.find

        async def and_just_before(*arguments: Any) -> Any:
            # On PostgreSQL by another transaction, which is done before we lock; on SQLite there is one writer.
            if not service.database.is_sqlite:
                await world.take(editor, thing, "change_asset")
            return await find(*arguments)

        monkeypatch.setattr(AssetStore, "find", and_just_before)
        if service.database.is_sqlite:
            to = access.Access.to

            async def and_then(*arguments: Any) -> Any:
                found = await to(*arguments)
                await world.take(editor, thing, "change_asset")
                return found

            monkeypatch.setattr(access.Access, "to", and_then)
        answer = await service.request(method, thing.path, headers=editor.headers, json={"name": "Mine"})
        assert answer.status_code == 403
        monkeypatch.undo()
        assert (await service.get(thing.path, headers=owner.headers)).json()["name"] == "survey 1"


async def test_changes_while_rights_come_and_go(start: Start, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = World(service)
        owner, editor = await world.person(), await world.person()
        thing = await world.thing(owner)

        async def come_and_go() -> None:
            for _ in range(10):
                await world.give(editor, thing, "change_asset")
                await world.take(editor, thing, "view_asset")

        going = asyncio.create_task(come_and_go())
        seen = set()
        while not going.done():
            answer = await service.request("PATCH", thing.path, json={"name": "x"}, headers=editor.headers)
            seen.add(answer.status_code)
            await asyncio.sleep(0)  # a refusal on SQLite waits for nothing, and would let nobody else have a turn
        await going
        assert seen <= {200, 404}
        assert (await service.request("PATCH", thing.path, json={}, headers=editor.headers)).status_code == 404


async def test_an_editor_imports_into_the_owners_asset(start: Start, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = World(service)
        owner, editor, viewer = [await world.person() for _ in range(3)]
        worker = Worker(Settings(), service.database)
        asset = await Desk(service, owner.headers, worker).done(xlsx())
        uid = asset["messages"]["created"][0]["uid"]
        thing = await world.known(uid, owner)
        await world.give(editor, thing, "change_asset")
        await world.give(viewer, thing, "view_asset")
        done = await Desk(service, editor.headers, worker).done(xlsx(), destination=uid)
        assert (done["status"], done["messages"]["updated"][0]["uid"]) == ("complete", uid)
        shown = (await service.get(thing.path, headers=editor.headers)).json()
        assert (shown["version_count"], shown["owner__username"]) == (2, owner.username)
        file = {"file": ("household.xlsx", xlsx())}
        stranger = await world.person()
        for person, status in ((viewer, 403), (stranger, 404)):
            refused = await service.client.post(
                "/api/v2/imports/", headers=person.headers, files=file, data={"destination": uid}
            )
            assert refused.status_code == status


@pytest.mark.parametrize("how", ["taken", "hidden", "disabled", "passed down"])
async def test_a_right_that_is_gone_when_the_import_is_written(start: Start, database_url: str, how: str) -> None:
    async with start(database_url=database_url) as service:
        world = World(service)
        owner, editor = await world.person(), await world.person()
        collection = await world.thing(owner, "collection")
        thing = await world.thing(owner, "survey", collection)
        await world.give(editor, collection if how == "passed down" else thing, "change_asset")
        desk = Desk(service, editor.headers, Worker(Settings(), service.database))
        url = await desk.send(xlsx(), destination=thing.uid)
        if how == "disabled":
            await world.disable(editor)
        else:
            await world.take(editor, thing, "view_asset" if how == "hidden" else "change_asset")
        assert await desk.worker.work_once()
        if how == "disabled":
            await service.store.enable_user(editor.username)
        record = await desk.get(url)
        assert (record["status"], record["messages"]["error_type"]) == ("error", "destination_not_allowed")
        said = {(await desk.get(url, **{"Accept-Language": each}))["messages"]["error"] for each in ("en", "fr", "ar")}
        assert len(said) == 3
        assert (await service.get(thing.path, headers=owner.headers)).json()["version_count"] == 1


async def test_a_superuser_imports_anywhere(start: Start) -> None:
    async with start() as service:
        world = World(service)
        owner, superuser = await world.person(), await world.person(is_superuser=True)
        thing = await world.thing(owner)
        desk = Desk(service, superuser.headers, Worker(Settings(), service.database))
        assert (await desk.done(xlsx(), destination=thing.uid))["status"] == "complete"


async def test_a_public_asset_is_for_everybody_and_in_no_list(start: Start) -> None:
    async with start() as service:
        world = World(service)
        owner, stranger = await world.person(), await world.person()
        thing = await world.thing(owner)
        await world.give(THE_PUBLIC_ITSELF, thing, "view_asset")
        for headers in ({}, stranger.headers):
            shown = await service.get(thing.path, headers=headers)
            assert (shown.status_code, shown.json()["status"]) == (200, "public")
            assert shown.json()["effective_permissions"] == [{"codename": "view_asset"}]
            assert (await service.get("/api/v2/assets/", headers=headers)).json()["count"] == 0
