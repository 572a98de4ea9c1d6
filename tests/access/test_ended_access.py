"""Access that ends: from that moment nothing is granted, in every process, without a write."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import BigInteger, literal, type_coerce

from fieldgate.assets.authorization import AssignmentScope
from fieldgate.assets.tables import assignments
from fieldgate.db import Timestamp, now
from fieldgate.permissions import rules
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, generate_world
from tests.access.test_visibility_sql import how_shared, is_in_list
from tests.conftest import Service, StartService, nightly_only
from tests.data.sql import write_sql

PATH = "/api/v2/assets/"


async def end_all(service: Service) -> None:
    """Let all assignments end now: no version is raised."""
    moment = now()
    with write_sql(service) as connection:
        end = moment.replace(
            microsecond=moment.microsecond // 1000 * 1000
        )  # the clock of SQLite has milliseconds
        connection.execute(assignments.update().values(expires_at=end))


async def let_an_hour_pass(service: Service) -> None:
    """Move all ends towards the past."""
    with write_sql(service, "assets") as connection:
        hour = literal(timedelta(hours=1) // timedelta(microseconds=1), BigInteger)
        moved = type_coerce(type_coerce(assignments.c.expires_at, BigInteger) - hour, Timestamp)
        connection.execute(assignments.update().values(expires_at=moved))


def scope_at(scope: AssignmentScope, moment: datetime) -> AssignmentScope:
    """What is left of the assignments at a time: those that have not ended."""
    direct, on_collection = (
        {
            user_id: [row for row in rows if row.expires_at is None or row.expires_at > moment]
            for user_id, rows in by_user.items()
        }
        for by_user in (scope.direct, scope.on_collection)
    )
    return msgspec.structs.replace(scope, direct=direct, on_collection=on_collection)


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2, 3)])
async def test_at_every_time_access_is_that_of_what_has_not_ended(
    start: StartService, database_url: str, seed: int
) -> None:
    """In lists (SQL), single assets (rules) and explanations."""
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        began = now()
        scopes = {asset.uid: await world.load_assignments(asset) for asset in world.assets}
        counts = []
        for hours in range(4):
            left = {
                uid: scope_at(scope, began + timedelta(hours=hours))
                for uid, scope in scopes.items()
            }
            counts.append(
                sum(len(rows) for scope in left.values() for rows in scope.direct.values())
            )
            for user in [each for each in world.users if not each.is_disabled]:
                answer = await service.get(f"{PATH}?limit=1000", headers=user.headers)
                listed = {each["uid"]: each["status"] for each in answer.json()["results"]}
                assert listed == {
                    asset.uid: how_shared(world, asset, left[asset.uid])
                    for asset in world.assets
                    if is_in_list(user, asset, left[asset.uid])
                }
                for asset in world.assets:
                    state = left[asset.uid].state_of(user.id)
                    allowed = rules.effective_permissions(state, asset.asset_type)
                    query = f"explain/?user={user.username}&permission=view_asset"
                    explained = await service.get(
                        f"{asset.path}permission-assignments/{query}", headers=user.headers
                    )
                    if not user.is_superuser:
                        assert explained.status_code == (200 if "view_asset" in allowed else 404)
                        found = await service.get(asset.path, headers=user.headers)
                        assert found.status_code == explained.status_code
                    if not user.is_superuser and "view_asset" in allowed:
                        shown = {each["codename"] for each in found.json()["effective_permissions"]}
                        assert shown - {"delete_asset"} == allowed
                        assert explained.json()["allowed"]
            await let_an_hour_pass(service)
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > counts[-1]


@pytest.mark.parametrize("through", ["the form", "a team", "its collection", "the public"])
async def test_lists_and_etags_change_when_access_ends(
    start: StartService, database_url: str, through: str
) -> None:
    """Of two processes, both with the responses of before in their caches."""
    async with start(database_url=database_url) as one, start(database_url=database_url) as other:
        world = PermissionWorld(one)
        owner, reader = await world.create_user(), await world.create_user()
        collection = await world.create_asset(owner, "collection")
        form = await world.create_asset(owner, "survey", collection)
        shared = form if through in ("the form", "a team") else collection
        public_list = f"{PATH}?status=public-discoverable"
        await world.grant(
            await world.create_team(reader) if through == "a team" else reader, shared, "view_asset"
        )
        if through == "the public":
            await world.grant(PUBLIC_USER, collection, "discover_asset")
        paths = {
            "listed": (PATH, reader.headers),
            "searched": (f"{PATH}?q=asset_type:survey", reader.headers),
            "public": (public_list, {}),
            "shared with": (f"{form.path}permission-assignments/", owner.headers),
        }

        async def ask(service: Service, name: str, etag: str = "") -> Any:
            path, headers = paths[name]
            return await service.get(
                path, headers={**headers, **({"If-None-Match": etag} if etag else {})}
            )

        before = {}
        for name in paths:
            for service in (one, other):
                answer = await ask(service, name)
                assert (await ask(service, name, answer.headers["etag"])).status_code == 304
            before[name] = answer.headers["etag"], answer.json()
        assert before["listed"][1]["count"] == (1 if shared is form else 2)
        await end_all(one)
        for name, (etag, body) in before.items():
            for service in (one, other):
                answer = await ask(service, name, etag)
                assert answer.status_code == 200, name
                assert answer.headers["etag"] != etag
                if name != "public" or through == "the public":
                    assert answer.json() != body
        for service in (one, other):
            assert (await ask(service, "listed")).json()["count"] == 0
            assert (await ask(service, "searched")).json()["results"] == []
            assert (await ask(service, "public")).json()["count"] == 0
            assert {
                each["user"].rsplit("/", 2)[1]
                for each in (await ask(service, "shared with")).json()
            } == {owner.username}
            assert (await service.get(form.path, headers=reader.headers)).status_code == 404
            assert (await service.get(form.path, headers=owner.headers)).json()[
                "status"
            ] == "private"
