"""The sharing page and its forms, without JavaScript."""

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from fieldgate.assets.sharing import grants
from tests.assets.sharing.sharing_team import PUBLIC, SharingTeam
from tests.assets.sharing.test_teams import create_team
from tests.assets.sharing.test_teams import share as share_with_team
from tests.conftest import StartService
from tests.web.page_client import PageClient, visible_text

MARKS = re.compile("[\u2068\u2069]")


@pytest.fixture
async def team(start: StartService) -> AsyncIterator[SharingTeam]:
    async with start() as service:
        yield await SharingTeam.create(service)


async def browser(team: SharingTeam, name: str) -> PageClient:
    return await PageClient.logged_in(team.service, team.user_ids[name])


def page_path(uid: str) -> str:
    return f"/api/v2/assets/{uid}/permission-assignments/"


def text_of(page: str) -> str:
    return MARKS.sub("", visible_text(page)).replace(" ”", "”")


async def rename(team: SharingTeam, uid: str, name: str) -> None:
    answer = await team.request("boss", "PATCH", f"/api/v2/assets/{uid}/", json={"name": name})
    assert answer.status_code == 200, answer.text


def people(page: str) -> dict[str, str]:
    """Return the sentences of a sharing page by name."""
    table = page.split('<table class="people">')[1].split("</table>")[0]
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL):
        head, body = row.split("</th>", 1)
        name = unescape(re.search(r"<bdi>(.*?)</bdi>", head, re.DOTALL)[1])  # type: ignore[index]
        found[name] = MARKS.sub(
            "", unescape(re.split(r"</?(?:td|span|details)", body)[1].lstrip(">").strip())
        )
    return found


def ticked(page: str) -> set[str]:
    return set(re.findall(r'name="permissions" value="(\w+)" checked', page))


def boxes(page: str) -> dict[str, Any]:
    """Return the fields with which a browser without JavaScript sends the boxes of a page."""
    hidden = re.findall(r'name="choices" value="([^"]*)"', page)
    return {"choices": hidden, "permissions": sorted(ticked(page))}


def offered(page: str) -> set[str]:
    return set(re.findall(r'name="permissions" value="(\w+)"', page))


def notice_fields(page: str) -> tuple[str, dict[str, list[str]]]:
    """Return the name of the undo form of a notice, and its fields."""
    block = page.split('class="notice"')[1].split("</form>")[0]
    [name] = re.findall(r"form=(\w+)", block)
    fields: dict[str, list[str]] = {}
    for field, value in re.findall(r'name="([^"]+)" value="([^"]*)"', block):
        fields.setdefault(field, []).append(unescape(value))
    fields.pop("csrf_token")
    return name, fields


