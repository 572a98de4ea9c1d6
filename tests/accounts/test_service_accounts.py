"""Service accounts: users without a password, whose owner makes and revokes their tokens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from click.testing import Result
from sqlalchemy import select

from fieldgate.accounts.service_accounts import MAX_OWNED
from fieldgate.accounts.tables import team_members, tokens, users
from fieldgate.db.log import log
from fieldgate.identity import User
from fieldgate.overload import caller_key
from fieldgate.settings import LOOPBACK, RateQuota
from tests.access.permission_world import PermissionWorld, WorldUser
from tests.conftest import Service, StartService
from tests.data.accounts import PASSWORD, create_user, find_user
from tests.data.commands import run_command
from tests.data.sql import read_sql, write_sql
from tests.databases import wait_for_locks

PATH, TEAMS = "/api/v2/service-accounts/", "/api/v2/teams/"
NAME = "wash_sync"
BOT = f"{PATH}{NAME}/"


class Owners:
    """A superuser, a person and a team whose admin is another person, and a stranger. Requests have a password."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        create = self.world.create_user
        self.root = await create(username="root", is_superuser=True)
        self.amina, self.omar, self.lucia = [
            await create(username=name) for name in ("amina", "omar", "lucia")
        ]
        self.team = await self.world.create_team(self.omar, self.lucia)

    async def send(self, by: WorldUser, method: str, path: str, body: Any = None) -> httpx.Response:
        return await self.service.request(
            method, path, json=body, auth=httpx.BasicAuth(by.username, PASSWORD)
        )

    async def create(self, by: WorldUser, username: str = NAME, **body: Any) -> int:
        answer = await self.send(by, "POST", PATH, {"username": username, **body})
        assert answer.status_code == 201, answer.text
        row = find_user(self.service, username)
        assert row is not None
        return int(row.id)

    async def create_token(self, by: WorldUser, **body: Any) -> dict[str, str]:
        answer = await self.send(by, "POST", f"{BOT}tokens/", {"name": "cron", **body})
        assert answer.status_code == 201, answer.text
        return {"Authorization": f"Token {answer.json()['token']}"}

    async def run(self, *arguments: str, stdin: str = "") -> Result:
        """Run `fieldgate user …`."""
        return await run_command(self.service, "user", *arguments, stdin=stdin)

    async def works(self, headers: dict[str, str]) -> bool:
        return (await self.service.get("/me/", headers=headers)).status_code == 200

    async def entries(self, *actions: str) -> list[tuple[str, str, str, Any]]:
        """What the log says about service accounts: by whom, what, about whom, details."""
        columns = (log.c.username, log.c.action, log.c.subject_name, log.c.details)
        query = (
            select(*columns)
            .where(log.c.subject_name == NAME, log.c.action.in_(actions))
            .order_by(log.c.id)
        )
        with read_sql(self.service) as connection:
            return [tuple(row) for row in connection.execute(query)]


@pytest.fixture
async def owners(start: StartService, database_url: str) -> AsyncIterator[Owners]:
    async with start(database_url=database_url) as service:
        owners = Owners(service)
        await owners.set_up()
        yield owners


async def test_owner_creates_an_account_and_its_tokens(owners: Owners) -> None:
    created = await owners.send(owners.amina, "POST", PATH, {"username": NAME})
    record = created.json()
    assert (created.status_code, created.headers["Location"]) == (201, record["url"])
    assert (record["owner"], record["team"], record["is_active"], record["token_count"]) == (
        "amina",
        None,
        True,
        0,
    )
    answer = await owners.send(
        owners.amina, "POST", f"{BOT}tokens/", {"name": "cron", "scopes": ["read"]}
    )
    token = answer.json()
    assert (answer.status_code, token["url"]) == (201, f"{record['tokens']}{token['id']}/")
    listed = (await owners.send(owners.amina, "GET", f"{BOT}tokens/")).json()["results"]
    assert [(each["id"], each["name"], each["scopes"]) for each in listed] == [
        (token["id"], "cron", ["read"])
    ]
    assert token["token"] not in str(listed)
    headers = {"Authorization": f"Token {token['token']}"}
    assert (await owners.service.get("/me/", headers=headers)).json()["username"] == NAME
    assert (await owners.send(owners.amina, "GET", BOT)).json()["token_count"] == 1
    assert (await owners.send(owners.amina, "DELETE", token["url"])).status_code == 204
    assert not await owners.works(headers)
    made = [entry[:3] for entry in await owners.entries("create", "remove")]
    assert made == [("amina", "create", NAME), ("amina", "create", NAME), ("amina", "remove", NAME)]


