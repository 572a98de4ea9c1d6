"""Ownership by invitation: states, who may answer, what moves, and attempts to get what was not offered."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fieldgate.assets.sharing.ownership_invites import cancel_transfers, expire_invites
from fieldgate.assets.tables import assets, assignments, ownership_invites, ownership_transfers
from fieldgate.db import AsyncDatabase, now
from fieldgate.db.log import log
from fieldgate.permissions import rules
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, WorldAsset, WorldUser
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD
from tests.data.sql import read_sql, write_sql

INVITES = "/api/v2/project-ownership/invites/"
ANSWERS = ("accepted", "declined", "cancelled")


class InviteWorld:
    """Omar offers two forms to Amina. Zoe manages one of them; root is a superuser."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        create = self.world.create_user
        self.people = {name: await create(username=name) for name in ("omar", "amina", "zoe")}
        self.people |= {
            "root": await create(username="root", is_superuser=True),
            "nobody": PUBLIC_USER,
        }
        self.omar, self.amina, self.zoe = (self.people[name] for name in ("omar", "amina", "zoe"))
        self.collection = await self.world.create_asset(self.omar, "collection")
        self.survey = await self.world.create_asset(self.omar, "survey", self.collection)
        self.block = await self.world.create_asset(self.omar, "block")
        await self.world.grant(self.zoe, self.survey, "manage_asset")

    async def send(self, method: str, path: str, by: WorldUser, body: Any = None) -> httpx.Response:
        return await self.service.request(method, path, json=body, headers=by.headers)

    async def offer(
        self, *offered: WorldAsset, to: str = "amina", by: WorldUser | None = None
    ) -> httpx.Response:
        body = {"recipient": to, "assets": [each.uid for each in offered]}
        return await self.send("POST", INVITES, by or self.omar, body)

    async def invite(self, *offered: WorldAsset) -> str:
        """Send an invitation, and return its path."""
        answer = await self.offer(*(offered or (self.survey, self.block)))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["url"]).removeprefix(BASE_URL)

    async def answer(self, path: str, status: str, by: WorldUser | None = None) -> httpx.Response:
        default = self.omar if status == "cancelled" else self.amina
        return await self.send("PATCH", path, by or default, {"status": status})

    async def end(self, path: str, how: str) -> None:
        if how == "expired":
            await self.change(ownership_invites, expires_at=now() - timedelta(seconds=1))
        else:
            assert (await self.answer(path, how)).status_code == 200

    async def change(self, table: Any, *conditions: Any, **values: Any) -> None:
        with write_sql(self.service) as connection:
            connection.execute(table.update().where(*conditions).values(**values))

    async def rows(self, table: Any) -> list[Any]:
        with read_sql(self.service) as connection:
            return list(connection.execute(select(table).order_by(table.c.id)).all())

    async def owners(self) -> dict[str, int]:
        return {row.uid: row.owner_id for row in await self.rows(assets)}

    async def ownership(self, by: WorldUser) -> Any:
        return (await self.send("GET", self.survey.path, by)).json()["project_ownership"]


@pytest.fixture
async def scene(start: StartService, database_url: str) -> AsyncIterator[InviteWorld]:
    async with start(database_url=database_url) as service:
        scene = InviteWorld(service)
        await scene.set_up()
        yield scene


async def test_invitations_in_the_history_of_a_form(scene: InviteWorld) -> None:
    """Other managers do not learn to whom the owner offers it, nor by searching for it."""
    assert (await scene.answer(await scene.invite(), "cancelled")).status_code == 200
    for name, actions in (("zoe", []), ("omar", ["transfer-cancel", "transfer-invite"])):
        for query in ("", "?q=action:transfer-invite OR action:transfer-cancel"):
            found = (
                await scene.send("GET", f"{scene.survey.path}history/{query}", scene.people[name])
            ).json()
            assert (found["count"], [each["action"] for each in found["results"]]) == (
                len(actions),
                actions,
            )
        listed = await scene.send("GET", f"{scene.survey.path}history/actions/", scene.people[name])
        assert listed.json() == {"actions": sorted(actions)}


