"""Users, assets and who was given what: situations to ask about."""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import select

from fieldgate.accounts.store import IssuedBy
from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME
from fieldgate.assets.sharing.model.assignments import Assignment, AssignmentScope
from fieldgate.assets.store import AssetStore, NewAsset
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import new_uid, now
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Filters, RuleOutcome
from tests.conftest import Service

SOME: Filters = {"view_submissions": ({"_submitted_by": "amina"},)}


class Person(msgspec.Struct):
    """Somebody, with a token where he can have one."""

    id: int
    username: str
    headers: dict[str, str] = {}
    is_superuser: bool = False
    is_disabled: bool = False


THE_PUBLIC_ITSELF = Person(PUBLIC_USER_ID, PUBLIC_USERNAME)


class Thing(msgspec.Struct):
    """An asset."""

    id: int
    uid: str
    asset_type: str
    owner: Person
    parent: "Thing | None" = None

    @property
    def path(self) -> str:
        return f"/api/v2/assets/{self.uid}/"


class World:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.store = AssetStore(service.database, service.changes)
        self.people: list[Person] = []
        self.things: list[Thing] = []

    async def person(self, **details: Any) -> Person:
        username, number = await self.service.user(**details)
        token = await self.service.store.issue_token(number, IssuedBy.COMMAND, None)
        made = Person(number, username, {"Authorization": f"Token {token}"}, details.get("is_superuser", False))
        self.people.append(made)
        return made

    async def disable(self, person: Person) -> None:
        await self.service.store.disable_user(person.username)
        person.is_disabled = True

    async def thing(self, owner: Person, asset_type: str = "survey", parent: Thing | None = None) -> Thing:
        new = NewAsset(
            owner_id=owner.id,
            asset_type=asset_type,
            name=f"{asset_type} {len(self.things)}",
            content={},
            summary={},
            xform="<xform/>" if asset_type == "survey" else None,
            parent_id=None if parent is None else parent.id,
        )
        async with self.service.database.transaction() as connection:
            [(number, uid)] = await self.store.create(connection, [new])
        made = Thing(number, uid, asset_type, owner, parent)
        self.things.append(made)
        return made

    async def known(self, uid: str, owner: Person) -> Thing:
        """An asset that was made by other means."""
        async with self.service.database.read_transaction() as connection:
            row = (await connection.execute(select(assets).where(assets.c.uid == uid))).one()
        made = Thing(row.id, uid, row.asset_type, owner)
        self.things.append(made)
        return made

    async def give(self, person: Person, thing: Thing, *codenames: str) -> None:
        place = await self.place(thing)
        filters = SOME if rules.PARTIAL in codenames else None
        await self._write(thing, person, rules.assign(place.state_of(person.id), codenames, thing.asset_type, filters))

    async def take(self, person: Person, thing: Thing, *codenames: str) -> None:
        place = await self.place(thing)
        await self._write(thing, person, rules.remove(place.state_of(person.id), codenames, thing.asset_type))

    async def place(self, thing: Thing) -> AssignmentScope:
        """All that is assigned there, read row by row."""
        above = None if thing.parent is None else thing.parent
        return AssignmentScope(
            asset_type=thing.asset_type,
            owner_id=thing.owner.id,
            direct=await self._rows(thing),
            collection_owner_id=None if above is None else above.owner.id,
            on_collection={} if above is None else await self._rows(above),
        )

    async def _rows(self, thing: Thing) -> dict[int, list[Assignment]]:
        found: dict[int, list[Assignment]] = defaultdict(list)
        async with self.service.database.read_transaction() as connection:
            for row in await connection.execute(select(assignments).where(assignments.c.asset_id == thing.id)):
                found[row.user_id].append(Assignment(row.permission, row.is_denied, row.filters))
        return found

    async def _write(self, thing: Thing, person: Person, outcome: RuleOutcome) -> None:
        standing = outcome.state
        values = [
            *((each, False, dict(standing.filters) if each == rules.PARTIAL else None) for each in standing.granted),
            *((each, True, None) for each in standing.denied),
        ]
        rows = [
            {"uid": new_uid("p"), "asset_id": thing.id, "user_id": person.id, "permission": permission,
             "is_denied": is_denied, "filters": filters, "created_at": now()}
            for permission, is_denied, filters in values
        ]  # fmt: skip
        here = (assignments.c.asset_id == thing.id) & (assignments.c.user_id == person.id)
        async with self.service.database.transaction() as connection:
            await connection.execute(select(assets.c.id).where(assets.c.id == thing.id).with_for_update())
            await connection.execute(assignments.delete().where(here))
            if rows:
                await connection.execute(assignments.insert(), rows)


async def generated(service: Service, seed: int) -> World:
    """Some people, collections and assets, and what came of many acts on them."""
    chance, world = random.Random(seed), World(service)
    for number in range(5):
        await world.person(is_superuser=number == 4)
    collections = [await world.thing(chance.choice(world.people), "collection") for _ in range(2)]
    for asset_type in ("survey", "survey", "survey", "block", "question", "template"):
        parent = chance.choice([None, *collections])
        # Mostly one's own, as imports make them; the rules know of others as well.
        owner = parent.owner if parent is not None and chance.random() < 0.7 else chance.choice(world.people)
        await world.thing(owner, asset_type, parent)
    for _ in range(40):
        await _act(world, chance)
    await world.disable(chance.choice(world.people[:4]))
    return world


async def _act(world: World, chance: random.Random) -> None:
    thing = chance.choice(world.things)
    person = chance.choice([each for each in (*world.people, THE_PUBLIC_ITSELF) if each is not thing.owner])
    possible: Sequence[str] = sorted(rules.assignable(thing.asset_type, to_public=person is THE_PUBLIC_ITSELF))
    act = world.give if chance.random() < 0.7 else world.take
    if possible:
        await act(person, thing, chance.choice(possible))
