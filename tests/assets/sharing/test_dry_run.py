"""A dry run returns the effects of the run, and writes nothing."""

import random
from typing import Any

import pytest

from tests.assets.sharing.sharing_team import BATCH_PATH, PUBLIC, SharingTeam, last_segment
from tests.conftest import nightly_only

PERMISSIONS = ("view_asset", "change_asset", "manage_asset", "add_submissions", "view_submissions",
               "change_submissions", "delete_submissions", "validate_submissions", "partial_submissions")  # fmt: skip
FOR_THE_PUBLIC = ("view_asset", "add_submissions", "view_submissions")
KEYS = ("user", "permission", "effect", "reason", "because", "message", "partial_permissions")


def random_request(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(("ann", "bob", "viewer", "editor", PUBLIC))
    permission = rng.choice(FOR_THE_PUBLIC if name == PUBLIC else PERMISSIONS)
    new: dict[str, Any] = {"user": name, "permission": permission}
    if permission == "partial_submissions":
        verb = rng.choice(("add", "view", "change", "delete", "validate"))
        filters = [{"n": rng.choice((0, 1, True, 1.0, "1"))} for _ in range(rng.randrange(1, 3))]
        new["partial_permissions"] = [{"url": f"{verb}_submissions", "filters": filters}]
    return new


def is_filtering(effect: dict[str, Any]) -> bool:
    return last_segment(effect["permission"]) == "partial_submissions" and effect["effect"] in (
        "granted",
        "filtered",
    )


async def random_write(
    team: SharingTeam, uid: str, other: str, rng: random.Random
) -> tuple[str, str, dict[str, Any]]:
    """Return method, path and body of a random write."""
    base = f"/api/v2/assets/{uid}/permission-assignments/"
    kind = rng.choice(
        (
            "assign",
            "assign",
            "assign",
            "delete",
            "clear",
            "replace",
            "clone",
            "add",
            "remove",
            "csv",
        )
    )
    new = random_request(rng)
    rows = [
        row
        for row in await team.list_assignments(uid, "boss")
        if last_segment(row["user"]) != "owner"
    ]
    if kind == "delete" and rows:
        return "DELETE", base + last_segment(rng.choice(rows)["url"]) + "/", {}
    if kind == "clear":
        return "DELETE", base + "bulk/", {"json": {"username": new["user"]}}
    if kind == "replace":
        return (
            "POST",
            base + "bulk/",
            {"json": [random_request(rng) for _ in range(rng.randrange(4))]},
        )
    if kind == "clone":
        return "PATCH", base + "clone/", {"json": {"clone_from": other}}
    if kind in ("add", "remove"):
        many = {
            "assets": [uid],
            "users": [new.pop("user"), "ann"],
            "permissions": [new.pop("permission")],
            **new,
        }
        if PUBLIC in many["users"] and kind == "add":
            many["permissions"] = ["view_asset"]
        return "POST", f"{BATCH_PATH}{kind}/", {"json": many}
    if kind == "csv":
        text = f"user,permission\n{new['user']},view_asset\nbob,add_submissions\n"
        return (
            "POST",
            base + "csv/",
            {"json": {"text": text, "mode": rng.choice(("add", "remove", "replace"))}},
        )
    return "POST", base, {"json": new}


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2)])
async def test_dry_run_matches_run(team: SharingTeam, seed: int) -> None:
    rng = random.Random(seed)
    collection = await team.create_asset("collection")
    for name, permission in (("ann", "change_asset"), ("viewer", "view_asset")):
        await team.grant(collection, name, permission)
    uid, other = (
        await team.create_shared_asset(parent=collection),
        await team.create_shared_asset(extra_grants={"bob": "view_submissions"}),
    )
    done = 0
    while done < 15:
        method, path, body = await random_write(team, uid, other, rng)
        before = await team.snapshot(uid)
        reported = await team.request(
            "manager" if rng.random() < 0.2 else "boss", method, f"{path}?dry_run=true", **body
        )
        assert await team.snapshot(uid) == before
        ran = await team.request("boss", method, path, **body)
        if ran.status_code >= 400:
            assert reported.status_code in (ran.status_code, 403, 404)
            assert await team.snapshot(uid) == before
            continue
        done += 1
        if reported.status_code >= 400:  # the manager may be none by now
            continue
        dry = reported.json()
        assert (reported.status_code, dry["dry_run"]) == (200, True), reported.text
        new = (await team.history(uid))[: len(await team.history(uid)) - before[1]][::-1]
        assert [[effect.get(key) for key in KEYS] for effect in dry["effects"]] == [
            [row.get(key) for key in KEYS] for row in new
        ]
        assert sum(dry["counts"].values()) == len(new)
        assert {
            effect["user"]: effect["partial_permissions"]
            for effect in dry["effects"]
            if is_filtering(effect)
        } == {
            row["user"]: row["partial_permissions"]
            for row in await team.list_assignments(uid, "boss")
            if "partial_permissions" in row
            and row["user"] in {each["user"] for each in filter(is_filtering, new)}
        }
        for result in dry["result"]:
            assert await team.permissions_of(uid, last_segment(result["user"])) == {
                last_segment(each) for each in result["permissions"]
            }
        if isinstance(ran.json() if ran.content else None, dict) and "effects" in ran.json():
            assert ran.json() == {**dry, "dry_run": False}


