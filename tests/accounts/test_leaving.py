"""Deleting accounts: what goes, what stays, what stands in the way; on SQLite and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import Select, select

from fieldgate.accounts.leaving import MAX_LISTED
from fieldgate.accounts.tables import teams, users
from fieldgate.assets.asset_writer import AssetWriter
from fieldgate.assets.tables import assets, assignments, ownership_invites
from fieldgate.assets.write_schemas import AssetCreation
from fieldgate.db import metadata, now
from fieldgate.db.log import (
    USERS,
    log,
)
from fieldgate.db.tables import topic_versions
from fieldgate.errors import Unauthorized
from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.identity import User, csrf_token
from tests.access.permission_world import PermissionWorld, WorldAsset, WorldUser
from tests.conftest import Service, StartService
from tests.data.accounts import PASSWORD, create_session
from tests.data.assets import purge_trash
from tests.data.sql import read_sql, write_sql
from tests.databases import wait_for_locks

ME, USERS_PATH = "/me/", "/api/v2/users/"
INVITES = "/api/v2/project-ownership/invites/"
NAME = "quetzalcoatl"


class LeavingWorld:
    """A superuser and a user who wants to leave, and can see a form of another one."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    root_login = httpx.BasicAuth("root", PASSWORD)

    async def set_up(self) -> None:
        self.root = await self.world.create_user(username="root", is_superuser=True)
        self.leaver = await self.world.create_user(
            username=NAME, first_name=f"{NAME} first", last_name=NAME.upper()
        )
        self.other = await self.world.create_user(username="other")
        self.form = await self.world.create_asset(self.other)
        await self.world.grant(self.leaver, self.form, "change_asset")
        self.uid = (await self.service.get(ME, headers=self.leaver.headers)).json()["uid"]

    async def leave(
        self, confirm: str | None = None, by: WorldUser | None = None
    ) -> httpx.Response:
        auth = httpx.BasicAuth((by or self.leaver).username, PASSWORD)
        body = {"confirm": self.uid if confirm is None else confirm}
        return await self.service.request("DELETE", ME, json=body, auth=auth)

    async def delete(self, username: str = NAME, by: str = "root") -> httpx.Response:
        return await self.service.request(
            "DELETE", f"{USERS_PATH}{username}/", auth=httpx.BasicAuth(by, PASSWORD)
        )  # fmt: skip

    async def put_in_trash(self, asset: WorldAsset) -> None:
        with write_sql(self.service) as connection:
            deleted_at = now() - timedelta(days=31)
            connection.execute(
                assets.update().where(assets.c.id == asset.id).values(deleted_at=deleted_at)
            )

    async def rows(self, table: Any) -> list[Any]:
        with read_sql(self.service) as connection:
            return list(connection.execute(select(table)).all())

    async def usernames(self) -> set[str]:
        return {row.username for row in await self.rows(users)}


@pytest.fixture
async def scene(start: StartService, database_url: str) -> AsyncIterator[LeavingWorld]:
    async with start(database_url=database_url) as service:
        scene = LeavingWorld(service)
        await scene.set_up()
        yield scene


async def test_me_is_the_own_account(scene: LeavingWorld) -> None:
    headers = scene.leaver.headers
    answer = await scene.service.get(ME, headers=headers)
    assert answer.json() == (await scene.service.get("/api/v2/account/", headers=headers)).json()
    assert (answer.json()["uid"][0], answer.json()["username"]) == ("u", NAME)
    assert (await scene.service.get(ME)).status_code == 401


@pytest.mark.parametrize("confirm", ["", NAME, "uAnonymousUser"])
async def test_nothing_is_deleted_without_the_own_uid(scene: LeavingWorld, confirm: str) -> None:
    answer = await scene.leave(confirm)
    assert (answer.status_code, list(answer.json())) == (400, ["confirm"])
    auth = httpx.BasicAuth(scene.leaver.username, PASSWORD)
    missing = await scene.service.request("DELETE", ME, json={}, auth=auth)
    assert (missing.status_code, list(missing.json())) == (400, ["confirm"])
    assert (await scene.leave(by=scene.other)).status_code == 400, "the uid of somebody else"
    assert NAME in await scene.usernames()