async def test_it_owns_what_it_makes_and_the_log_names_it(owners: Owners) -> None:
    await owners.create(owners.amina)
    headers = await owners.create_token(owners.amina)
    body = {"name": "Water points", "asset_type": "survey"}
    asset = (
        await owners.service.request("POST", "/api/v2/assets/", json=body, headers=headers)
    ).json()
    assert asset["owner__username"] == NAME
    with read_sql(owners.service) as connection:
        row = connection.execute(select(log).where(log.c.object_uid == asset["uid"])).one()
    assert (row.username, row.credential, row.action) == (NAME, "cron", "create")


async def test_who_sees_and_changes_what(owners: Owners) -> None:
    """Owner, admins of the team that owns it, and superusers. For others it does not exist."""
    await owners.create(owners.amina, "of_amina")
    await owners.create(owners.omar, team=owners.team.uid)
    seen = {
        by.username: [
            each["username"] for each in (await owners.send(by, "GET", PATH)).json()["results"]
        ]
        for by in (owners.amina, owners.omar, owners.lucia, owners.root)
    }
    assert seen == {"amina": ["of_amina"], "omar": [NAME], "lucia": [], "root": ["of_amina", NAME]}
    record = (await owners.send(owners.omar, "GET", BOT)).json()
    assert (record["owner"], record["team"]) == (None, {"uid": owners.team.uid, "name": "Team 0"})
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"is_active": False}),
        ("GET", "tokens/", None),
        ("POST", "tokens/", {"name": "mine"}),
        ("DELETE", "tokens/1/", None),
    ):
        for by in (owners.amina, owners.lucia):  # lucia is in the team, but no admin
            assert (await owners.send(by, method, BOT + path, body)).status_code == 404
    headers = await owners.create_token(owners.root)
    assert (await owners.send(owners.root, "PATCH", BOT, {"is_active": False})).json()[
        "is_active"
    ] is False
    assert not await owners.works(headers)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"username": "amina"}, 400),
        ({"username": "Wash Sync"}, 400),
        ({"username": NAME, "team": "t" + "x" * 21}, 404),
        ({"username": NAME, "team": "{team}"}, 404),  # of other people
    ],
)
async def test_creation_that_is_refused(owners: Owners, body: dict[str, str], status: int) -> None:
    sent = {name: value.format(team=owners.team.uid) for name, value in body.items()}
    assert (await owners.send(owners.amina, "POST", PATH, sent)).status_code == status
    assert (await owners.send(owners.root, "GET", PATH)).json()["count"] == 0


async def test_members_who_are_no_admins_cannot_create_accounts_of_a_team(owners: Owners) -> None:
    body = {"username": NAME, "team": owners.team.uid}
    assert (await owners.send(owners.lucia, "POST", PATH, body)).status_code == 403


async def test_limit_of_accounts(owners: Owners) -> None:
    for number in range(MAX_OWNED):
        create_user(owners.service, f"bot{number}", password_hash="", owner_id=owners.amina.id)
    answer = await owners.send(owners.amina, "POST", PATH, {"username": NAME})
    assert (answer.status_code, "50" in answer.json()["detail"]) == (409, True)
    await owners.create(owners.omar)


async def test_accounts_share_quotas_and_slots_with_their_owner(start: StartService) -> None:
    """Otherwise a user could have 50 times as much."""
    rates = {"read_rate": RateQuota(6, 3600), "write_rate": RateQuota(100, 3600)}
    async with start(trusted_proxies=LOOPBACK, **rates) as service:
        owners = Owners(service)
        await owners.set_up()
        bot_id = await owners.create(owners.amina)
        bot = await owners.create_token(owners.amina)
        callers = (bot, owners.amina.headers, owners.omar.headers)
        statuses = [
            (
                await service.get("/me/", headers={**each, "X-Forwarded-For": "203.0.113.7"})
            ).status_code
            for each in callers
            for _ in range(4)
        ]
        assert statuses == [200] * 6 + [429] * 2 + [200] * 4
        bot_user = User(id=bot_id, username=NAME, owner_id=owners.amina.id)
        assert caller_key(bot_user, "") == owners.amina.id