async def test_filters_of_the_list(scene: InviteWorld) -> None:
    await scene.answer(await scene.invite(scene.survey), "declined")
    await scene.invite(scene.survey)
    for by, query, count in (
        ("omar", "", 2), ("omar", "?received=false", 2), ("omar", "?received=true", 0), ("amina", "?received=true", 2),
        ("amina", "?received=true&status=pending", 1), ("omar", "?status=declined", 1), ("zoe", "?status=pending", 0),
    ):  # fmt: skip
        assert (await scene.send("GET", INVITES + query, scene.people[by])).json()[
            "count"
        ] == count, (by, query)
    assert (await scene.send("GET", f"{INVITES}?status=open", scene.omar)).status_code == 400


async def test_accepting_moves_everything_at_once(scene: InviteWorld) -> None:
    await scene.world.grant(scene.amina, scene.survey, "view_asset")
    created = await scene.offer(scene.survey, scene.block, to=f"{BASE_URL}/api/v2/users/AMINA/")
    record = created.json()
    path = record["url"].removeprefix(BASE_URL)
    assert (created.status_code, created.headers["Location"]) == (201, record["url"])
    assert list(record) == [
        "url",
        "sender",
        "recipient",
        "status",
        "date_created",
        "date_modified",
        "transfers",
    ]
    assert (record["sender"][-6:], record["recipient"][-7:], record["status"]) == (
        "/omar/",
        "/amina/",
        "pending",
    )
    keys = ["url", "asset", "asset__name", "status", "error", "date_modified"]
    assert [list(each) for each in record["transfers"]] == [keys, keys]
    expected = {
        "invite": record["url"],
        "sender": "omar",
        "recipient": "amina",
        "status": "pending",
    }
    seen = {
        name: await scene.ownership(scene.people[name]) for name in ("omar", "amina", "root", "zoe")
    }
    assert seen == {"omar": expected, "amina": expected, "root": expected, "zoe": None}
    kept = [row for row in await scene.rows(assignments) if row.user_id == scene.zoe.id]
    done = (await scene.answer(path, "accepted")).json()
    assert (done["status"], [each["status"] for each in done["transfers"]]) == (
        "complete",
        ["success"] * 2,
    )
    for asset in (scene.survey, scene.block):
        found = (await scene.send("GET", asset.path, scene.amina)).json()
        assert (found["owner__username"], found["parent"], found["project_ownership"]) == (
            "amina",
            None,
            None,
        )
        held = {row.permission for row in await scene.rows(assignments)
                if (row.asset_id, row.user_id) == (asset.id, scene.omar.id)}  # fmt: skip
        assert held == rules.with_implied(["manage_asset"], asset.asset_type)
        assert (
            await scene.send("PATCH", asset.path, scene.omar, {"name": "Still mine to edit"})
        ).status_code == 200
        assert (await scene.send("DELETE", asset.path, scene.omar)).status_code == 403
    assert (await scene.owners())[scene.collection.uid] == scene.omar.id
    stored = await scene.rows(assignments)
    assert [row for row in stored if row.user_id == scene.zoe.id] == kept
    assert not [row for row in stored if row.user_id == scene.amina.id]
    entries = [(row.object_uid, row.subject_name, row.username) for row in await scene.rows(log)
               if row.action == "transfer"]  # fmt: skip
    assert sorted(entries) == sorted(
        (each.uid, "amina", "amina") for each in (scene.survey, scene.block)
    )


@pytest.mark.parametrize(
    ("status", "allowed", "refused"),
    [("accepted", "amina", "omar zoe root nobody"), ("declined", "amina", "omar zoe root nobody"),
     ("cancelled", "omar", "amina zoe root nobody")],
)  # fmt: skip
async def test_who_may_answer(scene: InviteWorld, status: str, allowed: str, refused: str) -> None:
    path, before = await scene.invite(), await scene.owners()
    expected = {"zoe": 404, "nobody": 401}
    for name in refused.split():
        answer = await scene.answer(path, status, scene.people[name])
        assert answer.status_code == expected.get(name, 403), name
    assert (await scene.answer(path, "complete")).status_code == 400
    assert ((await scene.send("GET", path, scene.omar)).json()["status"], await scene.owners()) == (
        "pending",
        before,
    )
    assert (await scene.answer(path, status, scene.people[allowed])).status_code == 200


