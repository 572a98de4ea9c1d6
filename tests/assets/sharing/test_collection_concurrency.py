"""Many who write to collections and to what is in them at once: nobody waits for ever, and nothing is broken."""

import asyncio
import random
from collections import defaultdict
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, assignment_history, assignments
from fieldgate.errors import NotFound
from fieldgate.imports.worker import ImportWorker
from fieldgate.permissions import rules
from fieldgate.settings import Settings
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam
from tests.assets.sharing.test_concurrency import teams
from tests.imports.workbooks import xlsx

__all__ = ["teams"]  # a fixture

ACTS = 25  # of each worker
KINDS = ("many", "unmany", "replace", "clone", "assign", "clear", "rename", "delete", "delete collection")
WEIGHTS = (5, 4, 4, 4, 3, 2, 4, 2, 1)
HOLDERS = ("ann", "bob", "viewer", "editor")
PERMISSIONS = ("view_asset", "change_asset", "manage_asset")
TAKEN = (200, 201, 204, 400, 404)  # 400: cloned onto another type; 404: deleted by another worker


class Shelves:
    """Two collections with two assets in each, made anew when they are deleted."""

    def __init__(self, team: SharingTeam) -> None:
        self.team = team
        self.collections: list[str] = []
        self.inside: list[str] = []

    async def fill(self) -> None:
        self.collections = [await self.team.create_asset("collection") for _ in range(2)]
        self.inside = [await self.team.create_asset(parent=each) for each in self.collections for _ in range(2)]

    @property
    def all(self) -> list[str]:
        return [*self.collections, *self.inside]

    async def again(self, place: int) -> None:
        """Another asset in the place of one that is deleted; nothing where its collection is gone as well."""
        parent = self.collections[place // 2]
        self.inside[place] = await self.team.create_asset(parent=parent if await self._is_there(parent) else None)

    async def collection_again(self, place: int) -> None:
        self.collections[place] = await self.team.create_asset("collection")
        for each in (2 * place, 2 * place + 1):
            await self.again(each)

    async def _is_there(self, uid: str) -> bool:
        return (await self.team.request("owner", "GET", f"/api/v2/assets/{uid}/")).status_code == 200


async def act(team: SharingTeam, shelves: Shelves, chance: random.Random) -> list[httpx.Response]:
    kind = chance.choices(KINDS, WEIGHTS)[0]
    uid, name, permission = chance.choice(shelves.all), chance.choice(HOLDERS), chance.choice(PERMISSIONS)
    if kind in ("many", "unmany"):
        some = chance.sample(shelves.all, 4)  # in any order: it is not the order of the request that counts
        body = {"assets": some, "users": chance.sample(HOLDERS, 2), "permissions": [permission]}
        return [await team.request("owner", "POST", f"{BATCH_PATH}{'add' if kind == 'many' else 'remove'}/", json=body)]
    if kind == "replace":
        new = [{"user": each, "permission": chance.choice(PERMISSIONS)} for each in chance.sample(HOLDERS, 2)]
        return [await team.request_assignments(uid, "owner", "POST", "bulk/", json=new)]
    if kind == "clone":
        source = chance.choice([each for each in shelves.all if each != uid])
        return [await team.request_assignments(uid, "owner", "PATCH", "clone/", json={"clone_from": source})]
    if kind == "clear":
        return [await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": name})]
    if kind == "rename":
        return [await team.request("owner", "PATCH", f"/api/v2/assets/{uid}/", json={"name": f"{chance.random()}"})]
    if kind == "delete":
        place = chance.randrange(4)
        answer = await team.request("owner", "DELETE", f"/api/v2/assets/{shelves.inside[place]}/")
        await shelves.again(place)
        return [answer]
    if kind == "delete collection":
        place = chance.randrange(2)
        answer = await team.request("owner", "DELETE", f"/api/v2/assets/{shelves.collections[place]}/")
        await shelves.collection_again(place)
        return [answer]
    return [await team.request_assignments(uid, "owner", "POST", json={"user": name, "permission": permission})]


async def stored(team: SharingTeam) -> dict[tuple[int, int], tuple[set[str], set[str]]]:
    """What is granted and what is denied, by asset and user."""
    found: dict[tuple[int, int], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    async with team.service.database.read_transaction() as connection:
        for row in await connection.execute(select(assignments)):
            found[row.asset_id, row.user_id][row.is_denied].add(row.permission)
    return dict(found)


async def retold(team: SharingTeam) -> dict[tuple[int, int], tuple[set[str], set[str]]]:
    """The same as the history has it, every effect of which must fit the state it met."""
    found: dict[tuple[int, int], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    async with team.service.database.read_transaction() as connection:
        rows = (await connection.execute(select(assignment_history).order_by(assignment_history.c.id))).all()
    for row in rows:
        granted, denied = found[row.asset_id, row.user_id]
        which = granted if row.what in ("granted", "removed") else denied
        assert (row.permission in which) == (row.what in ("removed", "allowed")), row
        (which.add if row.what in ("granted", "denied") else which.remove)(row.permission)
    return {key: sets for key, sets in found.items() if any(sets)}


async def types(team: SharingTeam) -> dict[int, str]:
    async with team.service.database.read_transaction() as connection:
        return {row.id: row.asset_type for row in await connection.execute(select(assets))}


@pytest.mark.parametrize("seed", range(2))
async def test_collections_and_what_is_in_them(teams: tuple[SharingTeam, SharingTeam], seed: int) -> None:
    team, beside = teams
    shelves = Shelves(team)
    await shelves.fill()
    done: dict[int, int] = defaultdict(int)

    async def write(here: SharingTeam, number: int) -> None:
        chance = random.Random(f"{seed} {number}")
        found = 0
        for _ in range(3 * ACTS):  # some come too late for what another worker deletes
            if found >= ACTS:
                break
            try:
                answers = await act(here, shelves, chance)
            except NotFound:  # what was to be put into a collection, which is deleted
                continue
            for answer in answers:
                assert answer.status_code in TAKEN, answer.text
                done[answer.status_code] += 1
                found += answer.status_code != 404

    async def import_into() -> None:
        worker = ImportWorker(Settings(), team.service.database)
        for number in range(4):
            sent: dict[str, Any] = {
                "files": {"file": ("household.xlsx", xlsx())},
                "data": {"destination": shelves.inside[number]},
            }
            answer = await team.request("owner", "POST", "/api/v2/imports/", **sent)
            assert answer.status_code in (201, 404), answer.text
            if answer.status_code == 404:
                continue
            assert await worker.process_one()
            record = (await team.request("owner", "GET", answer.json()["url"])).json()
            told = (record["status"], record["messages"].get("error_type"))
            assert told in (("complete", None), ("error", "destination_gone"))

    async with asyncio.timeout(60):
        await asyncio.gather(import_into(), *(write(teams[number % 2], number) for number in range(4)))
    assert done[200] + done[201] + done[204] > 2 * ACTS, done
    rows, kinds = await stored(team), await types(team)
    assert rows == await retold(beside)
    for (asset, _), (granted, denied) in rows.items():
        assert not granted & denied
        assert rules.with_implied(granted, kinds[asset]) == granted
        assert rules.find_contradiction(granted, kinds[asset]) is None
