"""Users, assets and permissions for tests, also generated at random."""

import random
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import select

from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME, users
from fieldgate.assets.authorization import Assignment, AssignmentScope
from fieldgate.assets.sharing.store import decode_filters
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import new_uid, now
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import RuleViolation
from fieldgate.permissions.rules import RuleOutcome
from fieldgate.permissions.submission_filters import Filters
from tests.conftest import Service
from tests.data.accounts import (
    another_superuser,
    create_team,
    create_token,
    disable_user,
    enable_user,
)
from tests.data.assets import create_asset
from tests.data.sql import first_value, read_sql, write_sql

SAMPLE_FILTERS: Filters = {"view_submissions": ({"_submitted_by": "amina"},)}


class WorldUser(msgspec.Struct):
    id: int
    username: str
    headers: dict[str, str] = {}
    is_superuser: bool = False
    is_disabled: bool = False
    uid: str = ""  # of a team


PUBLIC_USER = WorldUser(PUBLIC_USER_ID, PUBLIC_USERNAME)


class WorldAsset(msgspec.Struct):
    id: int
    uid: str
    asset_type: str
    owner: WorldUser
    parent: "WorldAsset | None" = None

    @property
    def path(self) -> str:
        return f"/api/v2/assets/{self.uid}/"


class PermissionWorld:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.users: list[WorldUser] = []
        self.teams: list[WorldUser] = []
        self.members: dict[int, set[int]] = defaultdict(set)  # ids of teams by user id
        self.assets: list[WorldAsset] = []
        self.deleted: list[WorldAsset] = []

    async def create_user(self, **details: Any) -> WorldUser:
        username, user_id = await self.service.create_user(**details)
        token = create_token(self.service, user_id)
        created = WorldUser(
            user_id,
            username,
            {"Authorization": f"Token {token}"},
            details.get("is_superuser", False),
        )
        self.users.append(created)
        return created

    async def create_team(self, admin: WorldUser, *members: WorldUser) -> WorldUser:
        names = [member.username for member in members]
        uid = await create_team(self.service, admin.headers, f"Team {len(self.teams)}", names)
        with read_sql(self.service) as connection:
            row = connection.execute(select(users).where(users.c.uid == uid)).one()
        self.teams.append(WorldUser(row.id, row.username, uid=uid))
        for each in (admin, *members):
            self.members[each.id].add(row.id)
        return self.teams[-1]

    async def disable(self, user: WorldUser) -> None:
        await disable_user(self.service, user.username)
        user.is_disabled = True

    async def enable(self, user: WorldUser) -> None:
        """Enable a user, with a new token: disabling revoked the one before."""
        await enable_user(self.service, user.username)
        user.is_disabled = False
        token = create_token(self.service, user.id)
        user.headers["Authorization"] = f"Token {token}"

    async def create_asset(
        self, owner: WorldUser, asset_type: str = "survey", parent: WorldAsset | None = None
    ) -> WorldAsset:
        uid = create_asset(
            self.service,
            owner.id,
            asset_type,
            name=f"{asset_type} {len(self.assets)}",
            summary={"row_count": 0, "languages": []},
            xform="<xform/>" if asset_type == "survey" else None,
            collection=None if parent is None else parent.uid,
        )
        asset_id = first_value(self.service, select(assets.c.id).where(assets.c.uid == uid))
        created = WorldAsset(asset_id, uid, asset_type, owner, parent)
        self.assets.append(created)
        return created

    async def delete(self, asset: WorldAsset) -> None:
        """Move an asset to the trash, for an owner who may be disabled."""
        async with another_superuser(self.service) as superuser:
            answer = await self.service.request("DELETE", asset.path, auth=superuser)
        assert answer.status_code == 204, answer.text

    async def restore(self, asset: WorldAsset) -> None:
        async with another_superuser(self.service) as superuser:
            answer = await self.service.request("POST", f"{asset.path}undelete/", auth=superuser)
        assert answer.status_code == 200, answer.text

    async def register_asset(self, uid: str, owner: WorldUser) -> WorldAsset:
        """Add an asset that exists already."""
        with read_sql(self.service) as connection:
            row = connection.execute(select(assets).where(assets.c.uid == uid)).one()
        created = WorldAsset(row.id, uid, row.asset_type, owner)
        self.assets.append(created)
        return created

    async def grant(
        self, user: WorldUser, asset: WorldAsset, *codenames: str, until: datetime | None = None
    ) -> None:
        state = (await self.load_assignments(asset)).state_of(user.id)
        filters = SAMPLE_FILTERS if PARTIAL in codenames else None
        ends = dict.fromkeys(codenames, until)
        await self._save(
            asset, user, rules.assign(state, codenames, asset.asset_type, filters, ends)
        )

    async def revoke(self, user: WorldUser, asset: WorldAsset, *codenames: str) -> None:
        scope = await self.load_assignments(asset)
        await self._save(
            asset, user, rules.remove(scope.state_of(user.id), codenames, asset.asset_type)
        )

    async def load_assignments(self, asset: WorldAsset) -> AssignmentScope:
        """Load all assignments of an asset, row by row."""
        collection = None if asset.parent is None else asset.parent
        return AssignmentScope(
            asset_type=asset.asset_type,
            owner_id=asset.owner.id,
            direct=await self._load_rows(asset),
            collection_owner_id=None if collection is None else collection.owner.id,
            on_collection={} if collection is None else await self._load_rows(collection),
            teams={user_id: sorted(team_ids) for user_id, team_ids in self.members.items()},
        )

    async def _load_rows(self, asset: WorldAsset) -> dict[int, list[Assignment]]:
        found: dict[int, list[Assignment]] = defaultdict(list)
        with read_sql(self.service) as connection:
            for row in connection.execute(
                select(assignments).where(assignments.c.asset_id == asset.id)
            ):
                if row.expires_at is None or row.expires_at > now():
                    filters = row.filters and decode_filters(row.filters)
                    assignment = Assignment(row.permission, row.is_denied, filters, row.expires_at)
                    found[row.user_id].append(assignment)
        return found

    async def _save(self, asset: WorldAsset, user: WorldUser, outcome: RuleOutcome) -> None:
        """Write a state. Everything else that can be assigned was assigned until yesterday."""
        state, a_day = outcome.state, timedelta(days=1)
        possible = rules.assignable(asset.asset_type, to_public=state.is_public)
        values = [
            *((each, False, state.ends.get(each)) for each in state.granted),
            *((each, True, None) for each in state.denied),
            *((each, False, now() - a_day) for each in possible - state.granted - state.denied),
        ]
        filters = dict(state.filters or SAMPLE_FILTERS)
        rows = [
            {"uid": new_uid("p"), "asset_id": asset.id, "user_id": user.id, "permission": permission,
             "is_denied": is_denied, "filters": filters if permission == PARTIAL else None, "created_at": now(),
             "expires_at": ends}
            for permission, is_denied, ends in values
        ]  # fmt: skip
        here = (assignments.c.asset_id == asset.id) & (assignments.c.user_id == user.id)
        with write_sql(self.service, "assets") as connection:
            connection.execute(select(assets.c.id).where(assets.c.id == asset.id).with_for_update())
            connection.execute(assignments.delete().where(here))
            if rows:
                connection.execute(assignments.insert(), rows)