async def test_tokens_change_nothing(owners: Owners) -> None:
    """Neither that of the account itself, nor that of its owner."""
    await owners.create(owners.amina)
    bot = await owners.create_token(owners.amina)
    token_id = (await owners.send(owners.amina, "GET", f"{BOT}tokens/")).json()["results"][0]["id"]
    for headers in (bot, owners.amina.headers, owners.root.headers):
        for method, path, body in (
            ("POST", PATH, {"username": "another"}),
            ("PATCH", BOT, {"is_active": False}),
            ("POST", f"{BOT}tokens/", {"name": "more"}),
            ("DELETE", f"{BOT}tokens/{token_id}/", None),
        ):
            answer = await owners.service.request(method, path, json=body, headers=headers)
            assert answer.status_code == 403, (method, path)
    for path in ("/token/", "/api/v2/account/tokens/"):
        answer = await owners.service.request("POST", path, json={"name": "more"}, headers=bot)
        assert answer.status_code == 403
    assert (await owners.service.get(PATH, headers=owners.amina.headers)).json()["count"] == 1
    assert (await owners.send(owners.amina, "GET", BOT)).json()["token_count"] == 1


async def test_admin_scope_is_refused(owners: Owners) -> None:
    await owners.create(owners.root)
    answer = await owners.send(
        owners.root, "POST", f"{BOT}tokens/", {"name": "x", "scopes": ["admin"]}
    )
    assert (answer.status_code, list(answer.json())) == (400, ["scopes"])


@pytest.mark.parametrize("password", ["", " ", "x", NAME])
async def test_nobody_can_log_in(owners: Owners, password: str) -> None:
    await owners.create(owners.amina)
    login = {"username": NAME, "password": password}
    service, basic = owners.service, httpx.BasicAuth(NAME, password)
    assert (await service.get("/token/", auth=basic)).status_code == 401
    assert (await service.request("POST", "/token/", auth=basic)).status_code == 401
    assert (await service.get("/me/", auth=basic)).status_code == 401
    assert (await service.request("POST", "/get_auth_token", json=login)).status_code == 400
    page = await service.request("POST", "/login/", data=login)
    assert (page.status_code == 303, "set-cookie" in page.headers) == (False, False)


async def test_nobody_can_give_it_a_password(owners: Owners) -> None:
    bot_id = await owners.create(owners.amina)
    link = await owners.send(owners.root, "POST", f"/api/v2/users/{NAME}/invitation/")
    assert (link.status_code, NAME in link.json()["detail"]) == (409, True)
    done = await owners.run("password", NAME, "--password-stdin", stdin=PASSWORD)
    assert (done.exit_code, NAME in done.output) == (1, True), done.output
    bot = await owners.create_token(owners.amina)
    body = {"current_password": "", "new_password": "battery staple"}
    answer = await owners.service.request(
        "POST", "/api/v2/account/password/", json=body, headers=bot
    )
    assert answer.status_code == 400
    with read_sql(owners.service) as connection:
        stored = connection.execute(
            select(users.c.password_hash).where(users.c.id == bot_id)
        ).scalar_one()
    assert stored == ""


async def test_it_is_never_a_superuser_or_an_admin_of_a_team(owners: Owners) -> None:
    bot_id = await owners.create(owners.amina)
    promoted = await owners.send(
        owners.root, "PATCH", f"/api/v2/users/{NAME}/", {"is_superuser": True}
    )
    members = f"{TEAMS}{owners.team.uid}/members/"
    as_admin = await owners.send(owners.omar, "POST", members, {"user": NAME, "role": "admin"})
    assert (promoted.status_code, as_admin.status_code) == (409, 409)
    assert (await owners.send(owners.omar, "POST", members, {"user": NAME})).status_code == 201
    changed = await owners.send(owners.omar, "PATCH", f"{members}{NAME}/", {"role": "admin"})
    bot = await owners.create_token(owners.amina)
    own_team = await owners.service.request("POST", TEAMS, json={"name": "Bots"}, headers=bot)
    assert (changed.status_code, own_team.status_code) == (409, 409)
    # Not either when it is the last active member.
    await owners.world.disable(owners.lucia)
    await owners.world.disable(owners.omar)
    with read_sql(owners.service) as connection:
        role = select(team_members.c.role).where(team_members.c.user_id == bot_id)
        assert connection.execute(role).scalar_one() == "member"


