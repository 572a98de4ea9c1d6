"""Teams: members, what they get on assets, and what a list of assignments and its writers make of it."""

import re
from typing import Any

import pytest

from tests.assets.sharing.sharing_team import SharingTeam, last_segment, permission_url, user_url

TEAMS = "/api/v2/teams/"


async def create_team(people: SharingTeam, by: str, *members: str, name: str = "WASH") -> str:
    """Create a team and return its uid."""
    answer = await people.request(by, "POST", TEAMS, json={"name": name})
    assert answer.status_code == 201, answer.text
    uid = str(answer.json()["uid"])
    if members:
        added = await people.request(
            by, "POST", f"{TEAMS}{uid}/members/", json={"users": list(members)}
        )
        assert added.status_code == 201, added.text
    return uid


async def test_answer_to_sharing_names_an_own_team(team: SharingTeam) -> None:
    """Superusers know the names of all teams, managers those of their own."""
    uid, wash = await team.create_shared_asset(), await create_team(team, "owner", "ann")
    body = {"team": wash, "permission": "view_asset"}
    for by, name in (("owner", "WASH"), ("owner", "WASH"), ("boss", "WASH"), ("manager", None)):
        answer = await team.request_assignments(uid, by, "POST", json=body)
        assert (answer.status_code, answer.json()["team__name"]) == (201, name), by


async def share(
    people: SharingTeam, uid: str, team: str, permission: str, by: str = "owner", **more: Any
) -> None:
    body = {"team": team, "permission": permission, **more}
    answer = await people.request_assignments(uid, by, "POST", json=body)
    assert answer.status_code == 201, answer.text


async def held(people: SharingTeam, uid: str, name: str) -> set[str]:
    """What somebody may do with an asset, from the asset itself."""
    answer = await people.request(name, "GET", f"/api/v2/assets/{uid}/")
    return (
        set()
        if answer.status_code == 404
        else {each["codename"] for each in answer.json()["effective_permissions"]}
    )


