"""Authorization for assignments of an asset: every kind of caller, every operation."""

from typing import Any

import pytest

from tests.assets.sharing.sharing_team import PUBLIC, SharingTeam, last_segment

EVERYBODY = {"owner", "manager", "editor", "viewer"}
OWN = {"editor": {"owner", "editor"}, "viewer": {"owner", "viewer"}}

# Users whose assignments a caller sees, on a private and on a public asset; None means 404.
SEES: dict[str, tuple[set[str] | None, set[str] | None]] = {
    "boss": (EVERYBODY, EVERYBODY | {PUBLIC}),
    "owner": (EVERYBODY, EVERYBODY | {PUBLIC}),
    "manager": (EVERYBODY, EVERYBODY | {PUBLIC}),
    "editor": (OWN["editor"], OWN["editor"] | {PUBLIC}),
    "viewer": (OWN["viewer"], OWN["viewer"] | {PUBLIC}),
    "stranger": (None, {"owner", PUBLIC}),
    "": (None, {"owner", PUBLIC}),
}
# Status of deleting an assignment of the owner, the caller, another user and the public, on a public asset.
DELETES: dict[str, tuple[int, int | None, int, int]] = {
    "boss": (409, None, 204, 204),
    "owner": (409, 409, 204, 204),
    "manager": (409, 204, 204, 204),
    "editor": (403, 204, 404, 403),
    "viewer": (403, 204, 404, 403),
    "stranger": (403, None, 404, 403),
    "": (401, None, 401, 401),
}
# Status of removing all permissions of the same users.
CLEARS: dict[str, tuple[int, int, int, int]] = {
    "boss": (409, 204, 204, 204),
    "owner": (409, 409, 204, 204),
    "manager": (409, 204, 204, 204),
    "editor": (403, 204, 403, 403),
    "viewer": (403, 204, 403, 403),
    "stranger": (403, 204, 403, 403),
    "": (401, 401, 401, 401),
}


async def asset(team: SharingTeam, *, is_public: bool) -> str:
    return await team.create_shared_asset(extra_grants={PUBLIC: "view_asset"} if is_public else {})


@pytest.mark.parametrize("is_public", [False, True], ids=["private", "public"])
async def test_visibility_by_caller(team: SharingTeam, is_public: bool) -> None:
    uid = await asset(team, is_public=is_public)
    rows = {
        row["url"]: last_segment(row["user"]) for row in await team.list_assignments(uid, "boss")
    }
    for caller, expected in SEES.items():
        names = expected[is_public]
        answer = await team.request_assignments(uid, caller, "GET")
        table = await team.request_assignments(uid, caller, "GET", "csv/")
        if names is None:
            assert (answer.status_code, table.status_code) == (404, 404), caller
            assert answer.json() == {
                "detail": "This form does not exist or is not shared with you."
            }
        else:
            assert {last_segment(row["user"]) for row in answer.json()} == names, caller
            assert {line.split(",")[0] for line in table.text.splitlines()[1:]} == names - {"owner"}
        for url, name in rows.items():
            seen = (await team.request(caller, "GET", url)).status_code
            assert seen == (200 if names and name in names else 404), (caller, name)
    for caller in ("boss", "owner", "manager"):
        assert await team.status(uid, caller, "GET", "history/") == 200
    for caller, status in (
        ("viewer", 403),
        ("editor", 403),
        ("stranger", 403 if is_public else 404),
    ):
        assert await team.status(uid, caller, "GET", "history/") == status


async def test_authorization_precedes_validation(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    wrong: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "", {"json": {"user": 7}}),
        ("POST", "", {"data": {"permission": "fly"}}),
        ("POST", "bulk/", {"json": [{"user": 7}]}),
        ("DELETE", "bulk/", {"json": {"username": ["viewer"]}}),
        ("PATCH", "clone/", {"json": {}}),
        ("POST", "csv/", {"json": {"mode": "x"}}),
    ]
    for method, rest, body in wrong:
        statuses = [
            await team.status(uid, name, method, rest, **body) for name in ("stranger", "", "owner")
        ]
        assert statuses == [404, 401, 400], (method, rest)
        if method != "DELETE":  # every user may remove their own permissions
            assert await team.status(uid, "viewer", method, rest, **body) == 403
    assert (
        await team.request_assignments(
            uid, "viewer", "POST", content=b"{", headers={"Content-Type": "application/json"}
        )
    ).json() == {"detail": "The body is not valid JSON."}


def targets(caller: str) -> tuple[str, str, str, str]:
    """Return the owner, the caller, another user, and the public."""
    return "owner", caller or PUBLIC, "editor" if caller == "viewer" else "viewer", PUBLIC


async def test_delete_authorization(team: SharingTeam) -> None:
    uid = await asset(team, is_public=True)
    for caller, expected in DELETES.items():
        for target, status in zip(targets(caller), expected, strict=True):
            if status is None:
                continue
            before = await team.snapshot(uid)
            row = await team.assignment_uid(uid, target, "view_asset")
            for query in ("?dry_run=true", ""):
                answer = await team.request_assignments(uid, caller, "DELETE", f"{row}/{query}")
                is_done = status == 204
                assert answer.status_code == (200 if is_done and query else status), (
                    caller,
                    target,
                    answer.text,
                )
                assert (await team.snapshot(uid) != before) == (is_done and not query)
            if is_done:
                uid = await asset(team, is_public=True)


async def test_clear_authorization(team: SharingTeam) -> None:
    uid = await asset(team, is_public=True)
    for caller, expected in CLEARS.items():
        for target, status in zip(targets(caller), expected, strict=True):
            for query in ("?dry_run=true", ""):
                answer = await team.request_assignments(
                    uid, caller, "DELETE", f"bulk/{query}", json={"username": target}
                )
                assert answer.status_code == (200 if status == 204 and query else status), (
                    caller,
                    target,
                    answer.text,
                )
            if status == 204:
                assert target == "boss" or await team.permissions_of(uid, target) == set()
                uid = await asset(team, is_public=True)
    uid = await asset(team, is_public=False)
    for caller, status in (("manager", 400), ("viewer", 403), ("stranger", 404), ("", 401)):
        for body in ({}, {"username": ""}):
            answer = await team.request_assignments(uid, caller, "DELETE", "bulk/", json=body)
            assert answer.status_code == status, caller
    assert (await team.request_assignments(uid, "manager", "DELETE", "bulk/", json={})).json() == {
        "username": ["This field is required."]
    }
    refused = await team.request_assignments(
        uid, "manager", "DELETE", "bulk/", json={"username": "owner"}
    )
    assert refused.json() == {"detail": "The owner's permissions cannot be removed."}


async def test_assignment_of_another_asset_is_not_found(team: SharingTeam) -> None:
    one, other = await team.create_shared_asset(), await team.create_shared_asset()
    row = await team.assignment_uid(other, "viewer", "view_asset")
    for rest in (f"{row}/", "pKm3pVw8ZtQ2xYcRnB5dFh/", "x/", "%00/", "'%20OR%201=1/"):
        for method in ("GET", "DELETE"):
            assert await team.status(one, "owner", method, rest) == 404
    assert await team.permissions_of(other, "viewer") == {"view_asset"}
    for uid in ("anope", "aKm3pVw8ZtQ2xYcRnB5dFh"):
        answer = await team.request_assignments(uid, "owner", "GET")
        assert (answer.status_code, answer.json()) == (
            404,
            {"detail": "This form does not exist or is not shared with you."},
        )
