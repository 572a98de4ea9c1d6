"""Cloning the assignments of another asset."""

from fieldgate.permissions.rules import owner_permissions
from tests.assets.sharing.sharing_team import PUBLIC, SharingTeam
from tests.assets.sharing.test_effects import ASSET, BY_BOB, partial
from tests.conftest import BASE_URL


async def test_clone_from_and_to_asset_in_collection(team: SharingTeam) -> None:
    """Inherited permissions are copied. On the target, inherited permissions that are not copied are denied."""
    collection, target = await team.create_asset("collection"), await team.create_asset()
    source = await team.create_asset(parent=collection)
    await team.grant(collection, "bob", "change_asset")
    await team.grant(collection, "viewer", "view_asset")
    await team.grant(source, "ann", "view_submissions")
    await team.request_assignments(
        source, "owner", "DELETE", f"{await team.assignment_uid(source, 'viewer', 'view_asset')}/"
    )
    held = {name: await team.permissions_of(source, name) for name in ("ann", "bob", "viewer")}
    assert held == {"ann": {"view_asset", "view_submissions"}, "bob": ASSET, "viewer": set()}
    cloned = await team.request_assignments(target, "owner", "PATCH", "clone/", json={"clone_from": source})
    assert cloned.status_code == 200, cloned.text
    assert {name: await team.permissions_of(target, name) for name in held} == held
    other = await team.create_asset()
    await team.grant(other, "viewer", "manage_asset")
    cloned = await team.request_assignments(source, "owner", "PATCH", "clone/", json={"clone_from": other})
    assert cloned.status_code == 200, cloned.text
    assert {name: await team.permissions_of(source, name) for name in held} == {
        "ann": set(),
        "bob": set(),
        "viewer": owner_permissions("survey"),
    }
    assert await team.status(source, "bob", "GET") == 404, "denied, although the collection or a team grants it"
    assert await team.permissions_of(collection, "bob") == ASSET
    again = await team.request_assignments(source, "owner", "PATCH", "clone/", json={"clone_from": target})
    assert again.status_code == 200, again.text
    assert {name: await team.permissions_of(source, name) for name in held} == held, "no longer denied"


async def test_clone(team: SharingTeam) -> None:
    source, target = await team.create_asset(owner="ann"), await team.create_shared_asset()
    given = partial(("view_submissions", [BY_BOB]))
    await team.grant(source, "bob", "partial_submissions", by="ann", partial_permissions=given)
    await team.grant(source, PUBLIC, "add_submissions", by="ann")
    await team.grant(source, "owner", "manage_asset", by="ann")
    kept = await team.assignment_uid(target, "viewer", "view_asset")
    await team.grant(source, "viewer", "view_asset", by="ann")
    path = f"{BASE_URL}/api/v2/assets/{source}/"
    answer = await team.request_assignments(target, "owner", "PATCH", "clone/", json={"clone_from": path})
    assert answer.status_code == 200, answer.text
    assert answer.json() == await team.list_assignments(target)
    names = ("ann", "bob", "manager", "viewer", PUBLIC)
    assert {name: await team.permissions_of(target, name) for name in names} == {
        "ann": owner_permissions("survey"),
        "bob": {"view_asset", "partial_submissions"},
        "manager": set(),
        "viewer": {"view_asset"},
        PUBLIC: {"add_submissions"},
    }
    assert await team.assignment_uid(target, "viewer", "view_asset") == kept
    row = next(row for row in await team.list_assignments(target) if "partial_permissions" in row)
    assert row["partial_permissions"] == given
    assert {each["act"] for each in (await team.history(target))[:5]} == {"clone"}


async def test_clone_copies_only_visible_assignments(team: SharingTeam) -> None:
    source, target = await team.create_shared_asset(), await team.create_asset(owner="ann")
    await team.grant(source, "ann", "view_asset")
    await team.grant(source, PUBLIC, "add_submissions")
    answer = await team.request_assignments(target, "ann", "PATCH", "clone/", json={"clone_from": source})
    assert answer.status_code == 200, answer.text
    names = ("owner", "manager", "editor", "viewer", PUBLIC)
    assert {
        name: await team.permissions_of(target, name) for name in names if await team.permissions_of(target, name)
    } == {
        "owner": owner_permissions("survey"),
        PUBLIC: {"add_submissions"},
    }