async def test_members_get_what_the_team_has_and_lose_it_on_leaving(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await share(team, uid, wash, "change_submissions")
    assert await held(team, uid, "ann") == {
        "view_asset",
        "add_submissions",
        "view_submissions",
        "change_submissions",
    }
    listed = (await team.request("ann", "GET", "/api/v2/assets/")).json()
    assert [each["uid"] for each in listed["results"]] == [uid]
    await team.request("owner", "DELETE", f"{TEAMS}{wash}/members/ann/")
    assert (await held(team, uid, "ann"), await held(team, uid, "bob") != set()) == (set(), True)
    assert (await team.request("ann", "GET", "/api/v2/assets/")).json()["count"] == 0
    await team.request("owner", "DELETE", f"{TEAMS}{wash}/")
    assert await held(team, uid, "bob") == set()


async def test_records_of_members_name_the_team_and_can_be_denied(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await share(team, uid, "WASH", "view_asset")
    records = (await team.request_assignments(uid, "owner", "GET")).json()
    through = [each for each in records if each.get("via")]
    assert [last_segment(each["user"]) for each in through] == ["ann", "bob"]
    assert through[0]["via"]["name"] == "WASH"
    assert through[0]["inherited"] is True
    with_teams = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
    assert [each["team__name"] for each in with_teams if "team" in each] == ["WASH"]
    removed = await team.request_assignments(
        uid, "owner", "DELETE", f"{last_segment(through[0]['url'])}/"
    )
    assert removed.status_code == 204
    assert (await held(team, uid, "ann"), await held(team, uid, "bob")) == (set(), {"view_asset"})
    # The denial lasts, also after leaving and coming back, until the permission is given to the person.
    await team.request("owner", "DELETE", f"{TEAMS}{wash}/members/ann/")
    await team.request("owner", "POST", f"{TEAMS}{wash}/members/", json={"user": "ann"})
    assert await held(team, uid, "ann") == set()
    given = {"user": user_url("ann"), "permission": permission_url("view_asset")}
    await team.request_assignments(uid, "owner", "POST", json=given)
    assert await held(team, uid, "ann") == {"view_asset"}


@pytest.mark.parametrize("path", ["bulk/", "csv/"])
async def test_writing_back_changes_nothing(team: SharingTeam, path: str) -> None:
    uid = await team.create_shared_asset()
    wash = await create_team(team, "owner", "ann", "bob", "viewer")
    await share(team, uid, wash, "change_asset")
    before = (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json()
    if path == "bulk/":
        back = [
            each for each in await team.list_assignments(uid) if each["user"] != user_url("owner")
        ]
        answer = await team.request_assignments(uid, "owner", "POST", path, json=back)
    else:
        table = (await team.request_assignments(uid, "owner", "GET", path)).text
        body = {"text": table, "mode": "replace"}
        answer = await team.request_assignments(uid, "owner", "POST", path, json=body)
        assert answer.json()["effects"] == []
    assert answer.status_code == 200, answer.text
    assert (await team.request_assignments(uid, "owner", "GET", "?teams=true")).json() == before


async def test_table_with_teams_of_the_same_name(team: SharingTeam) -> None:
    uid = await team.create_asset()
    wash, other = (
        await create_team(team, "owner", "ann"),
        await create_team(team, "owner", "bob", name="wash"),
    )
    clear = await create_team(team, "owner", name="Health")
    for each, permission in ((wash, "change_asset"), (other, "view_asset"), (clear, "view_asset")):
        await share(team, uid, each, permission)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).text
    assert {line.split(",")[0] for line in table.split()[1:]} == {
        f"team:{wash}",
        f"team:{other}",
        "team:Health",
    }
    copy = await team.create_asset()
    answer = await team.request_assignments(copy, "owner", "POST", "csv/", json={"text": table})
    assert answer.status_code == 200, answer.text
    assert (await held(team, copy, "ann"), await held(team, copy, "bob")) == (
        {"view_asset", "change_asset"},
        {"view_asset"},
    )


async def test_list_of_teams_counts_their_assets(team: SharingTeam) -> None:
    """Those that the caller can see, each once, also those of a shared collection."""
    collection = await team.create_asset("collection")
    inside, alone = await team.create_asset(parent=collection), await team.create_asset()
    wash, _ = (
        await create_team(team, "owner", "ann"),
        await create_team(team, "owner", "ann", name="Empty"),
    )
    for uid, permission in (
        (collection, "view_asset"),
        (inside, "change_asset"),
        (alone, "view_submissions"),
    ):
        await share(team, uid, wash, permission)
    await team.request_assignments(alone, "owner", "DELETE", "bulk/", json={"username": "ann"})
    for by, counts in (("owner", [0, 3]), ("ann", [0, 2]), ("boss", [0, 3])):
        listed = (await team.request(by, "GET", TEAMS)).json()["results"]
        assert [each["asset_count"] for each in listed] == counts, by
        one = (await team.request(by, "GET", f"{TEAMS}{wash}/")).json()
        assert (
            one["asset_count"]
            == (await team.request(by, "GET", f"{TEAMS}{wash}/assets/")).json()["count"]
        )


async def test_explanation_names_the_team(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    await share(team, uid, wash, "view_asset")
    answer = await team.request_assignments(
        uid, "ann", "GET", "explain/?user=ann&permission=view_asset"
    )
    rule = answer.json()["rules"][0]
    assert (rule["rule"], rule["via"][0]["name"]) == ("team", "WASH")


async def test_a_name_never_stands_for_another_team(team: SharingTeam) -> None:
    wash = await create_team(team, "ann")
    for name in (wash, wash.upper(), f" {wash} ", f"{wash}\u200e"):
        answer = await team.request("bob", "POST", TEAMS, json={"name": name})
        assert (answer.status_code, list(answer.json())) == (400, ["name"])
    other = await create_team(team, "bob", name="Other")
    assert (
        await team.request("bob", "PATCH", f"{TEAMS}{other}/", json={"name": wash})
    ).status_code == 400


async def test_a_preview_does_not_tell_what_others_have(team: SharingTeam) -> None:
    uid, wash = await team.create_shared_asset(), await create_team(team, "owner")
    await team.request(
        "owner", "POST", f"{TEAMS}{wash}/members/", json={"user": "ann", "role": "admin"}
    )
    await share(team, uid, wash, "view_asset")
    for by, told in (
        ("ann", ["bob", "viewer"]),
        ("owner", ["bob"]),
    ):  # ann does not manage the form
        body = {"users": ["bob", "viewer"]}
        preview = await team.request(by, "POST", f"{TEAMS}{wash}/members/?dry_run=true", json=body)
        assert sorted(last_segment(each["user"]) for each in preview.json()["assets"]) == told


async def test_preview_of_leaving_leaves_out_what_is_denied(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann")
    await share(team, uid, wash, "change_asset")
    denied = await team.assignment_uid(uid, "ann", "change_asset")
    await team.request_assignments(uid, "owner", "DELETE", f"{denied}/")
    for by in ("ann", "owner"):
        preview = (
            await team.request(by, "DELETE", f"{TEAMS}{wash}/members/ann/?dry_run=true")
        ).json()
        assert [each["permissions"] for each in preview["assets"]] == [
            [permission_url("view_asset")]
        ]


async def test_history_of_an_asset_says_that_a_team_was_deleted(team: SharingTeam) -> None:
    """One entry for each asset with what the team had there, and one about the team."""
    uids = [await team.create_asset() for _ in range(2)]
    wash, other = (
        await create_team(team, "owner", "ann"),
        await create_team(team, "owner", name="Other"),
    )
    for uid in uids:
        await share(team, uid, wash, "change_asset")
        await share(team, uid, other, "view_asset")
    await share(team, await team.create_asset(owner="ann"), wash, "view_asset", by="ann")
    assert (await team.request("owner", "DELETE", f"{TEAMS}{wash}/")).status_code == 204
    for uid in uids:
        newest = (
            await team.request("boss", "GET", f"/api/v2/assets/{uid}/history/?limit=1")
        ).json()["results"][0]
        assert (newest["username"], newest["metadata"]["act"]) == ("owner", "remove_all")
        removed = {"username": "team:WASH", "added": [], "removed": ["change_asset", "view_asset"]}
        assert newest["metadata"]["permissions"] == removed
        shown = await team.request(
            "boss", "GET", f"/api/v2/assets/{uid}/history/", headers={"Accept": "text/html"}
        )
        assert "owner removed the team WASH." in re.sub("[\u2068\u2069]", "", shown.text)
        effects = [each for each in await team.history(uid) if each["effect"] == "removed"]
        assert {each["team__name"] for each in effects} == {"WASH"}
        assert len(effects) == 2
    log = (await team.request("boss", "GET", "/api/v2/audit-logs/?limit=4")).json()["results"]
    assert [each["model_name"] for each in log] == ["team", "asset", "asset", "asset"]


async def test_log_has_the_old_name_of_a_team(team: SharingTeam) -> None:
    wash = await create_team(team, "owner")
    for change in ({"name": "Health"}, {"name": "Health", "description": "x"}):
        await team.request("owner", "PATCH", f"{TEAMS}{wash}/", json=change)
    described, renamed = (await team.request("boss", "GET", "/api/v2/audit-logs/?limit=2")).json()[
        "results"
    ]
    assert (renamed["action"], renamed["metadata"]["name"]) == (
        "update",
        {"old": "WASH", "new": "Health"},
    )
    assert described["metadata"]["name"] == "Health"
    page = await team.request("boss", "GET", "/api/v2/audit-logs/", headers={"Accept": "text/html"})
    assert "changed the name of the team “\u2068WASH\u2069” to “\u2068Health\u2069”." in page.text
