"""Hostile requests about teams: to forms, into teams, by names and references, and at the same time as others."""

import asyncio
import csv
import io
from typing import Any

import httpx
import pytest

from fieldgate.accounts.tables import teams
from fieldgate.assets.tables import assets
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam
from tests.assets.sharing.test_ends import END
from tests.assets.sharing.test_teams import TEAMS, create_team, held, share
from tests.conftest import StartService
from tests.data.accounts import PASSWORD
from tests.data.sql import write_sql
from tests.databases import wait_for_locks

SHARING = "/api/v2/assets/{form}/permission-assignments/"
MEMBERS, MINE = TEAMS + "{wash}/members/", TEAMS + "{mine}/"
USERS = "/api/v2/users/"
ALL = "manage_asset"
MANAGE = {"permission": ALL}

# The owner's form is shared with {wash}: owner is its admin, ann a member who can edit. {mine} is of the stranger.
# Who, what, and the status.
HOSTILE: list[tuple[str, str, str, Any, int]] = [
    # An admin or a member who wants more on forms.
    ("stranger", "POST", SHARING, {"team": "{mine}", **MANAGE}, 404),
    ("ann", "POST", SHARING, {"team": "{wash}", **MANAGE}, 403),
    ("ann", "POST", f"{SHARING}bulk/", [{"team": "{wash}", **MANAGE}], 403),
    ("ann", "PATCH", f"{SHARING}bulk/", {"user": "team:{wash}", "permissions": ["manage_asset"]}, 403),
    ("ann", "DELETE", f"{SHARING}bulk/", {"username": "team:{wash}"}, 403),
    ("ann", "POST", f"{BATCH_PATH}add/", {"assets": ["{form}"], "users": ["team:WASH"], "permissions": [ALL]}, 403),
    # Into a team, and up in it.
    ("stranger", "POST", MEMBERS, {"user": "stranger"}, 404),
    ("ann", "POST", MEMBERS, {"user": "ann", "role": "admin"}, 403),
    ("ann", "PATCH", f"{MEMBERS}ann/", {"role": "admin"}, 403),
    ("owner", "PATCH", f"{MEMBERS}ann/", {"role": "owner"}, 400),
    ("owner", "POST", MEMBERS, {"user": "AnonymousUser"}, 400),
    ("owner", "POST", MEMBERS, {"users": ["bob", "nobody"]}, 400),
    ("owner", "POST", MEMBERS, {"users": ["bob"] * 1001}, 400),
    ("ann", "POST", f"{MEMBERS}?dry_run=true", {"user": "bob"}, 403),
    ("ann", "DELETE", f"{MEMBERS}owner/?dry_run=true", None, 403),
    ("ann", "DELETE", f"{TEAMS}{{wash}}/?dry_run=true", None, 403),
    # A team is not a person.
    ("owner", "POST", MEMBERS, {"user": "team:WASH"}, 400),
    ("owner", "POST", MEMBERS, {"user": "/api/v2/teams/{wash}/"}, 400),
    ("owner", "POST", MEMBERS, {"users": ["/api/v2/teams/{wash}/"]}, 400),
    ("boss", "POST", f"{USERS}owner/transfer/", {"to": "team:WASH"}, 400),
    ("owner", "POST", "/api/v2/project-ownership/invites/", {"recipient": "team:WASH", "assets": ["{form}"]}, 400),
    ("owner", "GET", f"{SHARING}explain/?user=team:WASH&permission=view_asset", None, 400),
    ("owner", "GET", f"{SHARING}explain/?user=TEAM:{{wash}}&permission=view_asset", None, 400),
    ("boss", "GET", f"{USERS}team:WASH/", None, 404),
    ("boss", "GET", f"{USERS}TEAM:{{wash}}/", None, 404),
    ("boss", "PATCH", f"{USERS}TEAM:{{wash}}/", {"is_active": False}, 404),
    ("boss", "GET", f"{USERS}team:WASH/tokens/", None, 404),
    # Both or neither.
    ("owner", "POST", SHARING, {"team": "{wash}", "user": "ann", **MANAGE}, 400),
    ("owner", "POST", SHARING, MANAGE, 400),
    ("owner", "POST", SHARING, {"team": "", **MANAGE}, 400),
    ("owner", "POST", SHARING, {"team": 7, **MANAGE}, 400),
    ("owner", "POST", SHARING, {"team": "\x00", **MANAGE}, 400),
    ("owner", "POST", SHARING, {"team": "x" * 10_000, **MANAGE}, 400),
]  # fmt: skip


