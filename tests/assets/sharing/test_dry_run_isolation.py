"""A request for a dry run never writes, however it is spelled."""

from typing import Any

import pytest

from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam

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


async def test_dry_run_in_body_is_rejected(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    for method, path, body in await writes(team, uid):
        for value in (True, "true", 1, "", "yes"):
            answer = await team.request("owner", method, path, json={**body, "dry_run": value})
            assert (answer.status_code, answer.json()) == (400, {"dry_run": [IN_QUERY]}), (path, value)
    new = {"user": "bob", "permission": "view_asset", "dry_run": "true"}
    for sent in ({"data": new}, {"files": {name: (None, value) for name, value in new.items()}}):
        assert (await team.request_assignments(uid, "owner", "POST", **sent)).json() == {"dry_run": [IN_QUERY]}
    assert (await team.request_assignments(uid, "owner", "POST", "bulk/", json=[new])).json() == {"dry_run": [IN_QUERY]}
    assert await team.snapshot(uid) == before
    for no in (False, None, "false"):
        assert await team.status(uid, "owner", "POST", json={**new, "dry_run": no}) == 201


@pytest.mark.parametrize("query", ["dry_run=true", "dry_run", "dryrun=1"])
async def test_dry_run_of_unsupported_operation_is_rejected(team: SharingTeam, query: str) -> None:
    uid = await team.create_asset()
    name = query.split("=")[0]
    for method, path, body in (
        ("PATCH", f"/api/v2/assets/{uid}/", {"name": "Other"}),
        ("POST", "/api/v2/imports/", {"base64Encoded": "eA=="}),
        ("PUT", "/api/v2/event/7/", {"name": "Flood"}),
        ("DELETE", "/api/v2/event/7/", None),
    ):
        answer = await team.request("boss", method, f"{path}?{query}", json=body)
        assert (answer.status_code, answer.json()) == (400, {name: [NOT_HERE]}), path
    answer = await team.request("owner", "PATCH", f"/api/v2/assets/{uid}/", json={"name": "Other", name: True})
    assert answer.json() == {name: [NOT_HERE]}
    assert (await team.request("owner", "GET", f"/api/v2/assets/{uid}/?{query}")).json()["name"] == "Visit"
    gone = await team.request("owner", "DELETE", f"/api/v2/assets/{uid}/?dry_run=false", content=b"{")
    assert gone.status_code == 204
