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


REFUSED: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
    ({"user": "nobody", "permissions": []}, {"user": ["There is no user nobody."]}),
    (
        {"user": "owner", "permissions": []},
        {"user": ["The owner already has every permission; it cannot be assigned or removed."]},
    ),
    (
        {"user": "nobody", "permissions": ["x"]},
        {"permissions": ["There is no permission x."], "user": ["There is no user nobody."]},
    ),
    (
        {"user": "owner", "permissions": ["x", "view_asset"]},
        {"permissions": ["There is no permission x."]},
    ),
    (
        {"user": "ann", "permissions": ["view_submissions", "partial_submissions"], "partial_permissions": FILTERS},
        {"permissions": ["partial_submissions and view_submissions contradict each other: assign one of them."]},
    ),
    (
        {"user": "ann", "permissions": ["view_asset", "discover_asset"]},
        {"permissions": ["discover_asset cannot be assigned on an asset of this type."]},
    ),
    ({"user": "ann"}, {"permissions": ["This field is required."]}),
    (
        {"user": "ann", "permissions": ["view_asset"] * 101},
        {"permissions": ["Too many entries at once: the limit is 100."]},
    ),
]


async def test_refused(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for body, errors in REFUSED:
        assert await replace(team, uid, **body) == (400, errors)
    assert await team.snapshot(uid) == before


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
        ("Edit form", "denied", "no longer comes from the collection")
    ]