async def test_token_cannot_delete_the_account(scene: LeavingWorld) -> None:
    body = {"confirm": scene.uid}
    answer = await scene.service.request("DELETE", ME, json=body, headers=scene.leaver.headers)
    assert answer.status_code == 403
    assert scene.leaver.username in await scene.usernames()


async def test_session_needs_a_csrf_token(scene: LeavingWorld) -> None:
    session = create_session(scene.service, scene.leaver.id)
    headers = {"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    for more, status in (({}, 403), ({"X-CSRFToken": csrf_token(session)}, 204)):
        answer = await scene.service.request(
            "DELETE", ME, json={"confirm": scene.uid}, headers={**headers, **more}
        )
        assert answer.status_code == status


async def _log_names(scene: LeavingWorld) -> None:
    """Entries by the user, about the user, and of a failed login."""
    send = scene.service.request
    sharing = f"{scene.form.path}permission-assignments/"
    grant = {"user": NAME, "permission": "view_submissions"}
    answers = [
        await send("PATCH", scene.form.path, json={"name": "Visit"}, headers=scene.leaver.headers),
        await send("PATCH", f"{USERS_PATH}{NAME}/", json={"is_ifrc": True}, auth=scene.root_login),
        await send("POST", sharing, json=grant, headers=scene.other.headers),
        await send("POST", "/get_auth_token", json={"username": NAME.upper(), "password": "x"}),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 201, 400]
    assert len([row for row in await scene.rows(log) if NAME in str(tuple(row)).casefold()]) >= 4


async def test_account_goes_and_its_name_with_it(scene: LeavingWorld) -> None:
    await _log_names(scene)
    await scene.put_in_trash(await scene.world.create_asset(scene.leaver))
    entries = len(await scene.rows(log))
    assert (await scene.leave()).status_code == 204
    assert (await scene.service.get(ME, headers=scene.leaver.headers)).status_code == 401
    assert (
        await scene.service.get("/token/", auth=httpx.BasicAuth(NAME, PASSWORD))
    ).status_code == 401
    assert [row.owner_id for row in await scene.rows(assets)] == [scene.other.id]
    assert await scene.rows(assignments) == []
    for table in metadata.sorted_tables:
        for row in await scene.rows(table):
            assert NAME not in str(tuple(row)).casefold(), table.name
    kept = await scene.rows(log)
    assert len(kept) == entries + 2
    [purged, done] = [row for row in kept if row.action == "delete"]
    assert (purged.model_name, purged.user_uid) == ("asset", scene.uid)
    assert (done.log_type, done.user_uid, done.object_uid, done.subject_uid) == (
        USERS,
        scene.uid,
        scene.uid,
        scene.uid,
    )
    listed = await scene.service.get(
        f"{scene.form.path}permission-assignments/", headers=scene.other.headers
    )
    assert {each["user"].rsplit("/", 2)[1] for each in listed.json()} == {"other"}


async def test_name_is_not_given_to_anybody_else(scene: LeavingWorld) -> None:
    assert (await scene.delete(NAME.upper())).status_code == 204
    for name in (NAME, NAME.title()):
        body = {"username": name, "password": PASSWORD}
        answer = await scene.service.request("POST", USERS_PATH, json=body, auth=scene.root_login)
        assert (answer.status_code, list(answer.json())) == (400, ["username"])
    [entry] = [row for row in await scene.rows(log) if row.action == "admin-delete"]
    assert (entry.username, entry.object_uid, entry.subject_uid) == ("root", scene.uid, scene.uid)


async def test_owned_assets_stand_in_the_way(scene: LeavingWorld) -> None:
    owned = [await scene.world.create_asset(scene.leaver) for _ in range(2)]
    await scene.put_in_trash(owned.pop())
    for answer in (await scene.leave(), await scene.delete()):
        assert answer.status_code == 409
        assert answer.json()["assets"] == [{"uid": owned[0].uid, "name": "survey 1"}]
        assert answer.json()["detail"] == (
            "1 form or collection belongs to this account or its service accounts. Transfer or delete it first."
        )  # fmt: skip
    assert len(await scene.rows(assets)) == 3, "the trash stays, too"
    for _ in range(MAX_LISTED):
        await scene.world.create_asset(scene.leaver)
    refused = (await scene.leave()).json()
    assert (len(refused["assets"]), refused["detail"][:4]) == (MAX_LISTED, "101 ")


async def test_team_keeps_an_admin(scene: LeavingWorld) -> None:
    """Teams with other members stand in the way, those without go with the account."""
    alone, left, kept = [
        await scene.world.create_team(scene.leaver, *each) for each in ((), (scene.other,), ())
    ]
    path = f"/api/v2/teams/{kept.uid}/members/"
    body = {"user": "other", "role": "admin"}
    assert (
        await scene.service.client.post(path, json=body, headers=scene.leaver.headers)
    ).status_code == 201
    for answer in (await scene.leave(), await scene.delete()):
        assert (answer.status_code, answer.json()["teams"]) == (
            409,
            [{"uid": left.uid, "name": "Team 1"}],
        )
        assert answer.json()["detail"].startswith("1 team has no other admin than this account.")
    assert len(await scene.rows(teams)) == 3
    role = f"/api/v2/teams/{left.uid}/members/other/"
    await scene.service.client.patch(role, json={"role": "admin"}, headers=scene.leaver.headers)
    assert (await scene.leave()).status_code == 204
    assert {row.id for row in await scene.rows(teams)} == {left.id, kept.id}
    [entry] = [
        row for row in await scene.rows(log) if (row.action, row.model_name) == ("delete", "team")
    ]
    assert (entry.user_uid, entry.object_uid) == (scene.uid, alone.uid)


async def test_two_admins_who_leave_at_once(scene: LeavingWorld) -> None:
    team = await scene.world.create_team(scene.leaver, scene.other, await scene.world.create_user())
    path = f"/api/v2/teams/{team.uid}/members/other/"
    await scene.service.client.patch(path, json={"role": "admin"}, headers=scene.leaver.headers)
    await scene.service.client.delete(scene.form.path, headers=scene.other.headers)
    answers = await asyncio.gather(scene.leave(), scene.delete("other"))
    assert sorted(answer.status_code for answer in answers) == [204, 409]


async def test_database_deletes_no_assets_with_their_owner(scene: LeavingWorld) -> None:
    with pytest.raises(Exception, match=r"(?i)foreign key"), write_sql(scene.service) as connection:
        connection.execute(users.delete().where(users.c.id == scene.other.id))


async def test_last_superuser_cannot_go(scene: LeavingWorld) -> None:
    uid = (await scene.service.get(ME, headers=scene.root.headers)).json()["uid"]
    for answer in (await scene.leave(uid, scene.root), await scene.delete("root")):
        assert (answer.status_code, "assets" in answer.json()) == (409, False)
    second = await scene.world.create_user(username="second", is_superuser=True)
    answers = await asyncio.gather(
        scene.leave(uid, scene.root), scene.delete("second", by="second")
    )
    assert sorted(answer.status_code for answer in answers) == [204, 409]
    assert len({"root", second.username} & await scene.usernames()) == 1


async def test_who_may_delete_users(scene: LeavingWorld) -> None:
    path = f"{USERS_PATH}{NAME}/"
    for headers, status in (({}, 401), (scene.other.headers, 403), (scene.root.headers, 403)):
        assert (await scene.service.request("DELETE", path, headers=headers)).status_code == status
    for name in ("nobody", "AnonymousUser"):
        assert (await scene.delete(name)).status_code == 404
    assert NAME in await scene.usernames()


async def test_account_that_is_gone_creates_no_assets(scene: LeavingWorld) -> None:
    writer = scene.service.app.app_context.services[AssetWriter]
    assert isinstance(writer, AssetWriter)
    await scene.delete()
    with pytest.raises(Unauthorized):
        await writer.create(User(id=scene.leaver.id, username=NAME), AssetCreation(name="x"))


async def test_assets_that_are_created_while_the_owner_leaves(scene: LeavingWorld) -> None:
    """Either the account stays with its assets, or all of it is gone."""
    create = [
        scene.service.client.post("/api/v2/assets/", json={"name": "x"}, headers=scene.leaver.headers)
        for _ in range(8)
    ]  # fmt: skip
    *created, left = await asyncio.gather(*create[:4], *create[4:], scene.leave())
    statuses = [answer.status_code for answer in created]
    if left.status_code == 204:
        assert set(statuses) == {401}
    else:
        assert left.status_code == 409
        assert statuses.count(201) >= 1
    owned = [row for row in await scene.rows(assets) if row.owner_id == scene.leaver.id]
    assert len(owned) == statuses.count(201)


# By what others do at the same time: rows that both need.
RIVALS: dict[str, Select[Any]] = {
    "accept": select(users).where(users.c.username == NAME),
    "cancel": select(ownership_invites),
    "share": select(users).where(users.c.username == NAME),
    "edit": select(users).where(users.c.username == NAME),
    "purge": select(topic_versions),
    "join": select(users).where(users.c.username == NAME),
    "rule": select(teams),
}


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("leaves_first", [True, False])
@pytest.mark.parametrize("rival", RIVALS)
async def test_user_leaves_while_others_write(
    scene: LeavingWorld, rival: str, leaves_first: bool
) -> None:
    """They wait for each other, but never in a circle: a row is locked until both wait."""
    service, world, leaver = scene.service, scene.world, scene.leaver
    boss = await world.create_user(
        is_superuser=True
    )  # with a higher id: locks in another order would show
    form, deleted = await world.create_asset(boss), await world.create_asset(boss)
    for asset in (form, deleted):
        await world.grant(leaver, asset, "view_asset")
    await scene.put_in_trash(deleted)
    await scene.put_in_trash(await world.create_asset(leaver))
    team = await world.create_team(boss, *([leaver] if rival == "rule" else []))
    offer = {"recipient": NAME, "assets": [form.uid]}
    invite = (await service.client.post(INVITES, json=offer, headers=boss.headers)).json()["url"]

    async def write() -> int:
        if rival == "purge":
            return await purge_trash(service)
        grants = [{"user": each, "permission": "change_asset"} for each in (NAME, "other")]
        method, path, by, body = {
            "accept": ("PATCH", invite, leaver, {"status": "accepted"}),
            "cancel": ("PATCH", invite, boss, {"status": "cancelled"}),
            "share": ("POST", f"{form.path}permission-assignments/bulk/", boss, grants),
            "join": (
                "POST",
                f"/api/v2/teams/{team.uid}/members/",
                boss,
                {"user": NAME, "role": "admin"},
            ),
            "rule": ("PATCH", f"/api/v2/teams/{team.uid}/members/{NAME}/", boss, {"role": "admin"}),
            "edit": ("PATCH", f"{USERS_PATH}{NAME}/", boss, {"last_name": "x"}),
        }[rival]
        return (await service.request(method, path, json=body, headers=by.headers)).status_code

    async def leave() -> int:
        return (await scene.leave()).status_code

    tasks: list[asyncio.Task[Any]] = []
    with write_sql(service) as holder:
        holder.execute(RIVALS[rival].with_for_update())
        for work in (leave, write) if leaves_first else (write, leave):
            tasks.append(asyncio.create_task(work()))
            await wait_for_locks(service, tasks)
    left, written = await asyncio.gather(*(tasks if leaves_first else tasks[::-1]))
    assert left in (204, 409)
    assert written in {"purge": (1, 2), "join": (201, 400)}.get(rival, (200, 404, 409))