@pytest.mark.parametrize("how", [*ANSWERS, "expired"])
async def test_ended_invitation_cannot_be_answered_again(scene: InviteWorld, how: str) -> None:
    path = await scene.invite()
    assert (await scene.send("GET", path, scene.amina)).json()["status"] == "pending"
    await scene.end(path, how)
    owners = await scene.owners()
    for status in ANSWERS:
        assert (await scene.answer(path, status)).status_code == 409
    assert (await scene.send("DELETE", path, scene.omar)).status_code == 409
    record = (await scene.send("GET", path, scene.amina)).json()
    states = ("complete", "success") if how == "accepted" else (how, "cancelled")
    assert (record["status"], {each["status"] for each in record["transfers"]}) == (
        states[0],
        {states[1]},
    )
    assert (await scene.owners(), await scene.ownership(scene.omar)) == (owners, None)
    if how != "accepted":
        assert set(owners.values()) == {scene.omar.id}
        await scene.invite(scene.survey)


async def test_workers_store_that_an_invitation_expired(scene: InviteWorld) -> None:
    path = await scene.invite()
    await expire_invites(scene.service.database)
    assert {row.status for row in await scene.rows(ownership_invites)} == {"pending"}
    await scene.end(path, "expired")
    await expire_invites(scene.service.database)
    assert {row.status for row in await scene.rows(ownership_invites)} == {"expired"}
    assert {row.status for row in await scene.rows(ownership_transfers)} == {"cancelled"}


async def test_answers_at_the_same_time(scene: InviteWorld) -> None:
    path = await scene.invite()
    answers = [scene.answer(path, status) for status in (*ANSWERS, *ANSWERS)]
    codes = [answer.status_code for answer in await asyncio.gather(*answers)]
    assert sorted(codes) == [200] + [409] * 5
    assert len([row for row in await scene.rows(log) if row.action == "transfer"]) in (0, 2)


async def test_one_asset_in_two_invitations_at_the_same_time(scene: InviteWorld) -> None:
    codes = [
        answer.status_code
        for answer in await asyncio.gather(*(scene.offer(scene.survey) for _ in range(4)))
    ]
    assert sorted(codes) == [201, 400, 400, 400]


@pytest.mark.parametrize("name", ["nobody_here", "gone", "AnonymousUser"])
async def test_recipients_that_do_not_exist_are_all_alike(scene: InviteWorld, name: str) -> None:
    await scene.world.disable(await scene.world.create_user(username="gone"))
    answer = await scene.offer(scene.survey, to=name)
    assert (answer.status_code, answer.json()) == (
        400,
        {"recipient": [f"There is no user {name}."]},
    )


async def test_invalid_offers(scene: InviteWorld) -> None:
    foreign = await scene.world.create_asset(scene.zoe)
    await scene.world.grant(scene.omar, foreign, "manage_asset")
    unknown = WorldAsset(0, "aDoesNotExist", "survey", scene.omar)
    trashed = await scene.world.create_asset(scene.omar)
    await scene.change(assets, assets.c.id == trashed.id, deleted_at=now())
    for asset in (foreign, unknown, trashed):
        answer = await scene.offer(scene.survey, asset)
        assert (answer.status_code, answer.json()) == (
            400,
            {"assets": [f"You own no form {asset.uid}."]},
        )
    for by in (scene.zoe, scene.people["root"]):  # a manager, a superuser
        assert list((await scene.offer(scene.survey, by=by)).json()) == ["assets"]
    assert list((await scene.offer(scene.survey, to="OMAR")).json()) == ["recipient"]
    assert list((await scene.offer()).json()) == ["assets"]
    assert list((await scene.offer(*[scene.survey] * 101)).json()) == ["assets"]
    assert (await scene.offer(scene.survey, by=PUBLIC_USER)).status_code == 401
    await scene.invite(scene.survey)
    taken = await scene.offer(scene.block, scene.survey)
    assert taken.json() == {
        "assets": [f"{scene.survey.uid} is part of another invitation. Cancel that one first."]
    }
    assert len(await scene.rows(ownership_invites)) == 1


