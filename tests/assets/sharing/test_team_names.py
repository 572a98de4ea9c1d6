"""Names of teams: their members see them, and superusers. Others who manage an asset see that there is a team."""

from typing import Any

from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam, last_segment
from tests.assets.sharing.test_teams import TEAMS, create_team, share
from tests.conftest import BASE_URL

SHARING = "permission-assignments/"
NAME = "Fistula"


async def shared_with_hidden_team(people: SharingTeam) -> tuple[str, str]:
    """Return the uids of an asset of the owner, and of a team that the manager does not know."""
    uid, hidden = (
        await people.create_shared_asset(),
        await create_team(people, "owner", "ann", name=NAME),
    )
    await share(people, uid, hidden, "change_asset")
    return uid, hidden


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("GET", SHARING, None),
    ("GET", f"{SHARING}?teams=true", None),
    ("GET", f"{SHARING}csv/", None),
    ("GET", f"{SHARING}history/", None),
    ("GET", f"{SHARING}explain/?user=ann&permission=view_asset", None),
    ("GET", "history/", None),
    ("GET", "history/?format=csv", None),
    ("GET", "/api/v2/assets/", None),
    ("GET", BATCH_PATH, None),
    ("GET", f"{BATCH_PATH}?user=ann", None),
    ("GET", f"{BATCH_PATH}?format=csv", None),
    ("POST", SHARING, {"team": "{team}", "permission": "change_asset"}),
    ("POST", f"{SHARING}?dry_run=true", {"team": "{team}", "permission": "manage_asset"}),
    ("POST", f"{SHARING}bulk/?teams=true&dry_run=true", []),
    ("PATCH", f"{SHARING}bulk/", {"user": "team:{team}", "permissions": ["view_asset"]}),
    ("DELETE", f"{SHARING}bulk/?dry_run=true", {"username": "team:{team}"}),
    ("POST", f"{SHARING}csv/", {"text": "user,permission\nteam:{team},view_asset\n"}),
    ("POST", f"{SHARING}bulk/", []),
]


async def test_managers_outside_a_team_do_not_learn_its_name(team: SharingTeam) -> None:
    uid, hidden = await shared_with_hidden_team(team)
    for method, rest, body in REQUESTS:
        path = rest if rest.startswith("/") else f"/api/v2/assets/{uid}/{rest}"
        if isinstance(body, dict):
            body = {
                name: each.format(team=hidden) if isinstance(each, str) else each
                for name, each in body.items()
            }
        answer = await team.request(
            "manager", method, path, **({} if body is None else {"json": body})
        )
        assert answer.status_code < 300, (path, answer.text)
        assert NAME.lower() not in answer.text.lower(), path


async def test_entries_of_the_log_keep_the_name_that_a_team_had(team: SharingTeam) -> None:
    uid, hidden = await shared_with_hidden_team(team)
    url = f"{BASE_URL}{TEAMS}{hidden}/"

    async def names(by: str) -> set[tuple[object, str]]:
        listed = (await team.request_assignments(uid, by, "GET", "history/")).json()["results"]
        return {(each["team__name"], each["user"]) for each in listed if "team__name" in each}

    async def logged(by: str) -> str:
        listed = (await team.request(by, "GET", f"/api/v2/assets/{uid}/history/")).json()["results"]
        found = [each["metadata"]["permissions"]["username"] for each in listed]
        return str([each for each in found if each.startswith("team:")][-1])

    await team.request("owner", "PATCH", url, json={"name": "Health"})
    assert [await names(by) for by in ("owner", "boss", "manager")] == [
        {(NAME, url)},
        {(NAME, url)},
        {(None, url)},
    ]
    assert [await logged(by) for by in ("owner", "boss", "manager")] == [f"team:{NAME}"] * 2 + [
        f"team:{hidden}"
    ]
    await team.request("owner", "DELETE", url)
    assert [await names(by) for by in ("boss", "owner")] == [
        {(NAME, url), ("Health", url)},
        {(None, url)},
    ]
    assert await logged("boss") == f"team:{NAME}"


async def test_order_of_teams_does_not_tell_their_names(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    uids = [await create_team(team, "owner", name=name) for name in "ABCDEF"]
    for each in uids:
        await share(team, uid, each, "view_asset")
    listed = (await team.request_assignments(uid, "manager", "GET", "?teams=true")).json()
    assert [last_segment(each["team"]) for each in listed if "team" in each] == sorted(uids)