async def test_people_and_their_access(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await rename(team, uid, "Household")
    await team.grant(uid, PUBLIC, "view_asset")
    filters = [{"url": "view_submissions", "filters": [{"team": "north"}]}]
    await team.grant(uid, "ann", "partial_submissions", partial_permissions=filters)
    page = (await (await browser(team, "owner")).get(page_path(uid))).text
    assert people(page) == {
        "owner": "Owner: can do everything",
        "ann": "Can see only submissions where team is “north”",
        "editor": "Can edit the form",
        "manager": "Can edit everything and share it with others",
        "viewer": "Can view the form",
        "Everyone": "Can view the form",
    }
    assert next(iter(people(page))) == "owner"
    assert list(people(page))[-1] == "Everyone"
    text = text_of(page)
    assert "Who can use “Household”" in text
    assert (
        "Owned by you. 4 other people have access. Everyone can view it, also without an account."
        in text
    )
    assert "History" in text
    for codename in ("view_asset", "partial_submissions", "manage_asset", "AnonymousUser"):
        assert codename not in text


async def test_share_without_javascript(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "owner")
    fields: dict[str, Any] = {
        "user": "ann",
        "permissions": ["change_asset", "view_submissions"],
        "do": "preview",
    }
    preview = await client.submit(page_path(uid), "share", fields)
    assert preview.status_code == 200
    text = text_of(preview.text)
    assert "What will change for ann" in text
    assert "View form – needed by “Edit form”" in text
    assert "Edit form – chosen" in text
    assert "Afterwards: Can edit the form and see submissions" in text
    assert ticked(preview.text) == {"view_asset", "change_asset", "view_submissions"}
    assert 'value="ann"' in preview.text
    assert await team.permissions_of(uid, "ann") == set()
    page = await client.submit_and_follow(page_path(uid), "share", {**fields, "do": "share"})
    assert "Shared with ann. Can edit the form and see submissions." in text_of(page.text)
    assert people(page.text)["ann"] == "Can edit the form and see submissions"
    reasons = {each["label"]: each["reason"] for each in await team.history(uid)}
    assert reasons["View form"] == "implied"
    name, undo = notice_fields(page.text)
    undone = await client.submit_and_follow(page_path(uid), name, undo)
    assert "Undone: ann has the same access as before." in text_of(undone.text)
    assert "ann" not in people(undone.text)


@pytest.mark.parametrize("asset_type", ["survey", "collection"])
async def test_everyone_is_offered_what_everyone_can_have(
    team: SharingTeam, asset_type: str
) -> None:
    uid = await team.create_shared_asset()
    if asset_type == "collection":
        body = {"asset_type": "collection", "name": "Forms"}
        uid = (await team.request("owner", "POST", "/api/v2/assets/", json=body)).json()["uid"]
    await team.grant(uid, PUBLIC, "view_asset")
    client = await browser(team, "owner")
    page = (await client.get(page_path(uid))).text
    for_people, only_people = (
        offered(page),
        set(re.findall(r'people-only">\s*<input[^>]* value="(\w+)"', page)),
    )
    for path, form in (("?change=AnonymousUser", None), ("", {"who": "everyone"})):
        answer = await client.get(page_path(uid) + path) if form is None else await client.submit(
            page_path(uid), "share", {**form, "permissions": "view_asset"}
        )  # fmt: skip
        assert offered(answer.text) == for_people - only_people
    # The API agrees with what is offered, and with what is not.
    for permission in for_people:
        batch = {"assets": [uid], "users": [PUBLIC], "permissions": [permission]}
        path = "/api/v2/permission-assignments/add/?dry_run=true"
        tried = await team.request("owner", "POST", path, json=batch)
        assert tried.status_code == (400 if permission in only_people else 200), (
            permission,
            tried.text,
        )
    assert "manage_asset" in only_people


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"permissions": "view_asset"}, "user", "Enter the username of a person."),
        ({"user": "ann"}, "permissions", "Choose at least one permission."),
        ({"user": "viewr", "permissions": "view_asset"}, "user", "Did you mean viewer?"),
        (
            {"user": "ann", "permissions": "partial_submissions", "partial_question": "team"},
            "partial_people",
            "Enter both the question and the answer.",
        ),
        (
            {"user": "ann", "permissions": "partial_submissions", "partial_people": "bob"},
            "partial_people",
            "Choose what is allowed with these submissions.",
        ),
        (
            {"user": "ann", "permissions": "partial_submissions", "partial_query": "{"},
            "partial_people",
            "The query must be a JSON object.",
        ),
    ],
)
async def test_errors_of_sharing(
    team: SharingTeam, fields: dict[str, Any], field: str, message: str
) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    answer = await (await browser(team, "owner")).submit(
        page_path(uid), "share", {**fields, "do": "share"}
    )
    assert answer.status_code == 400
    assert f'href="#share-{field}"' in answer.text
    block = answer.text.split(f'id="share-{field}-error"')[1].split("</span>")[0]
    assert message in MARKS.sub("", unescape(block))
    assert f'value="{fields.get("user", "")}"' in answer.text
    assert await team.snapshot(uid) == before


