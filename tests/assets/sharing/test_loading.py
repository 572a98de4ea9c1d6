"""An asset is read at once with its assignments, unless these are many or large."""

from collections.abc import Sequence

import pytest

from fieldgate.accounts.tables import users
from fieldgate.assets.sharing.grants_sql import MAX_FILTERED_ROWS, MAX_LISTED_ROWS
from fieldgate.assets.sharing.model.grants import AssetGrants
from fieldgate.assets.tables import assignments
from fieldgate.db import insert_rows
from fieldgate.permissions.catalogue import PARTIAL
from tests.assets.sharing.sharing_team import SharingTeam, last_segment, user_url

FILTERS = '{"view_submissions":[{"_submitted_by":"amina"}]}'


async def add_holders(team: SharingTeam, uid: str, permissions: Sequence[str]) -> None:
    """Create a user for each permission, who has it on the asset."""
    count = len(team.user_ids)
    ids = range(1000 + count, 1000 + count + len(permissions))
    new_users = [
        {
            "id": id_, "username": f"u{id_}", "username_key": f"u{id_}", "password_hash": "", "first_name": "",
            "last_name": "", "is_superuser": False, "is_ifrc": False, "is_demo": False, "countries": "[]",
            "created_at": 0,
        }
        for id_ in ids
    ]  # fmt: skip
    async with team.service.database.transaction() as connection:
        asset = await team.assets.find(connection, uid)
        assert asset is not None
        new = [
            {
                "uid": f"p{id_}", "asset_id": asset.id, "user_id": id_, "permission": permission, "is_denied": False,
                "filters": FILTERS if permission == PARTIAL else None, "created_at": 0,
            }
            for id_, permission in zip(ids, permissions, strict=True)
        ]  # fmt: skip
        await insert_rows(connection, users, new_users)
        await insert_rows(connection, assignments, new)
    team.user_ids |= {f"u{id_}": id_ for id_ in ids}


async def load(team: SharingTeam, uid: str) -> AssetGrants:
    async with team.sharing.transaction([uid], read_only=True) as transaction:
        return await transaction.load(uid)


@pytest.mark.parametrize("filtered", [0, 1, MAX_FILTERED_ROWS])
async def test_both_ways_read_the_same(team: SharingTeam, filtered: int) -> None:
    collection = await team.create_asset("collection", owner="editor")
    uid = await team.create_asset(parent=collection)
    assert await team.sharing.find_complete(uid) == await load(team, uid)
    await team.grant(collection, "ann", "change_asset", by="editor")
    await team.grant(uid, "bob", "manage_asset")
    await add_holders(team, uid, ["view_asset"] * 3 + [PARTIAL] * filtered)
    found, expected = await team.sharing.find_complete(uid), await load(team, uid)
    assert found == expected
    assert found is not None
    assert found.list_all() == expected.list_all()
    assert [each.filters for each in found.list_all() if each.permission == PARTIAL] == [
        {"view_submissions": ({"_submitted_by": "amina"},)}
    ] * filtered


@pytest.mark.parametrize(
    ("permissions", "is_read_at_once"),
    [
        (["view_asset"] * MAX_LISTED_ROWS, True),
        (["view_asset"] * (MAX_LISTED_ROWS + 1), False),
        ([PARTIAL] * MAX_FILTERED_ROWS, True),
        ([PARTIAL] * (MAX_FILTERED_ROWS + 1), False),
    ],
    ids=["most rows", "more rows", "most filters", "more filters"],
)
async def test_large_lists_are_read_in_a_transaction(
    team: SharingTeam, permissions: Sequence[str], is_read_at_once: bool
) -> None:
    uid = await team.create_asset()
    await add_holders(team, uid, permissions)
    assert (await team.sharing.find_complete(uid) is not None) is is_read_at_once
    listed = await team.list_assignments(uid)
    found = {(row["user"], last_segment(row["permission"])) for row in listed if row["user"] != user_url("owner")}
    holders = [name for name in team.user_ids if name.startswith("u")]
    assert found == {(user_url(name), each) for name, each in zip(holders, permissions, strict=True)}


async def test_work_on_the_event_loop_is_limited(team: SharingTeam) -> None:
    """Of thousands of assignments, only the first few hundred are read: sorting would need all of them."""
    database = team.service.database
    if not database.is_sqlite:
        return  # PostgreSQL is another process
    uid, steps = await team.create_asset(), []
    counts = []
    for more in (MAX_LISTED_ROWS + 1, 5 * MAX_LISTED_ROWS):
        await add_holders(team, uid, ["view_asset"] * more)
        reader = database.sqlite_reader()
        reader.set_progress_handler(lambda: steps.append(1), 10)
        try:
            assert await team.sharing.find_complete(uid) is None
        finally:
            reader.set_progress_handler(None, 0)
        counts.append(len(steps))
        steps.clear()
    assert counts[1] <= 1.1 * counts[0]
