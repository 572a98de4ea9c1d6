"""`expires_at` in every way to assign, and in everything that is shown about it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assignments
from fieldgate.db import now
from fieldgate.db.log import log
from tests.assets.sharing.sharing_team import (
    BATCH_PATH,
    PUBLIC,
    SharingTeam,
    last_segment,
    user_url,
)
from tests.data.sql import read_sql, write_sql

END = "2099-12-31T23:59:59Z"
LATER = "2100-06-30T12:00:00Z"
BOTH = {"change_asset", "view_asset"}


async def ends(team: SharingTeam, uid: str, name: str = "ann") -> dict[str, str | None]:
    """The permissions of a user as listed, with their ends."""
    rows = [
        row for row in await team.list_assignments(uid, "boss") if row["user"] == user_url(name)
    ]
    assert all(row.get("expires_at", END) is not None for row in rows), (
        "the key is there only if it is set"
    )
    return {last_segment(row["permission"]): row.get("expires_at") for row in rows}


async def end_now(team: SharingTeam) -> None:
    with write_sql(team.service) as connection:
        has_end = assignments.c.expires_at.is_not(None)
        connection.execute(
            assignments.update().where(has_end).values(expires_at=now() - timedelta(seconds=1))
        )


async def write(
    team: SharingTeam, uid: str, way: str, permission: str, **more: Any
) -> dict[str, Any]:
    """Give ann a permission in one of the ways; return the response to a dry run before."""
    one = {"user": "ann", "permission": permission, **more}
    many = {"assets": [uid], "users": ["ann"], "permissions": [permission], **more}
    cell = "" if more.get("expires_at") is None else more["expires_at"]
    columns, line = ("user,permission,expires_at", f"ann,{permission},{cell}")
    if not more:
        columns, line = "user,permission", f"ann,{permission}"
    path = f"/api/v2/assets/{uid}/permission-assignments/"
    method, url, body = {
        "single": ("POST", path, one),
        "bulk": ("POST", f"{path}bulk/", [one]),
        "user": ("PATCH", f"{path}bulk/", {"user": "ann", "permissions": [permission], **more}),
        "batch": ("POST", f"{BATCH_PATH}add/", many),
        "csv": ("POST", f"{path}csv/", {"text": f"{columns}\n{line}\n"}),
    }[way]
    preview = await team.request("owner", method, f"{url}?dry_run", json=body)
    assert preview.status_code == 200, preview.text
    answer = await team.request("owner", method, url, json=body)
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = preview.json()
    return found


WAYS = ("single", "bulk", "user", "batch", "csv")


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_assign_sets_and_removes_ends(team: SharingTeam, way: str) -> None:
    uid = await team.create_asset()
    preview = await write(team, uid, way, "change_asset", expires_at="2099-12-31")
    assert [(each["effect"], each["expires_at"]) for each in preview["effects"]] == [
        ("granted", END)
    ] * 2
    assert await ends(team, uid) == dict.fromkeys(BOTH, END)
    rows = await team.list_assignments(uid)

    await write(team, uid, way, "change_asset")
    assert await team.list_assignments(uid) == rows, "an end that is not named stays as it is"

    preview = await write(team, uid, way, "change_asset", expires_at="2100-06-30T14:00:00+02:00")
    assert preview["counts"] == {"ends": 2}
    assert {
        (last_segment(each["permission"]), each["reason"], each["expires_at"])
        for each in preview["effects"]
    } == {
        ("change_asset", "asked", LATER),
        ("view_asset", "implied", LATER),
    }
    assert await ends(team, uid) == dict.fromkeys(BOTH, LATER)
    assert [row["url"] for row in await team.list_assignments(uid)] == [
        row["url"] for row in rows
    ], "the same rows"

    preview = await write(team, uid, way, "change_asset", expires_at=None)
    assert [each["expires_at"] for each in preview["effects"]] == [None, None]
    assert await ends(team, uid) == dict.fromkeys(BOTH)


async def test_bulk_takes_an_end_for_each_entry_and_the_later_of_two(team: SharingTeam) -> None:
    uid = await team.create_asset()
    given = [
        ("view_asset", LATER),
        ("change_asset", END),
        ("view_submissions", END),
        ("view_submissions", None),
    ]
    body = [{"user": "ann", "permission": each, "expires_at": end} for each, end in given]
    assert await team.status(uid, "owner", "POST", "bulk/", json=body) == 200
    assert await ends(team, uid) == {
        "view_asset": None,
        "change_asset": END,
        "view_submissions": None,
    }


@pytest.mark.parametrize(
    "given", ["2020-01-01", "2026-02-30", "tomorrow", "0001-01-01T00:00:00+14:00", 5, [], "\0"]
)
@pytest.mark.parametrize("way", ["single", "batch", "csv"])
async def test_invalid_ends_change_nothing(team: SharingTeam, given: Any, way: str) -> None:
    uid = await team.create_asset()
    one = {"user": "ann", "permission": "view_asset", "expires_at": given}
    many = {"assets": [uid], "users": ["ann"], "permissions": ["view_asset"], "expires_at": given}
    path = f"/api/v2/assets/{uid}/permission-assignments/"
    url, body, field = {
        "single": (path, one, "expires_at"),
        "batch": (f"{BATCH_PATH}add/", many, "expires_at"),
        "csv": (
            f"{path}csv/",
            {"text": f"user,permission,expires_at\nann,view_asset,{given}"},
            "line 2.expires_at",
        ),
    }[way]
    answer = await team.request("owner", "POST", url, json=body, headers={"Accept-Language": "en"})
    assert answer.status_code == 400
    assert field in answer.json() or given == "\0"
    if given == "2020-01-01":
        assert answer.json() == {field: ["This time is in the past. Choose a later one."]}
    assert await ends(team, uid) == {}


async def test_csv_round_trip_with_ends(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "bob", "view_asset")
    before = (await team.request_assignments(uid, "owner", "GET", "csv/")).text
    assert before.splitlines()[0].endswith("user,permission,filters"), (
        "without ends, the table is as it was"
    )
    await team.grant(uid, "ann", "change_asset", expires_at=END)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).text
    assert table.splitlines()[1:] == [
        f"ann,change_asset,,{END}",
        f"ann,view_asset,,{END}",
        "bob,view_asset,,",
    ]
    preview = await team.request_assignments(
        uid, "owner", "POST", "csv/?dry_run&mode=replace", json={"text": table}
    )
    assert preview.json()["effects"] == []


async def test_clone_copies_ends(team: SharingTeam) -> None:
    source, target = await team.create_asset(), await team.create_asset()
    await team.grant(source, "ann", "change_asset", expires_at=END)
    await team.grant(target, "ann", "view_asset", expires_at=LATER)
    assert await team.status(target, "owner", "PATCH", "clone/", json={"clone_from": source}) == 200
    assert await ends(team, target) == dict.fromkeys(BOTH, END)


async def test_what_has_ended_can_be_given_again_or_denied(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    uid = await team.create_asset(parent=collection)
    await team.grant(uid, "ann", "change_asset", expires_at=END)
    await end_now(team)
    assert await ends(team, uid) == {}
    assert await team.status(uid, "ann", "GET") == 404
    await team.grant(uid, "ann", "view_asset")
    assert await ends(team, uid) == {"view_asset": None}
    await team.grant(collection, "bob", "view_asset")
    await team.grant(uid, "bob", "change_asset", expires_at=END)
    await end_now(team)
    inherited = await team.assignment_uid(uid, "bob", "view_asset")
    assert await team.status(uid, "owner", "DELETE", f"{inherited}/") == 204
    assert await ends(team, uid, "bob") == {}


@pytest.mark.parametrize("is_denied", [False, True])
@pytest.mark.parametrize("way", ["", "bulk/"])
async def test_collection_that_would_outlast_an_end_is_an_error(
    team: SharingTeam, way: str, is_denied: bool
) -> None:
    """A grant that ends would lift a denial for good, or nothing would end."""
    collection = await team.create_asset("collection")
    uid = await team.create_asset(parent=collection)
    await team.grant(collection, "ann", "view_asset")
    if is_denied:
        assert await team.status(uid, "owner", "DELETE", "bulk/", json={"username": "ann"}) == 204
    before = await ends(team, uid)
    for permission in ("view_asset", "change_asset"):
        body = {"user": "ann", "permission": permission, "expires_at": END}
        answer = await team.request_assignments(
            uid, "owner", "POST", way, json=[body] if way else body
        )
        if permission == "view_asset" or is_denied:
            assert answer.status_code == 400, answer.text
            assert "the collection or a team passes view_asset on" in answer.text
            assert await ends(team, uid) == before


async def test_manager_whose_access_ends_gives_nothing_that_lasts_longer(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "bob", "manage_asset", expires_at=END)
    for name, permission, end in (
        ("bob", "manage_asset", None),
        ("ann", "view_asset", LATER),
        ("ann", "view_asset", None),
    ):
        body = {"user": name, "permission": permission, "expires_at": end}
        assert await team.status(uid, "bob", "POST", json=body) == 403
    assert (
        await team.status(uid, "bob", "POST", json={"user": "ann", "permission": "view_asset"})
        == 403
    )
    await team.grant(uid, "ann", "view_asset", by="bob", expires_at=END)
    assert (
        (await ends(team, uid))["view_asset"]
        == (await ends(team, uid, "bob"))["manage_asset"]
        == END
    )


async def test_what_a_cut_permission_implies_ends_with_it(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "change_submissions", expires_at=LATER)
    await team.grant(uid, "ann", "view_asset", expires_at=END)
    assert set((await ends(team, uid)).values()) == {END}


async def test_explanations_say_when_access_ends(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    uid = await team.create_asset(parent=collection)
    await team.grant(uid, "ann", "view_asset", expires_at=END)
    await team.grant(collection, "bob", "view_asset", expires_at=LATER)
    await team.grant(uid, PUBLIC, "view_submissions", expires_at=LATER)

    async def explain(name: str, permission: str) -> list[tuple[str, str | None]]:
        answer = await team.request_assignments(
            uid, "owner", "GET", f"explain/?user={name}&permission={permission}"
        )
        assert answer.json()["allowed"] == (answer.json()["rules"][0]["rule"] != "nothing")
        return [(rule["rule"], rule.get("expires_at")) for rule in answer.json()["rules"]]

    assert await explain("ann", "view_asset") == [("assigned", END), ("public", LATER)]
    assert await explain("bob", "view_asset") == [("collection", LATER), ("public", LATER)]
    assert await explain("viewer", "view_submissions") == [("public", LATER)]
    await end_now(team)
    for name in ("ann", "bob", "viewer"):
        assert await explain(name, "view_asset") == [("nothing", None)]


async def test_history_and_log_have_ends(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "change_asset", expires_at=END)
    await team.grant(uid, "ann", "change_asset", expires_at=None)
    await team.grant(uid, "ann", "change_asset", "manage_asset")
    effects = [
        (each["effect"], each["expires_at"])
        for each in await team.history(uid)
        if "expires_at" in each
    ]
    assert effects == [("ends", None)] * 2 + [("granted", END)] * 2
    with read_sql(team.service) as connection:
        changes = select(log.c.details).where(log.c.effect_count > 0).order_by(log.c.id)
        details = connection.execute(changes).scalars()
        found = [(each.get("ends_before"), each.get("ends_after")) for each in details]
    end = dict.fromkeys(sorted(BOTH), END)
    assert found == [(None, end), (end, None), (None, None)]


async def test_lists_of_assets_show_ends(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "view_asset", expires_at=END)
    [listed] = (await team.request("ann", "GET", "/api/v2/assets/")).json()["results"]
    detail = (await team.request("ann", "GET", f"/api/v2/assets/{uid}/")).json()
    for record in (listed, detail):
        assert {each.get("expires_at") for each in record["permissions"]} == {None, END}


async def test_an_end_that_passes_during_the_request_is_an_error(team: SharingTeam) -> None:
    """On a slow machine it may pass before. Either way nothing is acknowledged that does not exist."""
    uid = await team.create_asset()
    for after in range(0, 40, 2):
        end = (now() + timedelta(milliseconds=after)).isoformat()
        body = {"user": "ann", "permission": "view_asset", "expires_at": end}
        answer = await team.request_assignments(uid, "owner", "POST", json=body)
        assert answer.status_code in (201, 400), answer.text
        if answer.status_code == 201:
            assert datetime.fromisoformat(answer.json()["expires_at"]) == datetime.fromisoformat(
                end
            )