@pytest.mark.parametrize(
    ("change", "statuses", "error"),
    [("deleted", ("failed", "success"), "This form was deleted."),
     ("moved", ("failed", "success"), "This form belongs to somebody else now."),
     ("disabled", ("failed", "failed"), "The account of the sender is disabled.")],
)  # fmt: skip
async def test_what_changed_meanwhile_is_left_out(
    scene: InviteWorld, change: str, statuses: tuple[str, str], error: str
) -> None:
    path = await scene.invite()
    is_survey = assets.c.id == scene.survey.id
    if change == "deleted":
        await scene.change(assets, is_survey, deleted_at=now())
    elif change == "moved":
        await scene.change(assets, is_survey, owner_id=scene.zoe.id)
    else:
        await scene.world.disable(scene.omar)
    before = (await scene.owners())[scene.survey.uid]
    record = (await scene.answer(path, "accepted")).json()
    assert tuple(each["status"] for each in record["transfers"]) == statuses
    assert (record["transfers"][0]["error"], record["status"]) == (
        error, "complete" if "success" in statuses else "failed",
    )  # fmt: skip
    assert (await scene.owners())[scene.survey.uid] == before


async def test_recipient_who_was_disabled_cannot_accept(scene: InviteWorld) -> None:
    path = await scene.invite()
    await scene.world.disable(scene.amina)
    assert (await scene.answer(path, "accepted")).status_code == 401
    assert (await scene.answer(path, "cancelled")).status_code == 200


async def test_recipient_who_leaves_at_the_same_time(scene: InviteWorld) -> None:
    """Either the forms have a new owner, who stays, or the account and the invitation are gone."""
    path = await scene.invite()
    uid = (await scene.send("GET", "/me/", scene.amina)).json()["uid"]
    auth, body = httpx.BasicAuth("amina", PASSWORD), {"confirm": uid}
    accepted, left = await asyncio.gather(
        scene.answer(path, "accepted"),
        scene.service.request("DELETE", "/me/", json=body, auth=auth),
    )
    owner = (await scene.owners())[scene.survey.uid]
    if left.status_code == 204:
        assert (accepted.status_code in (401, 404, 409), owner) == (True, scene.omar.id)
        assert await scene.rows(ownership_invites) == []
    else:
        assert (accepted.status_code, left.status_code, owner) == (200, 409, scene.amina.id)


async def test_trash_ends_transfers(scene: InviteWorld) -> None:
    path = await scene.invite()
    assert (await scene.send("GET", INVITES, scene.amina)).json()["count"] == 1
    for asset, status in ((scene.survey, "pending"), (scene.block, "cancelled")):
        await scene.send("DELETE", f"/api/v2/assets/{asset.uid}/", scene.omar)
        record = (await scene.send("GET", path, scene.omar)).json()
        assert record["status"] == status
    assert [each["error"] for each in record["transfers"]] == ["This form was deleted."] * 2


@pytest.mark.parametrize("is_seen", [False, True])
@pytest.mark.parametrize("how", ["answer", "trash"])
async def test_cancelled_invitation_that_nobody_saw_is_dropped(
    scene: InviteWorld, how: str, is_seen: bool
) -> None:
    path = await scene.invite(scene.block)
    assert (await scene.send("GET", path, scene.omar)).status_code == 200, (
        "its sender does not count"
    )
    if is_seen:
        assert (await scene.send("GET", INVITES, scene.amina)).json()["count"] == 1
    if how == "trash":
        assert (await scene.send("DELETE", scene.block.path, scene.omar)).status_code == 204
    else:
        record = (await scene.answer(path, "cancelled")).json()
        assert (record["status"], [each["status"] for each in record["transfers"]]) == (
            "cancelled",
            ["cancelled"],
        )
    for person in (scene.omar, scene.amina):
        listed = (await scene.send("GET", INVITES, person)).json()["results"]
        assert [each["status"] for each in listed] == ["cancelled"] * is_seen
        assert (await scene.send("GET", path, person)).status_code == (200 if is_seen else 404)


