"""Invalid requests for many users on many assets."""

from typing import Any

from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam
from tests.assets.sharing.test_validation_errors import PARTIAL, VIEW


async def test_invalid_batches(team: SharingTeam) -> None:
    one, other, block = (
        await team.create_shared_asset(),
        await team.create_shared_asset(),
        await team.create_asset("block"),
    )
    states = [await team.snapshot(uid) for uid in (one, other, block)]
    good: dict[str, Any] = {"assets": [one, other], "users": ["ann", "bob"], "permissions": [VIEW]}
    cases: list[tuple[str, str, dict[str, Any], int, list[str]]] = [
        ("viewer", "add", {}, 403, ["detail"]),
        ("owner", "add", {"users": ["bob", "owner"]}, 400, ["users"]),
        ("owner", "remove", {"users": ["bob", "owner"]}, 409, ["detail"]),
        (
            "owner",
            "add",
            {"assets": [one, block], "permissions": ["add_submissions"]},
            400,
            ["permissions"],
        ),
        (
            "owner",
            "add",
            {"users": ["x", "gone"], "permissions": ["fly"]},
            400,
            ["permissions", "users"],
        ),
        ("owner", "add", {"permissions": [PARTIAL]}, 400, ["partial_permissions"]),
        ("owner", "add", {"assets": [], "users": [None]}, 400, ["assets", "users"]),
    ]
    for by, action, changes, status, fields in cases:
        answer = await team.request(by, "POST", f"{BATCH_PATH}{action}/", json={**good, **changes})
        assert (answer.status_code, sorted(answer.json())) == (status, fields), changes
    much = {"assets": [f"a{n}" for n in range(50)], "users": [f"u{n}" for n in range(60)] * 2}
    for action, permission in (("add", "manage_asset"), ("remove", VIEW)):
        answer = await team.request(
            "owner", "POST", f"{BATCH_PATH}{action}/", json={**much, "permissions": [permission]}
        )
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith(
            f"This comes to {50 * 60 * 8} assignments; the limit is 20000 per"
        )
    assert [await team.snapshot(uid) for uid in (one, other, block)] == states