async def generate_world(service: Service, seed: int) -> PermissionWorld:
    """Create users, collections and assets, and make random grants and removals."""
    rng, world = random.Random(seed), PermissionWorld(service)
    for index in range(5):
        await world.create_user(is_superuser=index == 4)
    for _ in range(3):
        await world.create_team(*rng.sample(world.users, rng.randint(1, 3)))
    collections = [
        await world.create_asset(rng.choice(world.users), "collection") for _ in range(2)
    ]
    for asset_type in ("survey", "survey", "survey", "block", "question", "template"):
        parent = rng.choice([None, *collections])
        # Mostly the owner's own assets, as imports create them; the rules also support others.
        owner = (
            parent.owner if parent is not None and rng.random() < 0.7 else rng.choice(world.users)
        )
        await world.create_asset(owner, asset_type, parent)
    for _ in range(40):
        await random_step(world, rng)
    await _deny_what_a_collection_passes_down(world, collections[0])
    await world.disable(rng.choice(world.users[:4]))
    return world


async def _deny_what_a_collection_passes_down(
    world: PermissionWorld, collection: WorldAsset
) -> None:
    """To a reader of the collection, and to its owner, each for one asset of the other."""
    owner, reader = (
        collection.owner,
        next(each for each in world.users if each is not collection.owner),
    )
    await world.grant(reader, collection, "view_asset")
    await world.revoke(reader, await world.create_asset(owner, "survey", collection), "view_asset")
    await world.revoke(owner, await world.create_asset(reader, "survey", collection), "view_asset")


async def random_step(world: PermissionWorld, rng: random.Random) -> None:
    """Grant or remove a permission."""
    thing = rng.choice(world.assets)
    person = rng.choice(
        [each for each in (*world.users, *world.teams, PUBLIC_USER) if each is not thing.owner]
    )
    possible: Sequence[str] = sorted(
        rules.assignable(thing.asset_type, to_public=person is PUBLIC_USER)
    )
    if possible and rng.random() < 0.7:
        hours = rng.choice([None, 1, 2, 3])
        until = None if hours is None else now() + timedelta(hours=hours)
        with suppress(
            RuleViolation
        ):  # it would not end: a collection or team passes it on for longer
            await world.grant(person, thing, rng.choice(possible), until=until)
    elif possible:
        await world.revoke(person, thing, rng.choice(possible))
