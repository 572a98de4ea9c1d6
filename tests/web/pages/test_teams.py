"""Pages of teams and their forms, without JavaScript."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.assets.sharing.sharing_team import SharingTeam
from tests.assets.sharing.test_teams import TEAMS, create_team, share
from tests.conftest import StartService
from tests.web.page_client import PageClient
from tests.web.pages.test_sharing import browser, notice_fields, text_of

ARABIC_NAME = "ليلى"


@pytest.fixture
async def team(start: StartService) -> AsyncIterator[SharingTeam]:
    async with start() as service:
        yield await SharingTeam.create(service)


async def members(team: SharingTeam, uid: str) -> dict[str, str]:
    found = (await team.request("boss", "GET", f"{TEAMS}{uid}/members/")).json()["results"]
    return {each["user__username"]: each["role"] for each in found}


async def test_create_a_team_and_paste_names(team: SharingTeam) -> None:
    client, form_uid = await browser(team, "owner"), await team.create_asset()
    await team.add_user(ARABIC_NAME)
    assert "You are not in a team." in text_of((await client.get(TEAMS)).text)
    answer = await client.submit(TEAMS, "create", {"name": " ", "description": "Water"})
    assert (
        answer.status_code,
        'id="create-name-error"' in answer.text,
        ">Water<" in answer.text,
    ) == (400, True, True)
    answer = await client.submit(TEAMS, "create", {"name": "WASH", "description": "Water"})
    path = answer.headers["Location"]
    uid = path.rstrip("/").rsplit("/", 1)[1]
    assert "The team WASH was created. Now add its members." in text_of(
        (await client.get(path)).text
    )
    await share(team, form_uid, uid, "view_asset")

    pasted = f"ann, bob\nviewer;nobody\t{ARABIC_NAME}، owner  nobody2"
    wrong = await client.submit(path, "add", {"users": pasted})
    assert wrong.status_code == 400
    block = text_of(wrong.text.split('id="add-users-error"')[1].split("</span>")[0])
    assert "There is no user nobody. There is no user nobody2." in block
    assert pasted in wrong.text
    fields: dict[str, Any] = {"users": pasted.replace("nobody2", "").replace("nobody", "")}
    preview = text_of((await client.submit(path, "add", fields)).text)
    assert f"4 people join the team viewer , ann , bob , {ARABIC_NAME}" in preview
    assert "+ Gets: Visit – Can view the form · 4 people" in preview
    assert list(await members(team, uid)) == ["owner"]
    done = await client.submit_and_follow(path, "add", {**fields, "do": "add"})
    assert "4 people were added to the team." in text_of(done.text)
    assert "Visit Can view the form" in text_of(done.text)
    assert set(await members(team, uid)) == {"owner", "ann", "bob", "viewer", ARABIC_NAME}
    again = await client.submit(path, "add", {"users": "ann"})
    assert "Nothing will change: all of them are in the team." in text_of(again.text)
    assert (await client.submit(path, "add", {"users": " , "})).status_code == 400
    listed = text_of((await client.get(TEAMS)).text)
    assert "WASH Water Admin 5 1" in listed


async def test_full_team(team: SharingTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the preview already, and in the language of the page."""
    monkeypatch.setattr("fieldgate.accounts.teams.MAX_TEAM_MEMBERS", 2)
    uid, client = await create_team(team, "owner", "ann"), await browser(team, "owner")
    for fields in ({"users": "bob viewer"}, {"users": "bob", "do": "add"}):
        refused = await client.submit(f"{TEAMS}{uid}/", "add", fields)
        assert refused.status_code == 400
        assert "A team has at most 2 members. Create another team for more people." in text_of(
            refused.text
        )
        assert fields["users"] in refused.text
    client.language = "es"
    refused = await client.submit(f"{TEAMS}{uid}/", "add", {"users": "bob"})
    assert "Un equipo tiene como máximo 2 miembros. Cree otro equipo para más personas." in text_of(
        refused.text
    )
    assert set(await members(team, uid)) == {"owner", "ann"}


@pytest.mark.parametrize("name", ["ann", ARABIC_NAME])
async def test_roles_removal_and_leaving(team: SharingTeam, name: str) -> None:
    if name not in team.user_ids:
        await team.add_user(name)
    form_uid, uid = await team.create_asset(), await create_team(team, "owner", name)
    await share(team, form_uid, uid, "view_asset")
    client, other = await browser(team, "owner"), await browser(team, name)
    path, own = f"{TEAMS}{uid}/members/{quote(name)}/", f"{TEAMS}{uid}/members/owner/"
    page = text_of((await client.get(path)).text)
    assert "this access ends: − Loses: Visit – Can view the form · 1 person" in page
    last = await client.submit(own, "role", {"role": "member"})
    assert (last.status_code, "A team needs an admin" in last.text) == (400, True)
    promoted = await client.submit_and_follow(path, "role", {"role": "admin"})
    assert f"{name} is an admin of the team now." in text_of(promoted.text)
    removed = await client.submit_and_follow(path, "remove")
    assert f"{name} is not in the team any more." in text_of(removed.text)
    assert await members(team, uid) == {"owner": "admin"}
    assert (await other.get(path)).status_code == 404
    await client.submit_and_follow(f"{TEAMS}{uid}/", *notice_fields(removed.text))
    assert await members(team, uid) == {"owner": "admin", name: "admin"}
    await client.submit_and_follow(path, "role", {"role": "member"})
    assert "Leave the team" in text_of((await other.get(path)).text)
    left = await other.submit(path, "remove")
    assert left.headers["Location"] == TEAMS
    assert "You left the team." in text_of((await other.get(TEAMS)).text)