async def test_trash_takes_any_number_of_assets(database: AsyncDatabase) -> None:
    """More than the parameters that a statement can have."""
    async with database.transaction() as connection:
        await cancel_transfers(database, connection, range(1, 300_000))


async def test_collection_takes_nothing_with_it_that_was_not_offered(scene: InviteWorld) -> None:
    other = await scene.world.create_asset(scene.zoe, "survey", scene.collection)
    second = await scene.world.create_asset(scene.omar, "survey", scene.collection)
    await scene.end(await scene.invite(scene.collection, second), "accepted")
    parents = {row.uid: row.parent_id for row in await scene.rows(assets)}
    assert parents[scene.survey.uid] is None
    assert (parents[second.uid], parents[other.uid]) == (scene.collection.id, scene.collection.id)
    assert (await scene.send("GET", scene.survey.path, scene.amina)).status_code == 404


async def test_storage_of_the_recipient_is_respected(start: StartService) -> None:
    async with start(max_storage_per_user=1) as service:
        scene = InviteWorld(service)
        await scene.set_up()
        path, owners = await scene.invite(), await scene.owners()
        assert (await scene.answer(path, "accepted")).status_code == 413
        assert ((await scene.send("GET", path, scene.omar)).json()["status"], await scene.owners()) == (
            "pending", owners,
        )  # fmt: skip


async def test_only_the_two_sides_and_superusers_see_an_invitation(scene: InviteWorld) -> None:
    path = await scene.invite()
    record = (await scene.send("GET", path, scene.omar)).json()
    transfer = record["transfers"][0]["url"].removeprefix(BASE_URL)
    expected = {
        "omar": (200, 1),
        "amina": (200, 1),
        "root": (200, 0),
        "zoe": (404, 0),
        "nobody": (401, None),
    }
    for name, (status, count) in expected.items():
        by = scene.people[name]
        for each in (path, f"{path}transfers/", transfer):
            assert (await scene.send("GET", each, by)).status_code == status, (name, each)
        assert (await scene.send("GET", INVITES, by)).json().get("count") == count
    assert (await scene.send("GET", transfer, scene.amina)).json() == record["transfers"][0]
    assert (await scene.send("GET", f"{path}transfers/", scene.amina)).json()["results"] == record[
        "transfers"
    ]
    other = await scene.invite(scene.collection)
    mixed = other + "transfers/" + transfer.split("transfers/")[1]
    assert (await scene.send("GET", mixed, scene.amina)).status_code == 404


async def test_sender_deletes_an_invitation(scene: InviteWorld) -> None:
    path = await scene.invite()
    for name, status in (
        ("nobody", 401),
        ("zoe", 404),
        ("amina", 403),
        ("root", 403),
        ("omar", 204),
    ):
        assert (await scene.send("DELETE", path, scene.people[name])).status_code == status
    assert (await scene.rows(ownership_invites), await scene.rows(ownership_transfers)) == ([], [])
    words = [row.action for row in await scene.rows(log) if row.action.startswith("transfer")]
    assert words == ["transfer-invite"] * 2 + ["transfer-cancel"] * 2


async def test_names_after_the_offer_are_not_shown(scene: InviteWorld) -> None:
    path = await scene.invite(scene.survey)
    await scene.answer(path, "declined")
    await scene.send("PATCH", f"/api/v2/assets/{scene.survey.uid}/", scene.omar, {"name": "secret"})
    assert "secret" not in (await scene.send("GET", path, scene.amina)).text


async def test_invitation_of_a_former_owner_blocks_nobody(scene: InviteWorld) -> None:
    await scene.invite(scene.survey)
    await scene.change(assets, assets.c.id == scene.survey.id, owner_id=scene.zoe.id)
    assert (await scene.offer(scene.survey, by=scene.zoe)).status_code == 201
