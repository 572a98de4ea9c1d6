"""Suggestions of people and teams to share with: never a directory of everyone."""

from tests.accounts.disabled_users import disable_user
from tests.assets.sharing.sharing_team import BATCH_PATH, PUBLIC, SharingTeam
from tests.assets.sharing.test_teams import TEAMS, create_team, share

PATH = f"{BATCH_PATH}suggestions/?limit=200"


async def suggested(team: SharingTeam, by: str) -> list[str]:
    answer = await team.request(by, "GET", PATH)
    assert answer.status_code == 200, answer.text
    return [each["user"] for each in answer.json()["results"]]


async def test_own_teams_their_members_and_people_on_own_assets(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await team.grant(uid, PUBLIC, "view_asset")
    assert await suggested(team, "owner") == ["editor", "manager", "viewer"]
    await create_team(team, "ann", "owner", "bob")
    assert await suggested(team, "owner") == ["team:WASH", "ann", "bob", "editor", "manager", "viewer"]
    assert await suggested(team, "bob") == ["team:WASH", "ann", "owner"]
    # Of two teams with one name, only the uid says which one is meant.
    second = await create_team(team, "owner", name="wash")
    assert {each["user"] for each in (await team.request("owner", "GET", PATH)).json()["results"]} >= {f"team:{second}"}


async def test_strangers_are_never_suggested(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await create_team(team, "stranger", "manager", name="Hidden")
    for name in ("boss", "ann", "viewer", "editor"):  # of the asset, a viewer knows nobody
        assert await suggested(team, name) == [], name
    # A manager shares with a team that the owner is not in: neither it nor its members are suggested to the owner.
    await share(team, uid, "Hidden", "view_asset", by="manager")
    assert await suggested(team, "owner") == ["editor", "manager", "viewer"]
    # Nor is anybody after leaving a team, or after having been removed or disabled.
    wash = await create_team(team, "ann", "bob")
    await team.request("bob", "DELETE", f"{TEAMS}{wash}/members/bob/")
    assert (await suggested(team, "bob"), await suggested(team, "ann")) == ([], ["team:WASH"])
    await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": "editor"})
    await disable_user(team.service.store, "viewer")
    assert await suggested(team, "owner") == ["manager"]
