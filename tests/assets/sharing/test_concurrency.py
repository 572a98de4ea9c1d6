"""Several who change the same asset at once: nothing is lost, nothing is broken, and nobody acts on rights he lost."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset
from fieldgate.identity import Caller
from fieldgate.permissions.rules import find_contradiction, with_implied
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam, last_segment
from tests.assets.sharing.test_dry_run import PERMISSIONS, wish
from tests.conftest import StartService

MANAGERS = ("mona", "milo")
ACTS = 40  # of each manager


@pytest.fixture
async def teams(start: StartService, database_url: str) -> AsyncIterator[tuple[SharingTeam, SharingTeam]]:
    """Two services on one database, as two processes are."""
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


def check(rows: list[dict[str, Any]]) -> None:
    """What everybody holds is closed, and holds no two that contradict each other."""
    for name, held in held_by_name(rows).items():
        assert with_implied(held, "survey") == held, name
        assert find_contradiction(held, "survey") is None, name


async def act(
    team: SharingTeam, uid: str, other: str, by: str, chance: random.Random
) -> tuple[dict[str, Any], httpx.Response]:
    """A write at random, of anybody but the managers themselves."""
    new = wish(chance)
    kind = chance.choices(("assign", "delete", "clear", "many", "unmany", "csv"), (6, 3, 1, 1, 1, 1))[0]
    named = {"assets": [uid, other], "users": [new["user"]], "permissions": [new["permission"]]}
    if kind == "delete":
        rows = [
            row for row in await team.list_assignments(uid, by) if last_segment(row["user"]) not in ("owner", *MANAGERS)
        ]
        if rows:
            return {}, await team.request(by, "DELETE", chance.choice(rows)["url"])
    if kind == "clear":
        return {}, await team.request_assignments(uid, by, "DELETE", "bulk/", json={"username": new["user"]})
    if kind == "many":
        more = {key: new[key] for key in ("partial_permissions",) if key in new}
        return new, await team.request(by, "POST", f"{BATCH_PATH}add/", json={**named, **more})
    if kind == "unmany":
        return {}, await team.request(by, "POST", f"{BATCH_PATH}remove/", json=named)
    if kind == "csv":
        text = f"user,permission\n{new['user']},view_asset\n"
        return {}, await team.request_assignments(
            uid, by, "POST", "csv/", json={"text": text, "mode": chance.choice(("add", "remove"))}
        )
    return new, await team.request_assignments(uid, by, "POST", json=new)


@pytest.mark.parametrize("seed", range(2))
async def test_two_managers_at_once(teams: tuple[SharingTeam, SharingTeam], seed: int) -> None:
    team = teams[0]
    uid, other = [await team.create_asset() for _ in range(2)]
    for each in (uid, other):
        for name in MANAGERS:
            await team.grant(each, name, "manage_asset")
    assigned: list[tuple[str, str]] = []

    async def work(here: SharingTeam, name: str) -> None:
        chance = random.Random(f"{seed} {name}")
        for _ in range(ACTS):
            new, answer = await act(here, uid, other, name, chance)
            assert answer.status_code in (200, 201, 204, 404), answer.text
            if new:
                assigned.append((new["user"], new["permission"]))
            check(await here.list_assignments(uid, name))

    await asyncio.gather(*(work(here, name) for here, name in zip(teams, MANAGERS, strict=True)))
    for each in (uid, other):
        await replay(team, each)
    rows = held_by_name(await team.list_assignments(uid))
    told = await team.history(uid)
    removed = {
        (last_segment(row["user"]), last_segment(row["permission"])) for row in told if row["effect"] == "removed"
    }
    makers = {last_segment(row["by"]) for row in told if row["act"] != "replace"}
    assert set(MANAGERS) <= makers
    for name, permission in assigned:
        assert permission in rows[name] or (name, permission) in removed, "an assignment that was acknowledged is gone"


async def replay(team: SharingTeam, uid: str) -> None:
    """Every effect of the history fits the state it met, and all of them together give the state there is."""
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
    check(rows)
    now = held_by_name(rows)
    now.pop("owner")
    assert {name: some for name, some in held.items() if some} == now


async def test_two_lists_that_replace_everything_at_once(teams: tuple[SharingTeam, SharingTeam]) -> None:
    """One of them wins whole; nobody ends up with half of each."""
    team = teams[0]
    uid = await team.create_asset()
    names = ("ann", "bob", "viewer", "editor")
    lists = [[{"user": name, "permission": permission} for name in names] for permission in PERMISSIONS[3:5]]
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


async def test_managers_who_remove_each_other(teams: tuple[SharingTeam, SharingTeam]) -> None:
    """Of two who remove each other at the same moment one is first, and the other is a manager no more."""
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
        told = await team.history(uid)
        assert len({last_segment(row["by"]) for row in told[: len(told) - before]}) == 1
    await replay(team, uid)


async def test_who_lost_the_right_meanwhile_is_refused(team: SharingTeam, monkeypatch: pytest.MonkeyPatch) -> None:
    """He was a manager when he was first asked, and is none when it is his turn."""
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

            async def and_meanwhile(access: AssetAuthorizer, asked: str, caller: Caller) -> AuthorizedAsset:
                found = await to(access, asked, caller)
                if caller.username == "manager" and asked == uid:  # noqa: B023
                    monkeypatch.undo()
                    await team.request_assignments(uid, "owner", "DELETE", f"{row}/")  # noqa: B023
                return found

            monkeypatch.setattr(AssetAuthorizer, "authorize", and_meanwhile)
            answer = await team.request_assignments(uid, "manager", method, rest, **body)
            expected = 404 if rest.startswith("p") else status
            assert answer.status_code == expected, (method, rest, answer.text)
            assert await team.permissions_of(uid, "viewer") == {"view_asset"}
            assert await team.permissions_of(uid, "bob") == set()
