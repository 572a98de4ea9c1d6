"""Writes for a thousand users."""

from typing import Any

import pytest

from fieldgate.accounts.tables import users
from fieldgate.db import insert_rows
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam, last_segment, user_url

USERS = 1000


@pytest.fixture
async def bulk_users(team: SharingTeam) -> list[str]:
    names = [f"u{index:04}" for index in range(USERS)]
    rows = [
        {
            "uid": name, "username": name, "username_key": name, "password_hash": "", "first_name": "", "last_name": "",
            "is_superuser": False, "is_ifrc": False, "is_demo": False, "countries": "[]", "created_at": 0,
        }
        for name in names
    ]  # fmt: skip
    async with team.service.database.transaction() as connection:
        await insert_rows(connection, users, rows)
    return names


async def test_a_thousand_users_in_every_kind_of_write(team: SharingTeam, bulk_users: list[str]) -> None:
    uid, small = await team.create_asset(), await team.create_asset()

    async def send(answer: Any) -> Any:
        given = await answer
        assert given.status_code == 200, given.text[:500]
        return given.json()

    for permission, rows in (("manage_asset", 8), ("view_asset", 1), ("change_submissions", 4)):
        new = [{"user": user_url(name), "permission": permission} for name in bulk_users]
        await send(team.request_assignments(small, "owner", "POST", "bulk/", json=new[:10]))
        listed = await send(team.request_assignments(uid, "owner", "POST", "bulk/", json=new))
        assert len(listed) == USERS * rows + 8
        assert listed == await team.list_assignments(uid)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).content
    files = {"file": ("x.csv", table)}
    reported = await send(team.request_assignments(uid, "owner", "POST", "csv/?mode=remove", files=files))
    assert reported["counts"] == {"removed": USERS * 4}
    body = {"assets": [uid, small], "users": bulk_users, "permissions": ["add_submissions"]}
    reported = await send(team.request("owner", "POST", f"{BATCH_PATH}add/", json=body))
    assert reported["counts"]["granted"] == USERS + USERS - 10
    assert {last_segment(row["user"]) for row in await team.list_assignments(uid)} == {"owner", *bulk_users}
    shown = await send(team.request("owner", "GET", f"/api/v2/assets/{uid}/"))
    assert shown["permissions"] == await team.list_assignments(uid)
    dry = await send(team.request_assignments(uid, "owner", "POST", "bulk/?dry_run=true", json=[]))
    assert dry["counts"] == {"removed": USERS}


async def test_effects_are_limited(team: SharingTeam, bulk_users: list[str]) -> None:
    uids = [await team.create_asset() for _ in range(2)]
    body = {"assets": uids, "users": bulk_users, "permissions": ["manage_asset"]}
    reported = (await team.request("owner", "POST", f"{BATCH_PATH}add/?dry_run=true", json=body)).json()
    assert (reported["counts"], len(reported["effects"]), len(reported["result"])) == (
        {"granted": 16_000},
        10_000,
        2_000,
    )