async def test_it_owns_no_service_account(owners: Owners) -> None:
    await owners.create(owners.amina)
    done = await owners.run("create", "nested", "--owner", NAME)
    assert (done.exit_code, "needs an active person" in done.output) == (1, True), done.output
    assert find_user(owners.service, "nested") is None


async def test_owner_is_disabled(owners: Owners) -> None:
    await owners.create(owners.amina)
    bot = await owners.create_token(owners.amina)
    answer = await owners.send(owners.root, "PATCH", "/api/v2/users/amina/", {"is_active": False})
    assert answer.status_code == 200
    assert not await owners.works(bot)
    assert await owners.entries("disable") == [
        ("root", "disable", NAME, {"reason": "owner-disabled"})
    ]
    for path in (BOT, f"/api/v2/users/{NAME}/"):  # only with an active owner
        assert (
            await owners.send(owners.root, "PATCH", path, {"is_active": True})
        ).status_code == 409
    await owners.world.enable(owners.amina)
    assert (await owners.send(owners.amina, "GET", BOT)).json()["is_active"] is False
    assert (
        await owners.send(owners.amina, "POST", f"{BOT}tokens/", {"name": "x"})
    ).status_code == 409
    assert (await owners.send(owners.amina, "PATCH", BOT, {"is_active": True})).json()[
        "is_active"
    ] is True
    assert not await owners.works(bot)  # revoked for good
    assert await owners.works(await owners.create_token(owners.amina))


async def test_owner_leaves(owners: Owners) -> None:
    await owners.create(owners.amina)
    bot = await owners.create_token(owners.amina)
    uid = (await owners.send(owners.amina, "GET", "/me/")).json()["uid"]
    assert (await owners.send(owners.amina, "DELETE", "/me/", {"confirm": uid})).status_code == 204
    assert not await owners.works(bot)
    assert await owners.entries("disable") == [("", "disable", NAME, {"reason": "owner-deleted"})]
    # It is still no person: a superuser can delete it, not use it.
    assert (await owners.send(owners.root, "GET", BOT)).json()["owner"] is None
    assert (await owners.send(owners.root, "GET", f"/api/v2/users/{NAME}/")).json()["owner"] == ""
    assert (await owners.send(owners.root, "PATCH", BOT, {"is_active": True})).status_code == 409
    assert (
        await owners.send(owners.root, "POST", f"/api/v2/users/{NAME}/invitation/")
    ).status_code == 409
    assert (await owners.send(owners.root, "DELETE", f"/api/v2/users/{NAME}/")).status_code == 204


async def test_owner_leaves_no_forms_behind(owners: Owners) -> None:
    """Nobody could manage them any more, but a superuser."""
    await owners.create(owners.amina)
    bot = await owners.create_token(owners.amina)
    created = await owners.service.request(
        "POST", "/api/v2/assets/", json={"name": "Visit"}, headers=bot
    )
    uid = (await owners.send(owners.amina, "GET", "/me/")).json()["uid"]
    refused = await owners.send(owners.amina, "DELETE", "/me/", {"confirm": uid})
    assert (refused.status_code, refused.json()["assets"]) == (
        409,
        [{"uid": created.json()["uid"], "name": "Visit"}],
    )
    assert await owners.works(bot)
    deleted = await owners.service.request(
        "DELETE", f"/api/v2/assets/{created.json()['uid']}/", headers=bot
    )
    assert deleted.status_code == 204
    assert (await owners.send(owners.amina, "DELETE", "/me/", {"confirm": uid})).status_code == 204


@pytest.mark.parametrize("how", ["deleted", "emptied"])
async def test_team_is_deleted(owners: Owners, how: str) -> None:
    await owners.create(owners.omar, team=owners.team.uid)
    bot = await owners.create_token(owners.omar)
    path = f"{TEAMS}{owners.team.uid}/"
    if how == "deleted":
        assert (await owners.send(owners.omar, "DELETE", path)).status_code == 204
    else:
        assert (
            await owners.send(owners.omar, "DELETE", f"{path}members/lucia/")
        ).status_code == 204
        assert (await owners.send(owners.root, "DELETE", "/api/v2/users/omar/")).status_code == 204
    assert not await owners.works(bot)
    assert [entry[3] for entry in await owners.entries("disable")] == [{"reason": "owner-deleted"}]