def filled(given: Any, names: dict[str, str]) -> Any:
    if isinstance(given, str):
        return given.format(**names)
    if isinstance(given, dict):
        return {key: filled(value, names) for key, value in given.items()}
    return [filled(each, names) for each in given] if isinstance(given, list) else given


async def state(people: SharingTeam, names: dict[str, str]) -> list[Any]:
    paths = (
        f"{SHARING}?teams=true",
        MEMBERS,
        f"{MINE}members/",
        f"{SHARING}history/",
        f"{USERS}?limit=100",
    )
    return [(await people.request("boss", "GET", path.format(**names))).json() for path in paths]


async def test_hostile_requests_change_nothing(team: SharingTeam) -> None:
    names = {"form": await team.create_asset(), "wash": await create_team(team, "owner", "ann")}
    names["mine"] = await create_team(team, "stranger", name="Mine")
    await share(team, names["form"], names["wash"], "change_asset")
    before = await state(team, names)
    for by, method, path, body, status in HOSTILE:
        given = {} if body is None else {"json": filled(body, names)}
        answer = await team.request(by, method, path.format(**names), **given)
        assert answer.status_code == status, (by, method, path, body, answer.text)
        assert await state(team, names) == before, (by, method, path, body)
    assert not any("WASH" in str(each) for each in before[-1]["results"]), (
        "a team is not in the list of users"
    )


