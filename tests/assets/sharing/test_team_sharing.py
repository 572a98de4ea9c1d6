"""Sharing with teams in every way that there is for people, and what becomes of it later."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from fieldgate.assets.sharing import grants
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam, last_segment, user_url
from tests.assets.sharing.test_teams import TEAMS, create_team, held, share
from tests.conftest import StartService

WAYS = ("single", "field", "bulk", "user", "batch", "csv")


async def give(
    people: SharingTeam, uid: str, way: str, name: str, by: str = "owner", query: str = ""
) -> httpx.Response:
    """Give a team, or a user, view_submissions in one of the ways."""
    one, path = (
        {"user": name, "permission": "view_submissions"},
        f"/api/v2/assets/{uid}/permission-assignments/",
    )
    method, url, body = {
        "single": ("POST", path, one),
        "field": (
            "POST",
            path,
            {"team": name.removeprefix("team:"), "permission": "view_submissions"},
        ),
        "bulk": ("POST", f"{path}bulk/", [one]),
        "user": ("PATCH", f"{path}bulk/", {"user": name, "permissions": ["view_submissions"]}),
        "batch": (
            "POST",
            f"{BATCH_PATH}add/",
            {"assets": [uid], "users": [name], "permissions": ["view_submissions"]},
        ),
        "csv": ("POST", f"{path}csv/", {"text": f'user,permission\n"{name}",view_submissions\n'}),
    }[way]
    return await people.request(by, method, url + query, json=body)


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_assign_takes_teams(team: SharingTeam, way: str) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    for name in ("team:wash", f"team:{wash}", f"{TEAMS}{wash}/"):
        preview = await give(team, uid, way, name, query="?dry_run=true")
        assert preview.status_code == 200, preview.text
        if name == "team:wash":
            assert preview.json()["counts"] == {"granted": 2}
            assert {
                each["user"].endswith(f"{TEAMS}{wash}/") for each in preview.json()["effects"]
            } == {True}
        assert (await give(team, uid, way, name)).status_code in (200, 201)
        assert await held(team, uid, "ann") == {"view_asset", "view_submissions"}
    listed = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
    assert sum("team" in each for each in listed) == 2


@pytest.mark.parametrize("way", WAYS)
async def test_unknown_foreign_and_ambiguous_teams_are_the_same_error(
    team: SharingTeam, way: str
) -> None:
    uid = await team.create_asset()
    foreign = await create_team(team, "bob", name="Foreign")
    for _ in range(2):
        await create_team(team, "owner", name="Twice")
    before = await team.snapshot(uid)
    answers = {
        name: (answer.status_code, answer.text.replace(name, "NAME"))
        for name in ("Nothing", "Foreign", foreign, "Twice", "t" + "x" * 21)
        for answer in [await give(team, uid, way, f"team:{name}")]
    }
    assert len(set(answers.values())) == 1, answers
    status, text = answers["Twice"]
    assert (status, "You are not in a team NAME" in text) == (400, True)
    assert await team.snapshot(uid) == before


async def test_teams_lose_permissions_in_every_way(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    many = {"assets": [uid], "users": ["team:WASH"], "permissions": ["view_asset"]}
    path = f"/api/v2/assets/{uid}/permission-assignments/"
    for method, url, body in (
        ("POST", f"{BATCH_PATH}remove/", many),
        ("DELETE", f"{path}bulk/", {"username": "team:WASH"}),
        ("DELETE", f"{path}bulk/", {"username": f"{TEAMS}{wash}/"}),
        ("PATCH", f"{path}bulk/", {"user": "team:WASH", "permissions": []}),
        ("POST", f"{path}bulk/?teams=true", []),
        ("POST", f"{path}csv/", {"text": "user,permission\n", "mode": "replace"}),
        ("DELETE", "{record}", None),
    ):
        await share(team, uid, wash, "change_asset")
        assert await held(team, uid, "ann") == {"view_asset", "change_asset"}
        listed = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
        [record] = [
            each["url"] for each in listed if "team" in each and "view" in each["permission"]
        ]
        given: dict[str, Any] = {} if body is None else {"json": body}
        refused = await team.request("ann", method, url.format(record=record), **given)
        assert refused.status_code == 403, "members who do not manage the form"
        answer = await team.request("owner", method, url.format(record=record), **given)
        assert answer.status_code in (200, 204), (method, url, answer.text)
        assert await held(team, uid, "ann") == set()
        listed = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
        assert not any("team" in each for each in listed)


async def test_teams_keep_their_permissions_through_transfer_and_trash(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    await share(team, uid, wash, "change_asset")
    await team.request("owner", "DELETE", f"/api/v2/assets/{uid}/")
    assert await held(team, uid, "ann") == set()
    assert (await team.request("owner", "GET", f"{TEAMS}{wash}/assets/")).json()["count"] == 0
    await team.request("owner", "POST", f"/api/v2/assets/{uid}/undelete/")
    assert await held(team, uid, "ann") == {"view_asset", "change_asset"}
    moved = await team.request("boss", "POST", "/api/v2/users/owner/transfer/", json={"to": "bob"})
    assert moved.status_code == 200, moved.text
    assert await held(team, uid, "ann") == {"view_asset", "change_asset"}
    assert await held(team, uid, "owner") == {"view_asset", "change_asset"}, "as a member"
    await team.request("boss", "POST", "/api/v2/users/bob/transfer/", json={"to": "ann"})
    assert "delete_submissions" in await held(team, uid, "ann"), "a member becomes the owner"


async def test_clone_takes_own_teams_along(team: SharingTeam) -> None:
    """Members of other teams do not get access, neither through the team nor themselves."""
    source, target = await team.create_shared_asset(), await team.create_asset(owner="manager")
    own, hidden = (
        await create_team(team, "manager", "ann"),
        await create_team(team, "owner", "bob", name="Hidden"),
    )
    for each, by in ((own, "manager"), (hidden, "owner")):
        await share(team, source, each, "change_submissions", by=by)
    await share(
        team,
        target,
        await create_team(team, "manager", "stranger", name="Old"),
        "view_asset",
        by="manager",
    )
    await team.grant(source, "ann", "validate_submissions")
    for _ in range(2):
        body = {"clone_from": source}
        answer = await team.request_assignments(target, "manager", "PATCH", "clone/", json=body)
        assert answer.status_code == 200, answer.text
        assert "Hidden" not in answer.text
        assert await held(team, target, "ann") == await held(team, source, "ann")
    assert [await held(team, target, name) != set() for name in ("ann", "bob", "stranger")] == [
        True,
        False,
        False,
    ]
    listed = (await team.request_assignments(target, "manager", "GET", "?teams=true")).json()
    assert {last_segment(each["team"]) for each in listed if "team" in each} == {own}
    direct = {
        last_segment(each["permission"])
        for each in listed
        if "/ann/" in each.get("user", "") and "via" not in each
    }
    assert direct == {"view_asset", "view_submissions", "validate_submissions"}


@pytest.mark.parametrize("path", ["bulk/", "csv/"])
async def test_writing_back_a_list_without_members_changes_nothing(
    team: SharingTeam, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor for members with permissions or denials of their own."""
    monkeypatch.setattr(grants, "MAX_WITH_MEMBERS", 3)
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "bob", "viewer")
    await share(team, uid, wash, "change_asset")
    await team.grant(uid, "ann", "view_submissions")
    denied = {"user": "bob", "permissions": ["view_asset"]}
    await team.request_assignments(uid, "owner", "PATCH", "bulk/", json=denied)
    people = ("ann", "bob", "viewer")
    before = [await held(team, uid, name) for name in people]
    assert before[0] == {"view_asset", "change_asset", "view_submissions"}
    listed = await team.request_assignments(uid, "owner", "GET")
    assert {last_segment(each["user"]) for each in listed.json() if each.get("via")} == {"ann"}
    assert int(listed.headers["Fieldgate-Left-Out"]) > 0
    if path == "bulk/":
        back: Any = [each for each in listed.json() if not each["user"].endswith("/owner/")]
    else:
        back = {
            "text": (await team.request_assignments(uid, "owner", "GET", path)).text,
            "mode": "replace",
        }
    answer = await team.request_assignments(uid, "owner", "POST", path, json=back)
    assert answer.status_code == 200, answer.text
    assert [await held(team, uid, name) for name in people] == before


