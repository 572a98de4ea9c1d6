"""PATCH `…/permission-assignments/bulk/`: replace all permissions of one user."""

from typing import Any

from tests.assets.sharing.sharing_team import SharingTeam, last_segment

FILTERS = [{"url": "view_submissions", "filters": [{}]}]


async def replace(team: SharingTeam, uid: str, by: str = "owner", query: str = "", **body: Any) -> tuple[int, Any]:
    answer = await team.request_assignments(uid, by, "PATCH", f"bulk/{query}", json=body)
    return answer.status_code, answer.json()


async def test_replaces_the_permissions_of_one_user(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    others = await team.permissions_of(uid, "viewer")
    status, record = await replace(team, uid, user="editor", permissions=["view_submissions"])
    assert status == 200
    assert record["dry_run"] is False
    assert [(each["label"], each["effect"], each["why"]) for each in record["effects"]] == [
        ("View submissions", "granted", "chosen"),
        ("Edit form", "removed", "not included"),
    ]
    assert await team.permissions_of(uid, "editor") == {"view_asset", "view_submissions"}
    assert await team.permissions_of(uid, "viewer") == others
    entry = (await team.history(uid))[0]
    assert (entry["act"], entry["label"]) == ("replace", "Edit form")


async def test_partial_permissions(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    partials = [{"url": "change_submissions", "filters": [{"team": "north"}]}]
    status, _ = await replace(team, uid, user="ann", permissions=["partial_submissions"], partial_permissions=partials)
    assert status == 200
    assert await team.permissions_of(uid, "ann") == {"add_submissions", "partial_submissions", "view_asset"}
    assert (await replace(team, uid, user="ann", permissions=[]))[0] == 200
    assert await team.permissions_of(uid, "ann") == set()


async def test_inherited_assignments_are_marked(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    await team.grant(collection, "ann", "change_asset")
    uid = await team.create_asset(parent=collection)
    await team.grant(uid, "ann", "view_submissions")
    marked = {
        (last_segment(row["permission"]), row.get("inherited"))
        for row in await team.list_assignments(uid)
        if row["user"].endswith("/ann/")
    }
    assert marked == {
        ("view_asset", True),
        ("change_asset", True),
        ("view_asset", None),
        ("view_submissions", None),
    }
    status, record = await replace(team, uid, user="ann", permissions=["view_submissions"])
    assert status == 200
    assert [(each["label"], each["effect"], each["why"]) for each in record["effects"]] == [
        ("Edit form", "denied", "no longer comes from the collection or a team")
    ]
