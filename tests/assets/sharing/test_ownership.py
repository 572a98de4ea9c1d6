"""Transfer of all assets of a user, on SQLite and PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, assignments, has_not_ended
from fieldgate.db.log import log
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from tests.access.permission_world import PermissionWorld, WorldAsset, WorldUser
from tests.conftest import Service, StartService
from tests.data.sql import read_sql


class TransferWorld:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        create = self.world.create_user
        self.root = await create(username="root", is_superuser=True)
        self.omar, self.amina, self.zoe = await create(), await create(), await create()
        self.collection = await self.world.create_asset(self.omar, "collection")
        self.survey = await self.world.create_asset(self.omar, "survey", self.collection)
        self.other = await self.world.create_asset(self.zoe, "survey")
        self.block = await self.world.create_asset(self.omar, "block")

    async def transfer(
        self, to: WorldUser, *, dry_run: bool = False, by: WorldUser | None = None
    ) -> dict[str, Any]:
        path = f"/api/v2/users/{self.omar.username}/transfer/{'?dry_run' if dry_run else ''}"
        answer = await self.service.client.post(
            path, json={"to": to.username}, headers=(by or self.root).headers
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def owners(self) -> dict[int, int]:
        with read_sql(self.service) as connection:
            return {
                row.id: row.owner_id
                for row in connection.execute(select(assets.c.id, assets.c.owner_id))
            }

    async def assignments_of(self, user: WorldUser) -> set[tuple[int, str]]:
        with read_sql(self.service) as connection:
            query = select(assignments.c.asset_id, assignments.c.permission).where(
                assignments.c.user_id == user.id
            )
            return {
                (row.asset_id, row.permission)
                for row in connection.execute(query.where(has_not_ended()))
            }

    async def history(self, asset: WorldAsset) -> list[Any]:
        with read_sql(self.service) as connection:
            query = select(log).where(
                log.c.object_uid == asset.uid, log.c.details["act"].as_string() == "transfer"
            )
            return list(connection.execute(query.order_by(log.c.id)).all())


@pytest.fixture
async def scene(start: StartService, database_url: str) -> AsyncIterator[TransferWorld]:
    async with start(database_url=database_url) as service:
        scene = TransferWorld(service)
        await scene.set_up()
        yield scene


async def test_transfer_moves_ownership_and_keeps_other_assignments(scene: TransferWorld) -> None:
    grant = scene.world.grant
    await grant(scene.amina, scene.survey, "partial_submissions")
    await grant(scene.amina, scene.block, "view_asset")
    await grant(scene.amina, scene.other, "view_asset")
    await grant(scene.zoe, scene.collection, "change_asset")
    kept = await scene.assignments_of(scene.zoe)
    before = await scene.owners()
    preview = await scene.transfer(scene.amina, dry_run=True)
    assert (await scene.owners(), await scene.assignments_of(scene.zoe)) == (before, kept)
    assert await scene.history(scene.survey) == []
    done = await scene.transfer(scene.amina)
    assert {**preview, "dry_run": False} == done
    assert (done["count"], done["asset_types"]) == (3, {"block": 1, "collection": 1, "survey": 1})
    moved = {each.id: scene.amina.id for each in (scene.collection, scene.survey, scene.block)}
    assert await scene.owners() == {**before, **moved}
    assert await scene.assignments_of(scene.amina) == {(scene.other.id, "view_asset")}
    assert await scene.assignments_of(scene.zoe) == kept
    assert (
        done["assignments_removed"] == 3
    )  # partial_submissions and view_asset, and view_asset of the block
    for asset in (scene.collection, scene.survey, scene.block):
        statuses = [
            (await scene.service.get(asset.path, headers=user.headers)).status_code
            for user in (scene.amina, scene.omar, scene.zoe)
        ]
        assert statuses == [200, 404, 404 if asset is scene.block else 200]
    assert (await scene.transfer(scene.amina))["count"] == 0


async def test_transfer_takes_the_trash_along(scene: TransferWorld) -> None:
    for asset in (scene.collection, scene.block):
        deleted = await scene.service.request("DELETE", asset.path, headers=scene.omar.headers)
        assert deleted.status_code == 204
    preview = await scene.transfer(scene.amina, dry_run=True)
    done = await scene.transfer(scene.amina)
    assert (preview["count"], done["count"]) == (3, 3)
    for asset in (scene.collection, scene.block):
        path = f"{asset.path}undelete/"
        assert (
            await scene.service.request("POST", path, headers=scene.omar.headers)
        ).status_code == 404
        assert (await scene.service.request("POST", path, headers=scene.amina.headers)).is_success
    survey = await scene.service.get(scene.survey.path, headers=scene.amina.headers)
    assert survey.json()["parent"].endswith(scene.collection.path)
    for path in ("/api/v2/assets/deleted/", "/api/v2/assets/"):
        assert (await scene.service.get(path, headers=scene.omar.headers)).json()["count"] == 0


async def test_history_of_a_transfer(scene: TransferWorld) -> None:
    await scene.world.grant(scene.amina, scene.survey, "partial_submissions")
    await scene.transfer(scene.amina)
    owner = rules.owner_permissions("survey")
    former, new = await scene.history(scene.survey)
    assert (former.action, new.action) == ("modify-user-permissions", "transfer")
    assert {(row.log_type, row.user_id, row.owner_id) for row in (former, new)} == {
        ("project-history", scene.root.id, scene.omar.id)
    }
    assert (former.details["before"], former.details["after"]) == (sorted(owner), [])
    assert (new.details["before"], new.details["after"]) == ([PARTIAL, "view_asset"], sorted(owner))
    effects = [
        (row.subject_id, *effect[:2]) for row in (former, new) for effect in row.details["effects"]
    ]
    assert len(set(effects)) == len(effects) == former.effect_count + new.effect_count
    assert set(effects) == {
        *((scene.omar.id, each, "removed") for each in owner),
        *((scene.amina.id, each, "granted") for each in owner - {"view_asset"}),
        (scene.amina.id, PARTIAL, "removed"),
    }
    shown = await scene.service.get(
        f"{scene.survey.path}permission-assignments/history/", headers=scene.amina.headers
    )
    assert shown.json()["count"] == len(shown.json()["results"]) == len(effects)
    assert await scene.history(scene.other) == []


async def test_former_owner_keeps_what_a_collection_of_others_passes_down(
    scene: TransferWorld,
) -> None:
    shelf = await scene.world.create_asset(scene.zoe, "collection")
    inside = await scene.world.create_asset(scene.omar, "survey", shelf)
    await scene.world.grant(scene.omar, shelf, "view_asset")
    await scene.transfer(scene.amina)
    assert (await scene.service.get(inside.path, headers=scene.omar.headers)).status_code == 200
    assert (
        await scene.service.request("DELETE", inside.path, headers=scene.omar.headers)
    ).status_code == 403


async def test_transfer_while_assets_are_shared_and_created(scene: TransferWorld) -> None:
    """Whatever comes first: afterwards the new owner has no assignments on own assets, as for every owner."""
    surveys = [
        await scene.world.create_asset(scene.omar, "survey", scene.collection) for _ in range(4)
    ]

    async def share(asset: WorldAsset) -> int:
        body = {"user": scene.amina.username, "permission": "view_asset"}
        path = f"{asset.path}permission-assignments/"
        return (
            await scene.service.client.post(path, json=body, headers=scene.root.headers)
        ).status_code

    async def create() -> int:
        answer = await scene.service.client.post(
            "/api/v2/assets/", json={"name": "New"}, headers=scene.omar.headers
        )
        return answer.status_code

    results = await asyncio.gather(
        *(share(asset) for asset in surveys),
        scene.transfer(scene.amina),
        *(create() for _ in range(3)),
    )
    moved = results[len(surveys)]
    assert isinstance(moved, dict)
    assert all(status in (201, 400, 409) for status in results if isinstance(status, int)), results
    owners = await scene.owners()
    own = {asset_id for asset_id, owner_id in owners.items() if owner_id == scene.amina.id}
    assert len(own) == moved["count"] >= len(surveys) + 3
    assert not {asset_id for asset_id, _ in await scene.assignments_of(scene.amina)} & own


@pytest.mark.parametrize(
    "to", ["nobody", "AnonymousUser", "", "omar itself", "disabled", "https://x/api/v2/assets/a/"]
)
async def test_refused_transfers_change_nothing(scene: TransferWorld, to: str) -> None:
    await scene.world.disable(scene.zoe)
    name = {"omar itself": scene.omar.username, "disabled": scene.zoe.username}.get(to, to)
    before = await scene.owners()
    for query in ("", "?dry_run"):
        path = f"/api/v2/users/{scene.omar.username}/transfer/{query}"
        answer = await scene.service.client.post(
            path, json={"to": name}, headers=scene.root.headers
        )
        assert (answer.status_code, list(answer.json())) == (400, ["to"])
    assert await scene.owners() == before