@pytest.mark.parametrize("limits", [(1000, 3), (3, 1000)])
async def test_the_list_may_become_too_long_or_short_enough_before_it_is_written_back(
    team: SharingTeam, limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "bob", "viewer")
    await share(team, uid, wash, "change_asset")
    await team.grant(uid, "ann", "view_submissions")
    before = await team.snapshot(uid)
    monkeypatch.setattr(grants, "MAX_WITH_MEMBERS", limits[0])
    back = [
        _as_kobo(each)
        for each in await team.list_assignments(uid)
        if each["user"] != user_url("owner")
    ]
    monkeypatch.setattr(grants, "MAX_WITH_MEMBERS", limits[1])
    assert (
        await team.request_assignments(uid, "owner", "POST", "bulk/", json=back)
    ).status_code == 200
    assert await team.snapshot(uid) == before


def _as_kobo(record: dict[str, Any]) -> dict[str, Any]:
    return {"user": record["user"], "permission": record["permission"]}


@pytest.mark.parametrize("path", ["bulk/", "bulk/?teams=true", "csv/"])
async def test_an_old_list_gives_and_denies_nothing_that_teams_decide(
    team: SharingTeam, path: str
) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "viewer")
    await share(team, uid, wash, "change_asset")
    await team.grant(uid, "viewer", "view_submissions")
    listing, _, query = path.partition("?")
    listed = (await team.request_assignments(uid, "owner", "GET", f"?{query}")).json()
    back: Any = [each for each in listed if each.get("user") != user_url("owner")]
    if path == "csv/":
        back = {
            "text": (await team.request_assignments(uid, "owner", "GET", listing)).text,
            "mode": "replace",
        }
    for name in ("ann", "viewer"):
        await team.request("owner", "DELETE", f"{TEAMS}{wash}/members/{name}/")
    await team.request("owner", "POST", f"{TEAMS}{wash}/members/", json={"user": "bob"})
    answer = await team.request_assignments(uid, "owner", "POST", path, json=back)
    assert answer.status_code == 200, answer.text
    assert await held(team, uid, "ann") == set()
    assert await held(team, uid, "viewer") == {"view_asset", "view_submissions"}
    assert await held(team, uid, "bob") == {"view_asset", "change_asset"}