async def test_rename_and_delete(team: SharingTeam) -> None:
    form_uid, uid = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await share(team, form_uid, uid, "view_asset")
    client, path = await browser(team, "owner"), f"{TEAMS}{uid}/"
    renamed = await client.submit_and_follow(path, "change", {"name": "Health", "description": ""})
    assert "<h1><bdi>Health</bdi></h1>" in renamed.text
    question = text_of((await client.get(f"{path}?delete=1")).text)
    assert "Delete the team Health? This cannot be undone." in question
    assert "people lose this: − Loses: Visit – Can view the form · 2 people" in question
    assert (await team.request("ann", "GET", f"/api/v2/assets/{form_uid}/")).status_code == 200
    deleted = await client.submit_and_follow(path, "delete")
    assert "The team Health was deleted." in text_of(deleted.text)
    assert (await team.request("ann", "GET", f"/api/v2/assets/{form_uid}/")).status_code == 404


async def test_members_see_no_forms_for_admins(team: SharingTeam) -> None:
    uid = await create_team(team, "owner", "ann", "bob")
    path, client = f"{TEAMS}{uid}/", await browser(team, "ann")
    for rest in ("", "?delete=1", "members/", "members/bob/", "assets/"):
        page = (await client.get(path + rest)).text
        assert "WASH" in page
        for form in ("add", "change", "delete", "role", "remove"):
            assert f"form={form}" not in page, (rest, form)
    for form, at, fields in (
        ("add", path, {"users": "viewer", "do": "add"}),
        ("change", path, {"name": "Mine"}),
        ("delete", path, {}),
        ("role", f"{path}members/ann/", {"role": "admin"}),
        ("remove", f"{path}members/bob/", {}),
    ):
        assert (await client.submit(at, form, fields)).status_code == 400, form
    assert await members(team, uid) == {"owner": "admin", "ann": "member", "bob": "member"}
    stranger = await browser(team, "stranger")
    for rest in ("", "members/", "members/bob/", "assets/"):
        assert (await stranger.get(path + rest)).status_code == 404
    assert (await PageClient(team.service).get(TEAMS)).status_code == 401
    for start_page in ("/account/", "/api/v2/assets/"):
        assert f'href="{TEAMS}">My teams' in (await client.get(start_page)).text


async def test_explanation_history_and_log_name_the_team(team: SharingTeam) -> None:
    form_uid, uid = await team.create_asset(), await create_team(team, "owner", "ann")
    await share(team, form_uid, uid, "change_asset", expires_at="2099-12-31")
    client, sharing = (
        await browser(team, "owner"),
        f"/api/v2/assets/{form_uid}/permission-assignments/",
    )
    why = text_of((await client.get(f"{sharing}explain/?user=ann&permission=view_asset")).text)
    assert "Allowed: View form Comes from the team WASH. Ends on Dec 31, 2099." in why.replace(
        " :", ":"
    )
    for path in (f"{sharing}history/", f"/api/v2/assets/{form_uid}/history/"):
        assert "owner gave the team WASH “Edit form” until Dec 31, 2099." in text_of(
            (await client.get(path)).text
        )
    log = text_of((await (await browser(team, "boss")).get("/api/v2/audit-logs/?limit=100")).text)
    for sentence in (
        "owner created the team WASH.",
        "owner added ann to the team WASH.",
        "owner gave the team WASH “Edit form” until Dec 31, 2099.",
    ):
        assert sentence in log
    # Nobody outside of the team reads its name.
    await team.request("owner", "PATCH", f"{TEAMS}{uid}/members/ann/", json={"role": "admin"})
    await team.request("owner", "DELETE", f"{TEAMS}{uid}/members/owner/")
    page = (await client.get(f"{sharing}explain/?user=ann&permission=view_asset")).text
    assert "Comes from a team that you are not in." in text_of(page)
    assert "WASH" not in page


async def test_names_of_teams_are_escaped(team: SharingTeam) -> None:
    name = "<img src=x onerror=alert(1)>"
    uid, form_uid = await create_team(team, "owner", "ann", name=name), await team.create_asset()
    await share(team, form_uid, uid, "view_asset")
    client = await browser(team, "owner")
    for path in (
        TEAMS, f"{TEAMS}{uid}/?delete=1", f"{TEAMS}{uid}/members/", f"{TEAMS}{uid}/members/ann/",
        f"/api/v2/assets/{form_uid}/permission-assignments/?remove=ann",
        f"/api/v2/assets/{form_uid}/permission-assignments/explain/?user=ann&permission=view_asset",
    ):  # fmt: skip
        page = (await client.get(path)).text
        assert "&lt;img src=x" in page, path
        assert "<img src=x" not in page, path


async def test_only_who_may_create_teams_sees_the_form(start: StartService) -> None:
    async with start(teams_by_users=False) as service:
        people = await SharingTeam.create(service)
        for name, sees_form in (("owner", False), ("boss", True)):
            page = (await (await browser(people, name)).get(TEAMS)).text
            assert ('id="form-create"' in page, "Create one" in page) == (sees_form, sees_form)