async def test_names_of_strangers_are_suggested_to_superusers_only(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    for by, is_suggested in (("owner", False), ("boss", True)):
        for typed in ("strangr", "Strángér"):
            fields = {"user": typed, "permissions": "view_asset"}
            answer = await (await browser(team, by)).submit(page_path(uid), "share", fields)
            assert ("Did you mean stranger" in text_of(answer.text)) is is_suggested


async def test_change_what_a_person_can_do(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    partial = [{"url": "view_submissions", "filters": [{"_submitted_by": "bob", "team": "north"}]}]
    await team.grant(uid, "editor", "partial_submissions", partial_permissions=partial)
    client = await browser(team, "owner")
    page = (await client.get(f"{page_path(uid)}?change=editor")).text
    assert "Change what editor can do" in text_of(page)
    assert ticked(page) == {"view_asset", "change_asset", "partial_submissions"}
    for value in ("bob", "team", "north"):
        assert f'value="{value}"' in page
    fields: dict[str, Any] = {"user": "editor", "permissions": ["view_asset", "view_submissions"]}
    text = text_of((await client.submit(page_path(uid), "change", fields)).text)
    assert "− Loses: Edit form – not included" in text
    done = await client.submit_and_follow(page_path(uid), "change", {**fields, "do": "share"})
    assert people(done.text)["editor"] == "Can see submissions"
    name, undo = notice_fields(done.text)
    undone = await client.submit_and_follow(page_path(uid), name, undo)
    assert people(undone.text)["editor"] == (
        "Can edit the form and see only submissions where they were sent by bob and team is “north”"
    )


def date_field(page: str) -> tuple[str, str]:
    """The day in the form, and the time that it stands for."""
    day = re.search(r'name="until" type="date"[^>]* value="([^"]*)"', page)
    return day[1] if day else "no field", re.findall(r'name="end" value="([^"]*)"', page)[0]


async def test_access_that_ends(team: SharingTeam) -> None:
    uid = await team.create_asset()
    client = await browser(team, "owner")
    given: dict[str, Any] = {"user": "ann", "permissions": ["change_asset"], "until": "2099-12-31"}
    preview = (await client.submit(page_path(uid), "share", given)).text
    assert "+ Gets: Edit form – chosen · until Dec 31, 2099" in text_of(preview)
    assert date_field(preview) == ("2099-12-31", "")
    done = (await client.submit_and_follow(page_path(uid), "share", {**given, "do": "share"})).text
    assert re.search(r"Can edit the form .*until Dec 31, 2099 \(ends in \d+ years\)", text_of(done))
    more = (
        await client.submit(
            page_path(uid), "share", {"user": "ann", "permissions": ["manage_asset"]}
        )
    ).text
    assert "A permission that ends already keeps its end, unless a new one needs it." in text_of(
        more
    )
    assert "~ Changes: Edit form: no longer ends – needed by “Manage project”" in text_of(more)
    past = await client.submit(page_path(uid), "share", {**given, "until": "2020-01-01"})
    assert (past.status_code, "This time is in the past." in text_of(past.text)) == (400, True)

    await team.grant(uid, "ann", "change_asset", expires_at="2099-11-30T08:00:00Z")
    page = (await client.get(f"{page_path(uid)}?change=ann")).text
    assert date_field(page) == ("2099-11-30", "2099-11-30T08:00:00Z")
    assert "If you empty it, the access no longer ends." in text_of(page)
    same = {"user": "ann", **boxes(page), "until": "2099-11-30", "end": "2099-11-30T08:00:00Z"}
    again = await client.submit(page_path(uid), "change", same)
    assert "Nothing will change" in text_of(again.text), "the time of that day stays"
    endless = await client.submit_and_follow(
        page_path(uid), "change", {**same, "until": "", "do": "share"}
    )
    assert "until" not in people(endless.text)["ann"]
    assert {each.get("expires_at") for each in await team.list_assignments(uid)} == {None}
    await client.submit_and_follow(page_path(uid), *notice_fields(endless.text))
    assert {each.get("expires_at") for each in await team.list_assignments(uid)} == {
        None,
        "2099-11-30T08:00:00Z",
    }

    for path in (f"{page_path(uid)}history/", f"/api/v2/assets/{uid}/history/"):
        assert "owner changed when the access of ann ends: “Edit form” without an end." in text_of(
            (await client.get(path)).text
        )
    history = text_of((await client.get(f"{page_path(uid)}history/")).text)
    assert "no longer ends" in history
    why = text_of(
        (await client.get(f"{page_path(uid)}explain/?user=ann&permission=view_asset")).text
    )
    assert "Ends on Nov 30, 2099." in why
    url = next(each["url"] for each in await team.list_assignments(uid) if "expires_at" in each)
    assert "Until Nov 30, 2099" in text_of((await client.get(url)).text)


@pytest.mark.parametrize("action", ["remove", "upload"])
async def test_undo_brings_back_different_ends(team: SharingTeam, action: str) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "view_asset")
    await team.grant(uid, "ann", "view_submissions", expires_at="2099-12-31")
    await team.grant(uid, "ann", "change_asset", expires_at="2099-06-30")
    before = [
        (each["user"], each["permission"], each.get("expires_at"))
        for each in await team.list_assignments(uid)
    ]
    client = await browser(team, "owner")
    page = (await client.get(page_path(uid))).text
    assert "Edit form until Jun 30, 2099" in text_of(page)
    table = {"table": "user,permission\nann,view_asset", "mode": "replace", "do": "upload"}
    fields = {"user": "ann"} if action == "remove" else table
    done = await client.submit_and_follow(page_path(uid), action, fields)
    assert len(await team.list_assignments(uid)) < len(before)
    await client.submit_and_follow(page_path(uid), *notice_fields(done.text))
    after = [
        (each["user"], each["permission"], each.get("expires_at"))
        for each in await team.list_assignments(uid)
    ]
    assert after == before


async def test_remove_and_undo(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "owner")
    text = text_of((await client.get(f"{page_path(uid)}?remove=editor")).text)
    assert "Remove editor?" in text
    assert "− Loses: Edit form − Loses: View form" in text
    assert "Afterwards: Has no access" in text
    assert await team.permissions_of(uid, "editor")
    page = await client.submit_and_follow(page_path(uid), "remove", {"user": "editor"})
    assert "Removed editor from “Visit”." in text_of(page.text)
    assert "editor" not in people(page.text)
    name, undo = notice_fields(page.text)
    undone = await client.submit_and_follow(page_path(uid), name, undo)
    assert people(undone.text)["editor"] == "Can edit the form"
    answer = await client.submit(page_path(uid), "remove", {"user": "owner"})
    assert answer.status_code == 400
    assert "The owner&#39;s permissions cannot be removed." in answer.text


async def test_teams_and_their_members(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    many = [await team.add_user(f"member{number:02}") for number in range(24)]
    wash = await create_team(team, "owner", "ann", *many)
    client = await browser(team, "owner")
    assert '<option value="team:WASH"></option>' in (await client.get(page_path(uid))).text
    fields: dict[str, Any] = {"user": "team:wash", "permissions": ["view_submissions"]}
    assert "What will change for the team WASH" in text_of(
        (await client.submit(page_path(uid), "share", fields)).text
    )
    done = await client.submit_and_follow(page_path(uid), "share", {**fields, "do": "share"})
    assert "Shared with the team WASH. Can see submissions." in text_of(done.text)
    assert list(people(done.text))[:3] == ["owner", "WASH", "ann"]
    assert f'href="/api/v2/teams/{wash}/"><bdi>WASH</bdi>' in done.text
    assert "Team of 26 people ann member00" in text_of(done.text)
    assert "member18 and 6 other people" in text_of(done.text)
    assert re.search(
        r"ann Can see submissions [\w, ]* through the team WASH Why\? ann Change",
        text_of(done.text),
    )
    # Change and remove the team itself, and undo that.
    change = {"user": f"team:{wash}", "permissions": ["view_asset"], "do": "share"}
    changed = await client.submit_and_follow(page_path(uid), "change", change)
    assert "Shared with the team WASH. Can view the form." in text_of(changed.text)
    question = text_of((await client.get(f"{page_path(uid)}?remove=team:{wash}")).text)
    assert (
        "Remove the team WASH? Its members lose the access, too, unless they have it in another way."
        in question
    )
    removed = await client.submit_and_follow(page_path(uid), "remove", {"user": f"team:{wash}"})
    assert {"WASH", "ann"}.isdisjoint(people(removed.text))
    undone = await client.submit_and_follow(page_path(uid), *notice_fields(removed.text))
    assert (people(undone.text)["WASH"], people(undone.text)["ann"]) == (
        "Can view the form",
        "Can view the form",
    )
    # Sharing again adds to what the team has, and undoing that leaves it as it was.
    again = await client.submit_and_follow(page_path(uid), "share", {**fields, "do": "share"})
    assert people(again.text)["WASH"] == "Can see submissions"
    undone = await client.submit_and_follow(page_path(uid), *notice_fields(again.text))
    assert people(undone.text)["WASH"] == "Can view the form"


async def test_take_access_through_a_team_away_from_one_person(team: SharingTeam) -> None:
    uid, _ = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await share_with_team(team, uid, "WASH", "view_asset")
    client = await browser(team, "owner")
    kept = "WASH keeps its access, ann does not get it any more."
    question = text_of((await client.get(f"{page_path(uid)}?remove=ann")).text).split(
        "Remove ann?"
    )[1]
    assert question.startswith(f" {kept}")
    losses = question.split("Afterwards:")[0]
    assert ("Loses: View form" in losses, "Edit form" in losses) == (True, False)
    done = await client.submit_and_follow(page_path(uid), "remove", {"user": "ann"})
    assert f"Removed ann from “Visit”. {kept}" in text_of(done.text)
    assert set(people(done.text)) == {"owner", "WASH", "bob"}
    undone = await client.submit_and_follow(page_path(uid), *notice_fields(done.text))
    assert "the same access as before, now given here and not by a team." in text_of(undone.text)
    assert people(undone.text)["ann"] == "Can view the form"


async def test_teams_that_the_viewer_is_not_in_have_no_name(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    wash = await create_team(team, "manager", "ann", name="Hidden")
    await share_with_team(team, uid, "Hidden", "view_asset", by="manager")
    client = await browser(team, "owner")
    pages = [
        (await client.get(page_path(uid) + rest)).text
        for rest in ("", f"?remove=team:{wash}", "?remove=ann")
    ]
    assert people(pages[0])["A team that you are not in"] == "Can view the form"
    assert "through a team that you are not in" in text_of(pages[0])
    assert "so you cannot share with it again" in text_of(pages[1])
    assert "A team that you are not in keeps its access, ann does not" in text_of(pages[2])
    done = await client.submit_and_follow(page_path(uid), "remove", {"user": f"team:{wash}"})
    assert "Removed a team that you are not in from “Visit”." in text_of(done.text)
    assert "form=restore" not in done.text
    assert "Hidden" not in "".join([*pages, done.text])
    # Who only views the asset sees own teams.
    assert list(people((await (await browser(team, "viewer")).get(page_path(uid))).text)) == [
        "owner",
        "viewer",
    ]


async def test_members_that_are_too_many_are_not_listed(
    team: SharingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid, _ = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await share_with_team(team, uid, "WASH", "view_asset")
    client = await browser(team, "owner")
    monkeypatch.setattr(grants, "MAX_WITH_MEMBERS", 1)
    page = text_of((await client.get(page_path(uid))).text)
    assert "Owned by you. Share" in page
    assert (
        "People with access through a team only are not listed here, because they are too many."
        in page
    )
    assert "Team of 3 people ann bob owner" in page


async def test_copied_and_uploaded_changes_name_teams(team: SharingTeam) -> None:
    uid, other, _ = (
        await team.create_asset(),
        await team.create_asset(),
        await create_team(team, "owner", "ann"),
    )
    await share_with_team(team, other, "WASH", "view_asset")
    client = await browser(team, "owner")
    table = {"table": "user,permission\nteam:WASH,view_asset", "mode": "add"}
    for form, fields in (("copy", {"source": other}), ("upload", table)):
        preview = text_of((await client.submit(page_path(uid), form, fields)).text)
        assert "What will change WASH + Gets: View form – chosen" in preview
        done = await client.submit_and_follow(page_path(uid), form, {**fields, "do": form})
        assert set(people(done.text)) == {"owner", "WASH", "ann"}
        undone = await client.submit_and_follow(page_path(uid), *notice_fields(done.text))
        assert set(people(undone.text)) == {"owner"}


async def test_leave(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "viewer")
    page = (await client.get(page_path(uid))).text
    assert "Leave this form" in page
    assert "Leave “Visit”?" in text_of((await client.get(f"{page_path(uid)}?leave=1")).text)
    assert await team.permissions_of(uid, "viewer")
    answer = await client.submit(page_path(uid), "leave")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/api/v2/assets/")
    assert "You left “Visit”." in text_of((await client.get("/api/v2/assets/")).text)
    assert await team.permissions_of(uid, "viewer") == set()
    assert (await client.get(page_path(uid))).status_code == 404


async def test_who_may_not_manage_sees_no_buttons(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await team.grant(uid, PUBLIC, "view_asset")
    for name in ("viewer", "editor", "stranger", ""):
        client = await browser(team, name) if name else PageClient(team.service)
        page = (await client.get(page_path(uid))).text
        assert set(people(page)) <= {"owner", name, "Everyone"}
        for form in ("share", "change", "remove", "copy", "upload", "leave"):
            assert f"form={form}" not in page
        assert "Remove" not in text_of(page)
        assert ("Leave this form" in page) is (name in ("viewer", "editor"))
        if name:
            for form, fields in (
                ("share", {"user": "ann", "permissions": "view_asset", "do": "share"}),
                ("change", {"user": "viewer", "permissions": "manage_asset", "do": "share"}),
                ("remove", {"user": "manager"}),
                ("restore", {"user": "ann", "permissions": "manage_asset"}),
                ("restore_all", {"assignments": "[]"}),
                ("upload", {"table": "user,permission\nann,view_asset", "do": "upload"}),
            ):
                assert (await client.submit(page_path(uid), form, fields)).status_code == 400, form
    assert await team.permissions_of(uid, "ann") == set()
    assert "manage_asset" in await team.permissions_of(uid, "manager")


async def test_copy_from_another_form(team: SharingTeam) -> None:
    uid, other = await team.create_shared_asset(), await team.create_asset()
    foreign = await team.create_asset(owner="stranger")
    await rename(team, other, "Clinics")
    await rename(team, foreign, "Secret")
    await team.grant(other, "ann", "change_asset")
    client = await browser(team, "owner")
    page = (await client.get(page_path(uid))).text
    assert f'<option value="{other}">\u2068Clinics\u2069 · \u2068owner\u2069 · ' in page
    assert "Secret" not in page
    found = (await client.get(f'{page_path(uid)}?copy_search=cli"nics')).text
    assert "You manage nothing else with this name." in text_of(found)
    assert "Clinics" in (await client.get(f"{page_path(uid)}?copy_search=clin")).text
    before = await team.snapshot(uid)
    preview = await client.submit(page_path(uid), "copy", {"source": other})
    text = text_of(preview.text)
    assert "What will change ann + Gets: Edit form – chosen" in text
    assert "− Loses: Edit form – not included" in text
    assert await team.snapshot(uid) == before
    done = await client.submit_and_follow(page_path(uid), "copy", {"source": other, "do": "copy"})
    assert set(people(done.text)) == {"owner", "ann"}
    name, undo = notice_fields(done.text)
    undone = await client.submit_and_follow(page_path(uid), name, undo)
    assert set(people(undone.text)) == {"owner", "manager", "editor", "viewer"}
    history = text_of((await client.get(f"{page_path(uid)}history/")).text)
    assert "owner gave ann “Edit form”. Copied from “Clinics”." in history
    for source in ("", uid, foreign, "none"):
        assert (await client.submit(page_path(uid), "copy", {"source": source})).status_code == 400


async def test_table_in_and_out(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "owner")
    table = "user,permission\nann,view_asset\nnobody,view_asset\nbob,fly\n"
    files = [("file", ("team.csv", table.encode()))]
    answer = await client.submit(page_path(uid), "upload", {"mode": "add", "table": ""}, files)
    assert answer.status_code == 400
    text = text_of(answer.text)
    assert "3 user There is no user nobody." in text
    assert "4 permission There is no permission fly." in text
    assert "2 problems." in text
    assert table in unescape(answer.text)
    fixed = "user,permission\nann,change_asset\n"
    preview = await client.submit(page_path(uid), "upload", {"mode": "add", "table": fixed})
    assert preview.status_code == 200
    assert "ann + Gets: Edit form – chosen" in text_of(preview.text)
    assert await team.permissions_of(uid, "ann") == set()
    done = await client.submit_and_follow(
        page_path(uid), "upload", {"mode": "replace", "table": fixed, "do": "upload"}
    )
    assert set(people(done.text)) == {"owner", "ann"}
    name, undo = notice_fields(done.text)
    undone = await client.submit_and_follow(page_path(uid), name, undo)
    assert "ann" not in people(undone.text)
    for sent, file in (({"mode": "add"}, None), ({}, [("file", ("x.csv", b"\xff\xfe"))])):
        assert (await client.submit(page_path(uid), "upload", sent, file)).status_code == 400


async def test_history_in_words(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "owner")
    assert "Nobody changed anything yet" in text_of(
        (await client.get(f"{page_path(await team.create_asset())}history/")).text
    )
    await team.grant(uid, "ann", "change_asset")
    await client.submit(page_path(uid), "remove", {"user": "ann"})
    await (await browser(team, "viewer")).submit(page_path(uid), "leave")
    page = (await client.get(f"{page_path(uid)}history/")).text
    text = text_of(page)
    shown = page.split('<ol class="history">')[1].count("<time")
    assert f"{shown} changes, the newest first." in text, (
        "what one person did at a time is one change"
    )
    part = text_of((await client.get(f"{page_path(uid)}history/?limit=2")).text)
    assert "The newest changes first." in part
    for sentence in (
        "boss gave viewer “View form”.",
        "owner gave ann “Edit form”.",
        "owner removed ann.",
        "viewer left.",
        "View form – needed by “Edit form”",
    ):
        assert sentence in text


async def test_explanation_in_words(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    client = await browser(team, "owner")
    partial = [{"url": "view_submissions", "filters": [{"team": "north"}]}]
    await team.grant(uid, "ann", "partial_submissions", partial_permissions=partial)
    path = f"{page_path(uid)}explain/?user=ann&permission=view_submissions"
    text = text_of((await client.get(path)).text)
    assert "What ann can do with “Visit”, and why" in text
    assert (
        "◐ Partly allowed : View submissions" in text
        or "◐ Partly allowed: View submissions" in text
    )
    assert "only submissions where team is “north”" in text
    assert (
        "Give “View submissions”. This takes away “Act on submissions only from specific users”."
        in text
    )
    assert (
        "View form ✓ Yes Comes with “Act on submissions only from specific users”, which is given here."
        in text
    )
    for codename in ("view_submissions", "partial_submissions", "manage_asset", "http://"):
        assert codename not in text


XSS = "<img src=x onerror=alert(1)>\"'&{{1337*1337}}"


async def test_names_and_filters_are_escaped(team: SharingTeam) -> None:
    name = await team.add_user('<b onclick="x">eve')
    uid = await team.create_shared_asset()
    await rename(team, uid, XSS)
    partial = [{"url": "view_submissions", "filters": [{XSS: XSS}, {"$where": XSS}]}]
    await team.grant(uid, name, "partial_submissions", partial_permissions=partial)
    client = await browser(team, "owner")
    pages = [
        (await client.get(path)).text
        for path in (
            page_path(uid),
            f"{page_path(uid)}?change=%3Cb+onclick%3D%22x%22%3Eeve&copy_search=%3Cimg&remove=%3Cb+onclick%3D%22x%22%3Eeve",
            f"{page_path(uid)}history/",
            f"{page_path(uid)}explain/?user=%3Cb+onclick%3D%22x%22%3Eeve&permission=view_submissions",
        )
    ]
    fields = {"user": XSS, "permissions": [XSS, "view_asset"], "partial_people": XSS}
    pages.append((await client.submit(page_path(uid), "share", fields)).text)
    table = f"user,permission\n{XSS},{XSS}\n</textarea><script>"
    pages.append((await client.submit(page_path(uid), "upload", {"table": table})).text)
    pages.append((await client.submit_and_follow(page_path(uid), "remove", {"user": name})).text)
    for page in pages:
        assert "<img src=x" not in page
        assert "<b onclick" not in page
        assert "<script>" not in page
        assert "1787569" not in visible_text(page)
        assert "style=" not in page