async def test_a_clone_has_the_denials(team: SharingTeam) -> None:
    source, uid = await team.create_asset(), await team.create_asset()
    wash = await create_team(team, "owner", "ann", "bob")
    await share(team, source, wash, "change_asset")
    await team.grant(source, "bob", "view_submissions")
    denied = {"user": "ann", "permissions": ["view_asset"]}
    await team.request_assignments(source, "owner", "PATCH", "bulk/", json=denied)
    body = {"clone_from": source}
    preview = (
        await team.request_assignments(uid, "owner", "PATCH", "clone/?dry_run=true", json=body)
    ).json()
    assert [
        last_segment(each["user"]) for each in preview["effects"] if each["effect"] == "denied"
    ] == ["ann"]
    await team.request_assignments(uid, "owner", "PATCH", "clone/", json=body)
    for name in ("ann", "bob"):
        assert await held(team, uid, name) == await held(team, source, name)
    assert await held(team, uid, "ann") == {"view_asset"}


async def test_adding_many_people_takes_few_statements(team: SharingTeam) -> None:
    names = [await team.add_user(f"person_{number}") for number in range(20)]
    wash = await create_team(team, "owner")
    statements: list[str] = []

    def count(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", count)
    answer = await team.request("owner", "POST", f"{TEAMS}{wash}/members/", json={"users": names})
    event.remove(Engine, "before_cursor_execute", count)
    assert [each["user__username"] for each in answer.json()["added"]] == sorted(names)
    assert 0 < len(statements) < len(names)


async def remove_member(people: SharingTeam, wash: str, uid: str) -> None:
    await people.request("owner", "DELETE", f"{TEAMS}{wash}/members/ann/")


async def delete_team(people: SharingTeam, wash: str, uid: str) -> None:
    await people.request("owner", "DELETE", f"{TEAMS}{wash}/")


async def unshare(people: SharingTeam, wash: str, uid: str) -> None:
    await people.request_assignments(
        uid, "owner", "DELETE", "bulk/", json={"username": f"team:{wash}"}
    )


@pytest.mark.parametrize("take", [remove_member, delete_team, unshare])
async def test_loss_takes_effect_on_the_next_request_in_every_process(
    start: StartService, database_url: str, take: Callable[[SharingTeam, str, str], Awaitable[None]]
) -> None:
    """Also of responses that a process or the caller has kept."""
    async with start(database_url=database_url) as one, start(database_url=database_url) as other:
        people = await SharingTeam.create(one)
        beside = SharingTeam(other)
        beside.headers, beside.user_ids = people.headers, people.user_ids
        uid, wash = await people.create_asset(), await create_team(people, "owner", "ann")
        await share(people, uid, wash, "view_asset")
        form = f"/api/v2/assets/{uid}/"
        paths = (
            "/api/v2/assets/",
            "/api/v2/assets/?q=asset_type:survey",
            form,
            f"{form}permission-assignments/",
        )
        tags = {}
        for here in (people, beside):
            for path in paths:
                answer = await here.request("ann", "GET", path)
                assert answer.status_code == 200
                tags[here, path] = answer.headers["ETag"]
        await take(people, wash, uid)
        for (here, path), tag in tags.items():
            answer = await here.request("ann", "GET", path, headers={"If-None-Match": tag})
            assert answer.status_code == (200 if path in paths[:2] else 404), path
            assert answer.status_code == 404 or answer.json()["count"] == 0


async def test_managers_handle_teams_of_the_collection_that_they_are_not_in(
    team: SharingTeam,
) -> None:
    collection = await team.create_asset("collection")
    uid = await team.create_asset(parent=collection)
    await team.grant(uid, "manager", "manage_asset")
    await share(team, collection, await create_team(team, "owner", "ann"), "change_asset")
    listed = (await team.request_assignments(uid, "manager", "GET", "?teams=true")).json()
    of_team = [each for each in listed if "team" in each]
    assert [(each["inherited"], each["team__name"]) for each in of_team] == [(True, None)] * 2
    back: Any = [each for each in listed if each.get("user") != user_url("owner")]
    table = (await team.request_assignments(uid, "manager", "GET", "csv/")).text
    for path, body in (("bulk/?teams=true", back), ("csv/", {"text": table, "mode": "replace"})):
        answer = await team.request_assignments(uid, "manager", "POST", path, json=body)
        assert answer.status_code == 200, answer.text
        assert (
            await team.request_assignments(uid, "manager", "GET", "?teams=true")
        ).json() == listed
    [record] = [each for each in of_team if "change_asset" in each["permission"]]
    assert (await team.request("manager", "DELETE", record["url"])).status_code == 204
    assert (await held(team, uid, "ann"), await held(team, collection, "ann")) == (
        {"view_asset"},
        {"view_asset", "change_asset"},
    )
