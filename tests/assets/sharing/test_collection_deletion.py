"""A collection takes with it only what its owner owns, on SQLite and PostgreSQL."""

import pytest

from tests.assets.sharing.sharing_team import SharingTeam

LIST = "/api/v2/assets/"


async def found(team: SharingTeam, by: str, uid: str) -> bool:
    return (await team.request(by, "GET", f"{LIST}{uid}/")).status_code == 200


@pytest.mark.parametrize("by", ["owner", "boss"])
async def test_assets_of_others_leave_a_deleted_collection(team: SharingTeam, by: str) -> None:
    collection = await team.create_shared_asset("collection")
    own = await team.create_asset(parent=collection)
    of_editor = await team.create_asset(owner="editor", parent=collection)
    of_boss = await team.create_asset("block", owner="boss", parent=collection)
    await team.grant(of_editor, "ann", "view_asset", by="editor")
    listed = await team.request("editor", "GET", LIST)

    path = f"{LIST}{collection}/"
    preview = await team.request(by, "DELETE", path, params={"dry_run": "true"})
    assert preview.status_code == 200
    assert (preview.json()["dry_run"], preview.json()["deleted"]) == (True, 2)
    assert [
        (each["uid"], each["name"], each["owner__username"]) for each in preview.json()["kept"]
    ] == [
        (of_editor, "Visit", "editor"),
        (of_boss, "Visit", "boss"),
    ]
    assert await found(team, "owner", collection)

    deleted = await team.request(by, "DELETE", path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert not await found(team, "boss", collection)
    assert not await found(team, "boss", own), (
        "what the owner of the collection owns is deleted with it"
    )
    kept = await team.request("editor", "GET", f"{LIST}{of_editor}/")
    assert kept.status_code == 200, "what others own stays"
    assert kept.json()["parent"] is None
    assert await found(team, "boss", of_boss)
    assert deleted.headers["Fieldgate-Kept"] == f"{of_editor}, {of_boss}"

    # What the collection passed down ends, what was assigned on the asset stays.
    for name in ("owner", "manager", "viewer"):
        assert not await found(team, name, of_editor)
        assert await team.permissions_of(of_editor, name) == set()
    assert await found(team, "ann", of_editor)
    assert kept.json()["status"] == "shared"
    after = await team.request(
        "editor", "GET", LIST, headers={"If-None-Match": listed.headers["ETag"]}
    )
    assert [each["uid"] for each in after.json()["results"]] == [of_editor]
    assert (await team.request("editor", "DELETE", f"{LIST}{of_editor}/")).status_code == 204


async def test_assets_that_are_hidden_from_the_caller_are_not_named(team: SharingTeam) -> None:
    collection = await team.create_shared_asset("collection")
    hidden = await team.create_asset(owner="editor", parent=collection)
    answer = await team.request_assignments(
        hidden, "editor", "DELETE", "bulk/", json={"username": "owner"}
    )
    assert answer.status_code == 204, answer.text
    preview = await team.request(
        "owner", "DELETE", f"{LIST}{collection}/", params={"dry_run": "true"}
    )
    assert (preview.json()["deleted"], preview.json()["kept"]) == (1, [])
    deleted = await team.request("owner", "DELETE", f"{LIST}{collection}/")
    assert (deleted.status_code, deleted.headers.get("Fieldgate-Kept")) == (204, None)
    assert await found(team, "editor", hidden)


async def test_only_those_who_may_delete_get_a_preview(team: SharingTeam) -> None:
    collection = await team.create_shared_asset("collection")
    for name, status in (("", 401), ("stranger", 404), ("manager", 403)):
        answer = await team.request(name, "DELETE", f"{LIST}{collection}/", params={"dry_run": ""})
        assert answer.status_code == status
