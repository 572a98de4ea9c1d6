"""Concurrent changes of one asset: no lost updates, a consistent state, and no use of revoked permissions."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import pytest

from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset
from fieldgate.identity import Caller
from fieldgate.permissions.rules import find_contradiction, with_implied
from tests.assets.sharing.sharing_team import SharingTeam, last_segment
from tests.assets.sharing.test_dry_run import PERMISSIONS
from tests.conftest import StartService

MANAGERS = ("mona", "milo")


@pytest.fixture
async def teams(
    start: StartService, database_url: str
) -> AsyncIterator[tuple[SharingTeam, SharingTeam]]:
    """Two services on one database, like two processes."""
    async with start(database_url=database_url) as one, start(database_url=database_url) as other:
        team = await SharingTeam.create(one)
        for name in MANAGERS:
            await team.add_user(name)
        beside = SharingTeam(other)
        beside.headers, beside.user_ids = team.headers, team.user_ids
        yield team, beside


def held_by_name(rows: list[dict[str, Any]]) -> dict[str, set[str]]:
    held: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        held[last_segment(row["user"])].add(last_segment(row["permission"]))
    return held


def check_consistency(rows: list[dict[str, Any]]) -> None:
    """Check that the permissions of every user include the implied ones and do not contradict each other."""
    for name, held in held_by_name(rows).items():
        assert with_implied(held, "survey") == held, name
        assert find_contradiction(held, "survey") is None, name


async def replay(team: SharingTeam, uid: str) -> None:
    """Check that every effect in the history fits the state before it, and that all of them give the current state."""
    held: dict[str, set[str]] = defaultdict(set)
    for effect in reversed(await team.history(uid)):
        name, permission = last_segment(effect["user"]), last_segment(effect["permission"])
        if effect["effect"] == "granted":
            assert permission not in held[name]
            held[name].add(permission)
        elif effect["effect"] == "removed":
            held[name].remove(permission)
        else:
            assert (effect["effect"], permission in held[name]) == ("filtered", True)
    rows = await team.list_assignments(uid)
    check_consistency(rows)
    now = held_by_name(rows)
    now.pop("owner")
    assert {name: some for name, some in held.items() if some} == now


async def test_concurrent_replacements_are_atomic(teams: tuple[SharingTeam, SharingTeam]) -> None:
    """One of them wins; no user ends up with a mix of both."""
    team = teams[0]
    uid = await team.create_asset()
    names = ("ann", "bob", "viewer", "editor")
    lists = [
        [{"user": name, "permission": permission} for name in names]
        for permission in PERMISSIONS[3:5]
    ]
    for _ in range(10):
        answers = await asyncio.gather(
            *(
                here.request_assignments(uid, "owner", "POST", "bulk/", json=new)
                for here, new in zip(teams, lists, strict=True)
            )
        )
        assert [answer.status_code for answer in answers] == [200, 200]
        held = held_by_name(await team.list_assignments(uid))
        assert len({frozenset(held[name]) for name in names}) == 1
        assert held["ann"] in ({"add_submissions"}, {"view_asset", "view_submissions"})
    await replay(team, uid)


async def test_managers_remove_each_other_concurrently(
    teams: tuple[SharingTeam, SharingTeam],
) -> None:
    """Only one of the two removals succeeds."""
    team = teams[0]
    uid = await team.create_asset()
    for _ in range(10):
        for name in MANAGERS:
            await team.grant(uid, name, "manage_asset")
        before = len(await team.history(uid))
        answers = await asyncio.gather(
            *(
                here.request_assignments(uid, name, "DELETE", "bulk/", json={"username": against})
                for here, name, against in zip(teams, MANAGERS, MANAGERS[::-1], strict=True)
            )
        )
        assert sorted(answer.status_code for answer in answers) == [204, 404]
        reported = await team.history(uid)
        assert len({last_segment(row["by"]) for row in reported[: len(reported) - before]}) == 1
    await replay(team, uid)


async def test_manager_revoked_during_request_is_refused(
    team: SharingTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller loses the permission between the first check and the lock."""
    to = AssetAuthorizer.authorize
    new = {"user": "bob", "permission": "view_asset"}
    other = await team.create_asset()
    await team.grant(other, "manager", "view_asset")
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "", {"json": new}),
        ("POST", "bulk/", {"json": [new]}),
        ("DELETE", "bulk/", {"json": {"username": "viewer"}}),
        ("PATCH", "clone/", {"json": {"clone_from": other}}),
        ("POST", "csv/", {"json": {"text": "user,permission\nbob,view_asset\n"}}),
        ("DELETE", "{row}/", {}),
    ]
    for permission, status in (("manage_asset", 403), ("view_asset", 404)):
        for method, rest, body in writes:
            uid = await team.create_shared_asset()
            row = await team.assignment_uid(uid, "manager", permission)
            rest = rest.format(row=await team.assignment_uid(uid, "viewer", "view_asset"))

            async def authorize_then_revoke(
                access: AssetAuthorizer, asked: str, caller: Caller
            ) -> AuthorizedAsset:
                found = await to(access, asked, caller)
                if caller.username == "manager" and asked == uid:  # noqa: B023
                    monkeypatch.undo()
                    await team.request_assignments(uid, "owner", "DELETE", f"{row}/")  # noqa: B023
                return found

            monkeypatch.setattr(AssetAuthorizer, "authorize", authorize_then_revoke)
            answer = await team.request_assignments(uid, "manager", method, rest, **body)
            expected = 404 if rest.startswith("p") else status
            assert answer.status_code == expected, (method, rest, answer.text)
            assert await team.permissions_of(uid, "viewer") == {"view_asset"}
            assert await team.permissions_of(uid, "bob") == set()