async def test_errors_name_the_limit_and_the_field(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner")
    answer = await team.request(
        "owner", "POST", f"{TEAMS}{wash}/members/", json={"users": ["bob"] * 1001}
    )
    assert answer.json() == {"users": ["Send a list of at most 1000 entries."]}
    for field, name in (
        ("team", "tNobody"),
        ("team", "\x00"),
        ("user", "team:tNobody"),
        ("user", "nobody"),
    ):
        answer = await team.request_assignments(uid, "owner", "POST", json={field: name, **MANAGE})
        assert (answer.status_code, list(answer.json())) == (400, [field]), name


async def test_hidden_teams_are_as_those_that_do_not_exist(team: SharingTeam) -> None:
    hidden, nothing = await create_team(team, "owner", "ann", name="Hidden"), "t" + "x" * 21
    uid = await team.create_asset(owner="bob")

    async def ask(method: str, path: str, name: str, body: Any = None) -> tuple[int, str]:
        given = {} if body is None else {"json": filled(body, {"name": name})}
        answer = await team.request("bob", method, path.format(name=name), **given)
        return answer.status_code, answer.text.replace(name, "NAME")

    sharing = f"/api/v2/assets/{uid}/permission-assignments/"
    for method, path, body in (
        ("GET", TEAMS + "{name}/", None),
        ("PATCH", TEAMS + "{name}/", {"name": "x"}),
        ("DELETE", TEAMS + "{name}/", None),
        ("DELETE", TEAMS + "{name}/?dry_run=true", None),
        ("GET", TEAMS + "{name}/members/", None),
        ("POST", TEAMS + "{name}/members/", {"user": "bob"}),
        ("GET", TEAMS + "{name}/members/ann/", None),
        ("PATCH", TEAMS + "{name}/members/ann/", {"role": "admin"}),
        ("DELETE", TEAMS + "{name}/members/ann/", None),
        ("GET", TEAMS + "{name}/assets/", None),
        ("POST", sharing, {"team": "{name}", "permission": "view_asset"}),
        ("POST", sharing, {"user": "/api/v2/teams/{name}/", "permission": "view_asset"}),
        ("GET", BATCH_PATH + "?team={name}", None),
    ):
        there, nowhere = (
            await ask(method, path, hidden, body),
            await ask(method, path, nothing, body),
        )
        assert there == nowhere, (method, path)
    for method, path, body in (
        ("POST", sharing, {"team": "{name}", "permission": "view_asset"}),
        ("POST", f"{sharing}csv/", {"text": "user,permission\nteam:{name},view_asset\n"}),
        ("GET", BATCH_PATH + "?team={name}", None),
        ("GET", sharing + "explain/?user=team:{name}&permission=view_asset", None),
        ("GET", USERS + "team:{name}/", None),
    ):
        assert await ask(method, path, "Hidden", body) == await ask(
            method, path, "Nothing", body
        ), (method, path)
    assert (await create_team(team, "bob", name="Hidden")) != hidden, "the name is free for others"


async def test_names_that_are_refused(team: SharingTeam) -> None:
    wash = await create_team(team, "owner")
    for name in (
        "",
        "  ",
        "a\x00b",
        "a\x07b",
        "\u202e",
        "a\u202eb",
        "a\u2066b",
        "\u200f",
        "x" * 101,
        "x" * 10_000,
        "\ufdfa" * 100,
        7,
        ["x"],
    ):
        for method, path in (("POST", TEAMS), ("PATCH", f"{TEAMS}{wash}/")):
            answer = await team.request("owner", method, path, json={"name": name})
            assert (answer.status_code, list(answer.json())) == (400, ["name"]), name
    assert [
        each["name"] for each in (await team.request("owner", "GET", TEAMS)).json()["results"]
    ] == ["WASH"]


async def test_characters_that_change_the_direction(team: SharingTeam) -> None:
    """Overrides and isolates are refused, also in descriptions. Marks and joiners are part of Arabic and Persian."""
    wash = await create_team(team, "owner")
    for character in "\u202a\u202e\u2066\u2069":
        for method, path in (("POST", TEAMS), ("PATCH", f"{TEAMS}{wash}/")):
            answer = await team.request(
                "owner", method, path, json={"name": "x", "description": f"a{character}b"}
            )
            assert (answer.status_code, list(answer.json())) == (400, ["description"])
    for text in ("فريق المياه", "می\u200cخواهم", "WASH\u200f (غزة)\u200e", "क्\u200dष"):
        body = {"name": text, "description": f"{text}\n\u00a0: 1"}
        answer = await team.request("owner", "PATCH", f"{TEAMS}{wash}/", json=body)
        assert (answer.status_code, answer.json()["name"]) == (200, text)


async def test_odd_names_are_only_text(team: SharingTeam) -> None:
    uid = await team.create_asset()
    for name in (
        "<script>alert(1)</script>",
        "=HYPERLINK(1)",
        "team:WASH",
        'a,b"c',
        "%00/../x",
        "{name}",
        "ann",
    ):
        odd = await create_team(team, "owner", "ann", name=name)
        reference = {"user": f"team:{name}", "permission": "view_asset"}
        assert (
            await team.request_assignments(uid, "owner", "POST", json=reference)
        ).status_code == 201, name
        table = (await team.request_assignments(uid, "owner", "GET", "csv/")).text
        back = {"text": table, "mode": "replace"}
        answer = await team.request_assignments(uid, "owner", "POST", "csv/", json=back)
        assert (answer.status_code, answer.json()["effects"]) == (200, []), (name, answer.text)
        review = (await team.request("owner", "GET", f"{BATCH_PATH}?format=csv")).text
        [row] = csv.DictReader(io.StringIO(review))
        assert row["team"].removeprefix("'") == name
        assert row["team"][0] != "="
        page = await team.request(
            "owner", "GET", f"{SHARING.format(form=uid)}?teams=true&format=html"
        )
        assert "<script>alert" not in page.text
        await team.request("owner", "DELETE", f"{TEAMS}{odd}/")


async def test_nobody_logs_in_as_a_team(team: SharingTeam) -> None:
    wash = await create_team(team, "owner")
    for name in ("team:WASH", f"TEAM:{wash}", f"team:{wash}", wash):
        for password in ("", PASSWORD):
            basic = await team.service.get("/token/", auth=httpx.BasicAuth(name, password))
            assert basic.status_code == 401
            body = {"username": name, "password": password}
            assert (
                await team.service.request("POST", "/get_auth_token", json=body)
            ).status_code == 400
    body = {"username": "team:x", "password": PASSWORD}
    answer = await team.service.request(
        "POST", USERS, json=body, auth=httpx.BasicAuth("boss", PASSWORD)
    )
    assert (answer.status_code, list(answer.json())) == (400, ["username"])


async def test_access_that_ends_cannot_be_passed_on_for_longer(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "ann", "bob")
    await team.grant(uid, "ann", "manage_asset", expires_at=END)
    body = {"team": wash, "permission": "view_asset"}
    assert await team.status(uid, "ann", "POST", json=body) == 403
    assert await team.status(uid, "ann", "POST", json={**body, "expires_at": END}) == 201
    await share(
        team,
        uid,
        await create_team(team, "owner", "bob", name="Managers"),
        "manage_asset",
        expires_at=END,
    )
    for longer in ({"user": "bob"}, {"user": "stranger"}, {"team": wash}):
        assert (
            await team.status(uid, "bob", "POST", json={**longer, "permission": "manage_asset"})
            == 403
        )


async def test_only_superusers_create_teams_if_so_configured(start: StartService) -> None:
    async with start(teams_by_users=False) as service:
        people = await SharingTeam.create(service)
        assert (
            await people.request("owner", "POST", TEAMS, json={"name": "WASH"})
        ).status_code == 403
        assert await create_team(people, "boss", "ann")


async def test_preview_shows_an_admin_only_assets_that_the_admin_can_see(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "ann", "owner")
    await share(team, uid, wash, "view_asset")
    path = f"{TEAMS}{wash}/members/?dry_run=true"
    assert (
        len((await team.request("ann", "POST", path, json={"user": "bob"})).json()["assets"]) == 1
    )
    await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": "ann"})
    assert (await team.request("ann", "POST", path, json={"user": "bob"})).json()["assets"] == []
    assert (await team.request("ann", "GET", f"{TEAMS}{wash}/assets/")).json()["count"] == 0


async def test_nobody_manages_more_teams_than_allowed(
    team: SharingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by creating one, nor because others make somebody an admin, also at the same time."""
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_OWN_TEAMS", 2)
    first, _ = [await create_team(team, "owner", name=name) for name in "AB"]
    answer = await team.request("owner", "POST", TEAMS, json={"name": "C"})
    assert (answer.status_code, answer.json()["detail"][:18]) == (409, "You manage 2 teams")
    wash, other = await create_team(team, "bob", "ann"), await create_team(team, "stranger")
    path, admins = f"{TEAMS}{wash}/members/", {"users": ["ann", "owner", "viewer"], "role": "admin"}
    refused = [await team.request("bob", "POST", path, json=admins)]
    await team.request("bob", "POST", path, json={"user": "owner"})
    refused.append(await team.request("bob", "PATCH", f"{path}owner/", json={"role": "admin"}))
    for answer in refused:
        assert (answer.status_code, answer.json()["detail"]) == (
            409,
            "owner manages 2 teams, the limit.",
        )
    members = (await team.request("bob", "GET", path)).json()["results"]
    assert [each["role"] for each in members] == ["member", "admin", "member"]
    await team.request("owner", "DELETE", f"{TEAMS}{first}/")
    answers = await asyncio.gather(
        team.request("bob", "PATCH", f"{path}owner/", json={"role": "admin"}),
        team.request(
            "stranger", "POST", f"{TEAMS}{other}/members/", json={"user": "owner", "role": "admin"}
        ),
    )
    assert sorted(answer.status_code for answer in answers) in ([200, 409], [201, 409])


async def test_nobody_joins_a_full_team(team: SharingTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    """One or several, in a dry run or not, also at the same time. Who is in it can be added again."""
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_TEAM_MEMBERS", 3)
    path = f"{TEAMS}{await create_team(team, 'owner', 'ann')}/members/"
    refusal = "A team has at most 3 members. Create another team for more people."
    for query in ("?dry_run=true", ""):
        answer = await team.request(
            "owner", "POST", path + query, json={"users": ["bob", "viewer"]}
        )
        assert (answer.status_code, answer.json()["detail"]) == (409, refusal)
    names = ("bob", "viewer", "stranger")
    answers = await asyncio.gather(
        *(team.request("owner", "POST", path, json={"user": name}) for name in names)
    )
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert (
        await team.request("owner", "POST", path, json={"users": ["ann", "owner"]})
    ).status_code == 201
    assert (await team.request("owner", "GET", path)).json()["count"] == 3


async def test_last_two_admins_leave_at_once(team: SharingTeam) -> None:
    wash = await create_team(team, "owner", "ann", "bob")
    await team.request("owner", "PATCH", f"{TEAMS}{wash}/members/ann/", json={"role": "admin"})
    leave = [team.request(by, "DELETE", f"{TEAMS}{wash}/members/{by}/") for by in ("owner", "ann")]
    assert sorted(answer.status_code for answer in await asyncio.gather(*leave)) == [204, 409]


async def test_team_whose_last_admin_is_disabled_gets_another_one(
    team: SharingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest active member who may manage another team. Without one, superusers manage it."""
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_OWN_TEAMS", 2)
    wash = await create_team(team, "owner", "stranger", name="WASH")
    for each in ("viewer", "bob", "ann"):
        await team.request("owner", "POST", f"{TEAMS}{wash}/members/", json={"user": each})
    for name in "AB":
        await create_team(team, "viewer", name=name)

    async def disable(name: str) -> list[tuple[str, str]]:
        """Return the new entries of the log, and check who is an admin."""
        answer = await team.request("boss", "PATCH", f"{USERS}{name}/", json={"is_active": False})
        assert answer.status_code == 200, answer.text
        log = (await team.request("boss", "GET", "/api/v2/audit-logs/?limit=4")).json()["results"]
        own = [
            each for each in log if each["metadata"]["request_id"] == answer.headers["x-request-id"]
        ]
        return [(each["action"], each["metadata"].get("changed_user", "")) for each in own]

    await disable("stranger")
    assert await disable("owner") == [("update-member", "bob"), ("disable", "owner")]
    members = (await team.request("bob", "GET", f"{TEAMS}{wash}/members/")).json()["results"]
    roles = {each["user__username"]: each["role"] for each in members}
    assert [name for name, role in roles.items() if role == "admin"] == ["bob", "owner"]
    assert (await team.request("bob", "DELETE", f"{TEAMS}{wash}/members/owner/")).status_code == 204
    assert await disable("bob") == [("update-member", "ann"), ("disable", "bob")]
    assert await disable("ann") == [("lose-admin", ""), ("disable", "ann")]
    answer = await team.request(
        "boss", "POST", f"{TEAMS}{wash}/members/", json={"user": "manager", "role": "admin"}
    )
    assert answer.status_code == 201


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_longest_names_fit_into_their_columns(team: SharingTeam) -> None:
    for name in ("x" * 100, "\u00df" * 100, "\U0001f30a" * 100):
        uid = await create_team(team, "owner", name=name)
        await share(team, await team.create_asset(), uid, "view_asset")
        answer = await team.request(
            "owner", "PATCH", f"{TEAMS}{uid}/", json={"description": "\U0001f30a" * 1000}
        )
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_member_is_removed_while_writing(team: SharingTeam) -> None:
    """The write waits for the form. Meanwhile the member loses it."""
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    await share(team, uid, wash, "manage_asset")
    bodies = (
        ("PATCH", "", {"name": "x"}),
        ("POST", "permission-assignments/", {"user": "ann", **MANAGE}),
    )
    with write_sql(team.service) as holder:
        holder.execute(assets.select().where(assets.c.uid == uid).with_for_update())
        tasks = [
            asyncio.create_task(
                team.request("ann", method, f"/api/v2/assets/{uid}/{rest}", json=body)
            )
            for method, rest, body in bodies
        ]
        await wait_for_locks(team.service, tasks)
        removed = await team.request("owner", "DELETE", f"{TEAMS}{wash}/members/ann/")
        assert removed.status_code == 204
    assert [answer.status_code for answer in await asyncio.gather(*tasks)] == [404, 404]
    assert await held(team, uid, "ann") == set()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("deletes_first", [True, False])
async def test_team_is_deleted_while_it_gets_access(team: SharingTeam, deletes_first: bool) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    requests = [
        ("DELETE", f"{TEAMS}{wash}/", None),
        ("POST", SHARING.format(form=uid), {"team": wash, **MANAGE}),
    ]
    tasks: list[asyncio.Task[httpx.Response]] = []
    with write_sql(team.service) as holder:
        holder.execute(teams.select().with_for_update())
        holder.execute(assets.select().with_for_update())
        for method, path, body in requests if deletes_first else reversed(requests):
            given: dict[str, Any] = {} if body is None else {"json": body}
            tasks.append(asyncio.create_task(team.request("owner", method, path, **given)))
            await wait_for_locks(team.service, tasks)
    statuses = {
        answer.request.method: answer.status_code for answer in await asyncio.gather(*tasks)
    }
    assert statuses["DELETE"] == 204
    assert statuses["POST"] in (201, 400, 404)
    assert await held(team, uid, "ann") == set()
    listed = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
    assert not any("team" in each for each in listed)
