"""Concurrent writes to collections and the assets in them: no deadlocks, and a consistent state."""

import asyncio
import random
from collections import defaultdict
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, assignments, is_live
from fieldgate.db.log import log
from fieldgate.errors import NotFound
from fieldgate.imports.worker import ImportWorker
from fieldgate.permissions import rules
from fieldgate.settings import Settings
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam
from tests.assets.sharing.test_concurrency import teams
from tests.data.assets import age_trash, purge_trash
from tests.data.sql import read_sql
from tests.imports.workbooks import xlsx

__all__ = ["teams"]  # a fixture

WRITES = 25  # by each worker
KINDS = ("batch_add", "batch_remove", "replace", "clone", "assign", "clear", "rename", "delete", "delete collection",
         "restore", "restore collection", "in bulk", "purge")  # fmt: skip
WEIGHTS = (5, 4, 4, 4, 3, 2, 4, 2, 1, 3, 3, 3, 1)
HOLDERS = ("ann", "bob", "viewer", "editor")
PERMISSIONS = ("view_asset", "change_asset", "manage_asset")
EXPECTED_STATUSES = (
    200,
    201,
    204,
    400,
    403,
    404,
)  # 400: cloned onto another type; 403, 404: deleted by another worker


class CollectionSet:
    """Two collections with two assets in each, created again when they are deleted."""

    def __init__(self, team: SharingTeam) -> None:
        self.team = team
        self.collections: list[str] = []
        self.inside: list[str] = []

    async def fill(self) -> None:
        self.collections = [await self.team.create_asset("collection") for _ in range(2)]
        self.inside = [
            await self.team.create_asset(parent=each) for each in self.collections for _ in range(2)
        ]

    @property
    def all(self) -> list[str]:
        return [*self.collections, *self.inside]

    async def recreate_asset(self, scope: int) -> None:
        """Replace a deleted asset; without a parent if the collection was deleted, too."""
        parent = self.collections[scope // 2]
        self.inside[scope] = await self.team.create_asset(
            parent=parent if await self._exists(parent) else None
        )

    async def recreate_collection(self, scope: int) -> None:
        self.collections[scope] = await self.team.create_asset("collection")
        for each in (2 * scope, 2 * scope + 1):
            await self.recreate_asset(each)

    async def _exists(self, uid: str) -> bool:
        return (
            await self.team.request("owner", "GET", f"/api/v2/assets/{uid}/")
        ).status_code == 200


async def random_write(
    team: SharingTeam, collection_set: CollectionSet, rng: random.Random
) -> list[httpx.Response]:
    kind = rng.choices(KINDS, WEIGHTS)[0]
    uid, name, permission = (
        rng.choice(collection_set.all),
        rng.choice(HOLDERS),
        rng.choice(PERMISSIONS),
    )
    if kind in ("batch_add", "batch_remove"):
        some = rng.sample(collection_set.all, 4)  # in random order: locking must not depend on it
        body = {"assets": some, "users": rng.sample(HOLDERS, 2), "permissions": [permission]}
        return [
            await team.request(
                "owner", "POST", f"{BATCH_PATH}{kind.removeprefix('batch_')}/", json=body
            )
        ]
    if kind == "replace":
        new = [
            {"user": each, "permission": rng.choice(PERMISSIONS)} for each in rng.sample(HOLDERS, 2)
        ]
        return [await team.request_assignments(uid, "owner", "POST", "bulk/", json=new)]
    if kind == "clone":
        source = rng.choice([each for each in collection_set.all if each != uid])
        return [
            await team.request_assignments(
                uid, "owner", "PATCH", "clone/", json={"clone_from": source}
            )
        ]
    if kind == "clear":
        return [
            await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": name})
        ]
    if kind == "rename":
        return [
            await team.request(
                "owner", "PATCH", f"/api/v2/assets/{uid}/", json={"name": f"{rng.random()}"}
            )
        ]
    if kind == "delete":
        scope = rng.randrange(4)
        answer = await team.request(
            "owner", "DELETE", f"/api/v2/assets/{collection_set.inside[scope]}/"
        )
        await collection_set.recreate_asset(scope)
        return [answer]
    if kind == "delete collection":
        scope = rng.randrange(2)
        answer = await team.request(
            "owner", "DELETE", f"/api/v2/assets/{collection_set.collections[scope]}/"
        )
        await collection_set.recreate_collection(scope)
        return [answer]
    if kind in ("restore", "restore collection"):
        uid = rng.choice(
            collection_set.collections if kind == "restore collection" else collection_set.inside
        )
        steps = (("DELETE", ""), ("POST", "undelete/"))
        return [
            await team.request("owner", method, f"/api/v2/assets/{uid}/{path}")
            for method, path in steps
        ]
    if kind == "purge":
        await asyncio.to_thread(age_trash, team.service)
        await purge_trash(team.service)
        return []
    if kind == "in bulk":
        payload: dict[str, Any] = {"asset_uids": rng.sample(collection_set.all, 3)}
        bodies = [
            {"payload": {**payload, "action": action}}
            for action in ("delete", "undelete", "undelete")
        ]
        return [
            await team.request("owner", "POST", "/api/v2/assets/bulk/", json=body)
            for body in bodies
        ]
    return [
        await team.request_assignments(
            uid, "owner", "POST", json={"user": name, "permission": permission}
        )
    ]


async def stored_permissions(team: SharingTeam) -> dict[tuple[int, int], tuple[set[str], set[str]]]:
    """Return granted and denied permissions, by asset and user."""
    found: dict[tuple[int, int], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    with read_sql(team.service) as connection:
        for row in connection.execute(select(assignments)):
            found[row.asset_id, row.user_id][row.is_denied].add(row.permission)
    return dict(found)


async def replayed_permissions(
    team: SharingTeam,
) -> dict[tuple[int, int], tuple[set[str], set[str]]]:
    """Return the same from the history, and check that every effect fits the state before it."""
    found: dict[tuple[int, int], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    with read_sql(team.service) as connection:
        logged = select(assets.c.id, log.c.subject_id, log.c.details).join_from(
            log, assets, log.c.object_uid == assets.c.uid
        )
        rows = connection.execute(logged.order_by(log.c.id)).all()
    for asset_id, user_id, details in rows:
        granted, denied = found[asset_id, user_id]
        for permission, what, *_ in details.get("effects", ()):
            which = granted if what in ("granted", "removed") else denied
            assert (permission in which) == (what in ("removed", "allowed")), details
            (which.add if what in ("granted", "denied") else which.remove)(permission)
    return {key: sets for key, sets in found.items() if any(sets)}


async def found_in_deleted_collections(team: SharingTeam) -> list[str]:
    """Assets outside the trash in collections that are in it."""
    deleted = assets.alias()
    inside = select(assets.c.uid).join_from(assets, deleted, deleted.c.id == assets.c.parent_id)
    with read_sql(team.service) as connection:
        return list(
            connection.execute(inside.where(is_live(), deleted.c.deleted_at.is_not(None))).scalars()
        )


async def types(team: SharingTeam) -> dict[int, str]:
    with read_sql(team.service) as connection:
        return {row.id: row.asset_type for row in connection.execute(select(assets))}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2))
async def test_concurrent_writes_to_collections_and_assets(
    teams: tuple[SharingTeam, SharingTeam], seed: int
) -> None:
    team, beside = teams
    collection_set = CollectionSet(team)
    await collection_set.fill()
    done: dict[int, int] = defaultdict(int)

    async def write(here: SharingTeam, index: int) -> None:
        rng = random.Random(f"{seed} {index}")
        found = 0
        for _ in range(3 * WRITES):  # some writes fail because another worker deleted the asset
            if found >= WRITES:
                break
            try:
                answers = await random_write(here, collection_set, rng)
            except NotFound:  # the collection was deleted while creating an asset in it
                continue
            for answer in answers:
                assert answer.status_code in EXPECTED_STATUSES, answer.text
                done[answer.status_code] += 1
                found += answer.status_code != 404

    async def import_into() -> None:
        worker = ImportWorker(Settings(), team.service.database)
        for index in range(4):
            sent: dict[str, Any] = {
                "files": {"file": ("household.xlsx", xlsx())},
                "data": {"destination": collection_set.inside[index]},
            }
            answer = await team.request("owner", "POST", "/api/v2/imports/", **sent)
            assert answer.status_code in (201, 404), answer.text
            if answer.status_code == 404:
                continue
            assert await worker.process_one()
            record = (await team.request("owner", "GET", answer.json()["url"])).json()
            reported = (record["status"], record["messages"].get("error_type"))
            assert reported in (("complete", None), ("error", "destination_gone"))

    async with asyncio.timeout(60):
        await asyncio.gather(import_into(), *(write(teams[index % 2], index) for index in range(4)))
    assert done[200] + done[201] + done[204] > 2 * WRITES, done
    assert not await found_in_deleted_collections(team)
    rows, kinds = await stored_permissions(team), await types(team)
    assert rows == await replayed_permissions(beside)
    for (asset, _), (granted, denied) in rows.items():
        assert not granted & denied
        assert rules.with_implied(granted, kinds[asset]) == granted
        assert rules.find_contradiction(granted, kinds[asset]) is None