async def test_team_keeps_its_account_when_its_admin_goes(owners: Owners) -> None:
    await owners.create(owners.omar, team=owners.team.uid)
    bot = await owners.create_token(owners.omar)
    await owners.send(
        owners.root, "PATCH", f"{TEAMS}{owners.team.uid}/members/lucia/", {"role": "admin"}
    )
    assert (
        await owners.send(owners.omar, "DELETE", f"{TEAMS}{owners.team.uid}/members/omar/")
    ).status_code == 204
    assert await owners.works(bot)
    assert (await owners.send(owners.omar, "GET", BOT)).status_code == 404
    await owners.world.disable(owners.omar)
    assert await owners.works(bot)
    await owners.create_token(owners.lucia)


async def test_lists_of_users_say_whose_it_is(owners: Owners) -> None:
    await owners.create(owners.omar, team=owners.team.uid)
    await owners.create(owners.amina, "of_amina")
    listed = (await owners.send(owners.root, "GET", "/api/v2/users/")).json()["results"]
    owner_names = {each["username"]: each["owner"] for each in listed}
    assert owner_names == {
        "amina": None, "lucia": None, "of_amina": "amina", "omar": None, "root": None, NAME: "team:Team 0",
    }  # fmt: skip


@pytest.mark.parametrize("end", ["disabled", "deleted"])
async def test_token_is_created_while_the_owner_goes(owners: Owners, end: str) -> None:
    """Whichever is first, no valid token is left."""
    bot_id = await owners.create(owners.amina)
    service = owners.service

    async def end_owner() -> None:
        path = "/api/v2/users/amina/"
        if end == "disabled":
            answer = await owners.send(owners.root, "PATCH", path, {"is_active": False})
        else:
            answer = await owners.send(owners.root, "DELETE", path)
        assert answer.is_success, answer.text

    async def create_token() -> None:
        body = {"name": "cron"}
        answer = await owners.send(owners.root, "POST", f"{BOT}tokens/", body)
        assert answer.status_code in (201, 401, 404, 409), answer.text

    await asyncio.gather(create_token(), end_owner(), create_token())
    with read_sql(service) as connection:
        live = select(tokens.c.id).where(tokens.c.user_id == bot_id, tokens.c.revoked_at.is_(None))
        assert connection.execute(live).all() == []


async def test_account_is_created_while_the_owner_is_disabled(owners: Owners) -> None:
    async def create() -> None:
        answer = await owners.send(owners.amina, "POST", PATH, {"username": NAME})
        assert answer.status_code in (201, 401, 409), answer.text

    disable = owners.send(owners.root, "PATCH", "/api/v2/users/amina/", {"is_active": False})
    _, disabled = await asyncio.gather(create(), disable)
    assert disabled.status_code == 200
    row = find_user(owners.service, NAME)
    assert row is None or row.disabled_at is not None


async def test_owners_by_name(owners: Owners) -> None:
    """Several teams can have the same name."""
    names = {
        "AMINA": owners.amina.id,
        "team:team 0": owners.team.id,
        f"team:{owners.team.uid}": owners.team.id,
        "nobody": None,
        "team:x": None,
        "team:amina": None,
    }
    for number, (name, owner_id) in enumerate(names.items()):
        done = await owners.run("create", f"bot{number}", "--owner", name)
        assert done.exit_code == (0 if owner_id else 1), done.output
        row = find_user(owners.service, f"bot{number}")
        assert (row and row.owner_id) == owner_id
    answer = await owners.send(owners.lucia, "POST", TEAMS, {"name": "Team 0"})
    twin = answer.json()["uid"]
    assert (await owners.run("create", "unclear", "--owner", "team:Team 0")).exit_code == 1
    assert (await owners.run("create", "clear", "--owner", f"team:{twin}")).exit_code == 0


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_a_team_is_locked_before_its_accounts(owners: Owners) -> None:
    """As enabling an account does. In another order, one of two would be a deadlock."""
    team = await owners.world.create_team(owners.amina)
    bot_id = await owners.create(owners.amina, team=team.uid)
    locked = select(users.c.id).with_for_update(nowait=True)
    with write_sql(owners.service) as holder:
        holder.execute(locked.where(users.c.id == team.id))
        leaving = asyncio.create_task(owners.send(owners.root, "DELETE", "/api/v2/users/amina/"))
        await wait_for_locks(owners.service, [leaving])
        holder.execute(locked.where(users.c.id == bot_id))
    assert (await leaving).status_code == 204
    row = find_user(owners.service, NAME)
    assert row is not None
    assert row.disabled_at is not None
