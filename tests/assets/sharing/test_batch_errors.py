"""Invalid requests for many users on many assets."""

from typing import Any

from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam
from tests.assets.sharing.test_validation_errors import NEEDED, OWNER, PARTIAL, VIEW


async def test_messages_of_invalid_batches(team: SharingTeam) -> None:
    one, other, block = (
        await team.create_shared_asset(),
        await team.create_shared_asset(),
        await team.create_asset("block"),
    )
    states = [await team.snapshot(uid) for uid in (one, other, block)]
    good: dict[str, Any] = {"assets": [one, other], "users": ["ann", "bob"], "permissions": [VIEW]}
    reported = await team.request("viewer", "POST", f"{BATCH_PATH}add/", json=good)
    assert reported.json() == {"detail": f"You do not manage the asset {one}."}
    owner = await team.request("owner", "POST", f"{BATCH_PATH}add/", json={**good, "users": ["bob", "owner"]})
    assert (owner.status_code, owner.json()) == (400, {"users": [f"{OWNER} (asset {uid})" for uid in (one, other)]})
    owner = await team.request("owner", "POST", f"{BATCH_PATH}remove/", json={**good, "users": ["bob", "owner"]})
    owned = f"owner owns the asset {one}, and an owner's permissions cannot be removed."
    assert (owner.status_code, owner.json()) == (409, {"detail": owned})
    wrong = {**good, "assets": [one, block], "permissions": ["add_submissions"]}
    answer = await team.request("owner", "POST", f"{BATCH_PATH}add/", json=wrong)
    message = f"add_submissions cannot be assigned on an asset of this type. (asset {block})"
    assert (answer.status_code, answer.json()) == (400, {"permissions": [message]})
    both = await team.request(
        "owner", "POST", f"{BATCH_PATH}add/", json={**good, "users": ["x", "gone"], "permissions": ["fly"]}
    )
    assert both.json() == {
        "permissions": ["There is no permission fly."],
        "users": ["There is no user x.", "There is no user gone."],
    }
    partial = await team.request("owner", "POST", f"{BATCH_PATH}add/", json={**good, "permissions": [PARTIAL]})
    assert partial.json() == {"partial_permissions": [NEEDED]}
    lists = await team.request(
        "owner", "POST", f"{BATCH_PATH}add/", json={"assets": [], "users": [None], "permissions": [VIEW]}
    )
    assert lists.json() == {"assets": ["Name at least one."], "users": ["Send a list of texts."]}
    much = {"assets": [f"a{n}" for n in range(50)], "users": [f"u{n}" for n in range(60)] * 2}
    for action, permission in (("add", "manage_asset"), ("remove", VIEW)):
        answer = await team.request(
            "owner", "POST", f"{BATCH_PATH}{action}/", json={**much, "permissions": [permission]}
        )
        assert answer.status_code == 400
        assert answer.json()["detail"].startswith(f"This comes to {50 * 60 * 8} assignments; the limit is 20000 per")
    assert [await team.snapshot(uid) for uid in (one, other, block)] == states
