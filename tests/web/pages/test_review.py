"""Who can use my forms: the table, the list, bulk removal after a preview, and what a user can use."""

import re
from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import pytest

from tests.assets.sharing.sharing_team import PUBLIC, SharingTeam
from tests.assets.sharing.test_teams import create_team, share
from tests.conftest import StartService
from tests.web.page_client import PageClient, visible_text

PATH = "/api/v2/permission-assignments/"


@pytest.fixture
async def team(start: StartService) -> AsyncIterator[SharingTeam]:
    async with start() as service:
        yield await SharingTeam.create(service)


async def browser(team: SharingTeam, name: str) -> PageClient:
    return await PageClient.logged_in(team.service, team.user_ids[name])


def cells(page: str) -> list[list[str]]:
    """The table: the text of each cell, without what is for screen readers only."""
    rows = re.findall(
        r"<tr>(.*?)</tr>", page.split('<table class="access">')[1].split("</table>")[0], re.DOTALL
    )
    shown = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[_plain(each) for each in row] for row in shown]


def _plain(cell: str) -> str:
    seen = re.sub(r'<span class="hidden">.*?</span>', "", cell)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", seen)).split())


async def test_people_down_and_forms_across(team: SharingTeam) -> None:
    first, second = await team.create_asset(), await team.create_asset()
    await team.request(
        "owner", "PATCH", f"/api/v2/assets/{second}/", json={"name": "<b>Water & points"}
    )
    await team.grant(first, "ann", "manage_asset")
    await team.grant(second, "ann", "view_submissions", expires_at="2099-12-31")
    await team.grant(second, "bob", "change_asset", "add_submissions")
    await team.grant(second, PUBLIC, "view_asset")
    client = await browser(team, "owner")
    page = (await client.get(PATH)).text
    header, *rows = cells(page)
    assert (
        header == ["Who", "Visit", "<b>Water & points", "Last seen"]
        or header[1] == "<b>Water & points"
    )
    found = {row[0]: dict(zip(header[1:3], row[1:3], strict=True)) for row in rows}
    assert found["ann"] == {"Visit": "★", "<b>Water & points": "▤ until Dec 31, 2099"}
    assert found["bob"]["Visit"] == ""
    assert set(found["bob"]["<b>Water & points"]) == {"✎", "+"}
    assert [row[0] for row in rows] == ["ann", "bob", "Everyone"]
    assert "<b>Water" not in page
    filtered = visible_text((await client.get(f"{PATH}?user=nobody")).text)
    assert "Nobody matches. Remove a filter." in filtered
    stranger = await browser(team, "stranger")
    nothing = visible_text((await stranger.get(PATH)).text)
    assert f'href="{PATH}"' in (await stranger.get("/api/v2/assets/")).text
    assert "Nobody else has access to your forms." in nothing


async def test_large_reviews_are_lists(team: SharingTeam) -> None:
    for _ in range(21):
        uid = await team.create_asset()
        await team.grant(uid, "ann", "view_asset")
    page = (await (await browser(team, "owner")).get(f"{PATH}?limit=5")).text
    assert '<table class="access">' not in page
    assert page.count('data-label="Permission"') == 5
    assert "21 permissions" in visible_text(page)


async def test_people_are_removed_from_several_forms_after_a_preview(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    inside, other = await team.create_asset(parent=collection), await team.create_asset()
    await team.grant(collection, "ann", "change_asset")
    await team.grant(other, "ann", "add_submissions")
    await team.grant(other, "bob", "manage_asset")
    client = await browser(team, "owner")
    fields: dict[str, Any] = {"users": ["ann", "bob"], "assets": [inside, other]}
    preview = await client.submit(PATH, "remove", fields)
    text = visible_text(preview.text)
    assert "What will change" in text
    assert "Loses: Add submissions" in text
    assert "no longer comes from the collection or a team" in text
    assert await team.permissions_of(other, "bob"), "nothing is removed by a preview"
    done = await client.submit_and_follow(PATH, "remove", {**fields, "do": "remove"})
    assert "The access was removed." in visible_text(done.text)
    for uid in (inside, other):
        for name in ("ann", "bob"):
            assert await team.permissions_of(uid, name) == set()
    assert await team.permissions_of(collection, "ann") == {"change_asset", "view_asset"}


@pytest.mark.parametrize(
    "fields",
    [{}, {"users": ["ann"]}, {"assets": ["x"]}, {"users": ["ann"], "assets": ["aForeign"]}],
)
async def test_nothing_is_removed_without_a_choice_or_from_foreign_forms(
    team: SharingTeam, fields: Any
) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "view_asset")
    given = {**fields, "assets": [uid]} if "aForeign" in fields.get("assets", ()) else fields
    client = await browser(team, "bob")
    answer = await client.submit(PATH, "remove", {**given, "do": "remove"})
    assert answer.status_code in (400, 404)
    assert await team.permissions_of(uid, "ann") == {"view_asset"}


async def test_page_of_a_user_says_what_disabling_ends(team: SharingTeam) -> None:
    for _ in range(2):
        uid = await team.create_asset()
        await team.grant(uid, "ann", "change_asset", expires_at="2099-12-31")
    client = await browser(team, "boss")
    text = visible_text((await client.get("/api/v2/users/ann/")).text)
    assert "What this person can use" in text
    assert text.count("Edit form · until Dec 31, 2099") == 2
    assert "Disabling ends the access to 2 forms or collections of other people." in text
    other = visible_text((await client.get("/api/v2/users/bob/")).text)
    assert "Nothing of other people is shared with this person." in other
    assert "Disabling ends" not in other
    assert "What this person can use" not in visible_text(
        (await (await browser(team, "bob")).get("/api/v2/users/ann/")).text
    )


async def test_teams_are_listed_among_people(team: SharingTeam) -> None:
    uid, wash = await team.create_asset(), await create_team(team, "owner", "ann", "bob")
    await create_team(team, "manager", name="Hidden")
    await team.grant(uid, "manager", "manage_asset")
    await share(team, uid, wash, "view_asset")
    await share(team, uid, "Hidden", "change_asset", by="manager")
    client = await browser(team, "owner")
    page = (await client.get(PATH)).text
    shown = [(row[0], row[1]) for row in cells(page)[1:]]
    assert shown == [("A team that you are not in", "✎"), ("WASH Team", "○"), ("manager", "★")]
    assert f'<a href="/api/v2/teams/{wash}/"><bdi>WASH</bdi></a>' in page
    assert "Hidden" not in page
    assert [row[0] for row in cells((await client.get(f"{PATH}?team=wash")).text)[1:]] == [
        "WASH Team"
    ]
    assert [row[:2] for row in cells((await client.get(f"{PATH}?user=ann")).text)[1:]] == [
        ["ann", "○"]
    ]
    fields: dict[str, Any] = {"users": [f"team:{wash}"], "assets": [uid]}
    preview = visible_text((await client.submit(PATH, "remove", fields)).text)
    assert "WASH · Visit − Loses: View form" in preview
    await client.submit_and_follow(PATH, "remove", {**fields, "do": "remove"})
    assert await team.permissions_of(uid, "ann") == set()