async def test_batch_add_and_remove(team: SharingTeam) -> None:
    uids = [await team.create_asset() for _ in range(3)]
    body: dict[str, Any] = {
        "assets": [uids[0], f"/api/v2/assets/{uids[1]}/", uids[2], uids[0]],
        "users": ["ann", "bob", "BOB", PUBLIC],
        "permissions": ["view_submissions", "add_submissions"],
    }
    answer = await team.request("owner", "POST", f"{BATCH_PATH}add/", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["counts"] == {"granted": 27}
    assert len(answer.json()["result"]) == 9
    for uid in uids:
        for name in ("ann", "bob", PUBLIC):
            assert await team.permissions_of(uid, name) == {
                "view_asset",
                "view_submissions",
                "add_submissions",
            }
    again = (await team.request("owner", "POST", f"{BATCH_PATH}add/", json=body)).json()
    assert (again["counts"], again["effects"]) == ({}, [])
    answer = await team.request(
        "owner",
        "POST",
        f"{BATCH_PATH}remove/",
        json={**body, "users": ["ann"], "permissions": ["view_asset"]},
    )
    assert answer.json()["counts"] == {"removed": 6}
    assert await team.permissions_of(uids[1], "ann") == {"add_submissions"}
    partial = [{"url": "view_submissions", "filters": [{"a": 1}]}]
    body = {
        **body,
        "permissions": ["partial_submissions"],
        "users": ["bob"],
        "partial_permissions": partial,
    }
    assert (await team.request("owner", "POST", f"{BATCH_PATH}add/", json=body)).status_code == 200
    assert await team.permissions_of(uids[2], "bob") == {
        "view_asset",
        "add_submissions",
        "partial_submissions",
    }


NOT_HERE = "A dry run is not possible here; nothing was done."
IN_QUERY = "Send dry_run in the query, as ?dry_run=true."


async def writes(team: SharingTeam, uid: str) -> list[tuple[str, str, dict[str, Any]]]:
    base = f"/api/v2/assets/{uid}/permission-assignments/"
    new = {"user": "bob", "permission": "view_asset"}
    many = {"assets": [uid], "users": ["viewer"], "permissions": ["view_asset"]}
    return [
        ("POST", base, new),
        ("DELETE", base + await team.assignment_uid(uid, "viewer", "view_asset") + "/", {}),
        ("DELETE", base + "bulk/", {"username": "viewer"}),
        ("PATCH", base + "clone/", {"clone_from": await team.create_asset()}),
        ("POST", f"{BATCH_PATH}add/", {**many, "users": ["bob"]}),
        ("POST", f"{BATCH_PATH}remove/", many),
        ("POST", base + "csv/", {"text": "user,permission\nbob,view_asset\n"}),
    ]


async def test_dry_run_without_value(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for method, path, body in await writes(team, uid):
        for query in ("?dry_run", "?dry_run=", "?dry_run=1", "?format=json&dry_run"):
            answer = await team.request("owner", method, path + query, json=body)
            assert (answer.status_code, answer.json()["dry_run"]) == (200, True), (path, query)
        for name in ("dryrun", "dry-run", "DRY_RUN", "dryRun"):
            answer = await team.request("owner", method, f"{path}?{name}=true", json=body)
            reported = {name: ["This parameter is named dry_run: send ?dry_run=true."]}
            assert (answer.status_code, answer.json()) == (400, reported), (path, name)
    answer = await team.request_assignments(uid, "owner", "POST", "bulk/?dry_run", json=[])
    assert (answer.status_code, answer.json()["dry_run"]) == (200, True)
    assert await team.snapshot(uid) == before


async def test_dry_run_that_is_sent_twice_is_rejected(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    for query in ("dry_run=true&dry_run=false", "dry_run&dry%5Frun=0"):
        answer = await team.request("owner", "DELETE", f"/api/v2/assets/{uid}/?{query}")
        assert (answer.status_code, answer.json()) == (400, {"dry_run": [IN_QUERY]})


async def test_dry_run_in_body_is_rejected(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for method, path, body in await writes(team, uid):
        for value in (True, "true", 1, "", "yes"):
            answer = await team.request("owner", method, path, json={**body, "dry_run": value})
            assert (answer.status_code, answer.json()) == (400, {"dry_run": [IN_QUERY]}), (
                path,
                value,
            )
    new = {"user": "bob", "permission": "view_asset", "dry_run": "true"}
    for sent in ({"data": new}, {"files": {name: (None, value) for name, value in new.items()}}):
        assert (await team.request_assignments(uid, "owner", "POST", **sent)).json() == {
            "dry_run": [IN_QUERY]
        }
    assert (await team.request_assignments(uid, "owner", "POST", "bulk/", json=[new])).json() == {
        "dry_run": [IN_QUERY]
    }
    assert await team.snapshot(uid) == before
    for no in (False, None, "false"):
        assert await team.status(uid, "owner", "POST", json={**new, "dry_run": no}) == 201


@pytest.mark.parametrize("query", ["dry_run=true", "dry_run", "dryrun=1"])
async def test_dry_run_of_unsupported_operation_is_rejected(team: SharingTeam, query: str) -> None:
    uid = await team.create_asset()
    name = query.split("=")[0]
    for method, path, body in (
        ("PATCH", f"/api/v2/assets/{uid}/", {"name": "Other"}),
        ("POST", "/api/v2/assets/", {"name": "Visit"}),
        ("PUT", "/api/v2/event/7/", {"name": "Flood"}),
        ("DELETE", "/api/v2/event/7/", None),
    ):
        answer = await team.request("boss", method, f"{path}?{query}", json=body)
        assert (answer.status_code, answer.json()) == (400, {name: [NOT_HERE]}), path
    answer = await team.request(
        "owner", "PATCH", f"/api/v2/assets/{uid}/", json={"name": "Other", name: True}
    )
    assert answer.json() == {name: [NOT_HERE]}
    assert (await team.request("owner", "GET", f"/api/v2/assets/{uid}/?{query}")).json()[
        "name"
    ] == "Visit"
    gone = await team.request(
        "owner", "DELETE", f"/api/v2/assets/{uid}/?dry_run=false", content=b"{"
    )
    assert gone.status_code == 204
