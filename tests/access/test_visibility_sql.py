"""Lists and statuses, which SQL decides, are what the rules say, and cost what their reader sees."""

import json
import sqlite3
from typing import Any

import asyncpg
import pytest
from sqlalchemy import event, text

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.sharing.loading import load_visible_many
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetSearch, NewAsset
from fieldgate.assets.tables import assignments
from fieldgate.db import Database, new_uid, now
from fieldgate.identity import User
from fieldgate.pagination import PageRequest
from fieldgate.permissions import rules
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, WorldAsset, WorldUser, generate_world
from tests.conftest import StartService

PATH = "/api/v2/assets/"


def is_held(person: WorldUser, place: AssignmentScope) -> bool:
    return "view_asset" in rules.own_permissions(place.state_of(person.id), place.asset_type)


def is_in_list(person: WorldUser, thing: WorldAsset, place: AssignmentScope) -> bool:
    return is_held(person, place) and (not thing.owner.is_disabled or thing.owner is person)


def how_shared(world: PermissionWorld, thing: WorldAsset, place: AssignmentScope) -> str:
    public = rules.own_permissions(place.state_of(PUBLIC_USER_ID), thing.asset_type)
    if "discover_asset" in public:
        return "public-discoverable"
    if "view_asset" in public:
        return "public"
    others = [each for each in (*world.users, PUBLIC_USER) if each is not thing.owner and not each.is_disabled]
    given = [each for each in others if rules.own_permissions(place.state_of(each.id), thing.asset_type)]
    return "shared" if given else "private"


async def uids(world: PermissionWorld, person: WorldUser, query: str = "") -> set[str]:
    answer = await world.service.get(f"{PATH}?limit=1000&{query}", headers=person.headers)
    found = [record["uid"] for record in answer.json()["results"]]
    assert len(set(found)) == len(found) == answer.json()["count"]
    return set(found)


@pytest.mark.parametrize("seed", range(6))
async def test_lists_and_statuses_are_what_the_rules_say(start: StartService, database_url: str, seed: int) -> None:
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)
        places = {thing.uid: await world.load_assignments(thing) for thing in world.assets}
        statuses = {thing.uid: how_shared(world, thing, places[thing.uid]) for thing in world.assets}
        discoverable = {
            each.uid for each in world.assets
            if statuses[each.uid] == "public-discoverable" and not each.owner.is_disabled
        }  # fmt: skip
        assert await uids(world, PUBLIC_USER) == set()
        for person in [*world.users, PUBLIC_USER]:
            if person.is_disabled:
                assert (await service.get(PATH, headers=person.headers)).status_code == 401
                continue
            assert await uids(world, person, "status=public-discoverable") == discoverable
            if person is PUBLIC_USER:
                continue
            listed = {each.uid for each in world.assets if is_in_list(person, each, places[each.uid])}
            own = {each.uid for each in world.assets if each.owner is person}
            assert await uids(world, person) == listed
            assert await uids(world, person, "status=private") == {uid for uid in own if statuses[uid] == "private"}
            assert await uids(world, person, "status=shared") == listed - own
            public = {uid for uid in listed if statuses[uid] in ("public", "public-discoverable")}
            assert await uids(world, person, "status=public") == public
            for thing in world.assets:
                answer = await service.get(thing.path, headers=person.headers)
                allowed = rules.effective_permissions(places[thing.uid].state_of(person.id), thing.asset_type)
                if person.is_superuser:
                    allowed = rules.owner_permissions(thing.asset_type)
                assert answer.status_code == (200 if "view_asset" in allowed else 404)
                if answer.status_code == 200:
                    told = {each["codename"] for each in answer.json()["effective_permissions"]}
                    may_delete = person.is_superuser or person is thing.owner
                    assert told == allowed | ({"delete_asset"} if may_delete else set())
                    assert answer.json()["status"] == statuses[thing.uid]
                    sees_parent = thing.parent is not None and (
                        person.is_superuser
                        or "view_asset"
                        in rules.effective_permissions(places[thing.parent.uid].state_of(person.id), "collection")
                    )
                    assert (answer.json()["parent"] is not None) == sees_parent


async def test_the_order_of_a_list_is_total(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        reader, giver = await world.create_user(), await world.create_user()
        collection = await world.create_asset(giver, "collection")
        await world.grant(reader, collection, "view_asset")
        for number in range(12):
            thing = await world.create_asset(
                (reader, giver, giver)[number % 3], "survey", collection if number % 3 else None
            )
            if number % 2 and thing.owner is giver:
                await world.grant(reader, thing, "change_asset")
        for ordering in ("date_modified", "-date_modified", "name", "-name", "-date_created"):
            walked: list[str] = []
            url: str | None = f"{PATH}?limit=5&ordering={ordering}"
            while url:
                page = (await service.get(url, headers=reader.headers)).json()
                walked += [record["uid"] for record in page["results"]]
                url = page["next"]
            assert sorted(walked) == sorted(each.uid for each in world.assets)


class Watched:
    """The statements a store sends."""

    def __init__(self, database: Database) -> None:
        self.sent: list[tuple[str, Any]] = []
        event.listen(database._engine.sync_engine, "before_cursor_execute", self._note)

    def _note(self, connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.lstrip().startswith("SELECT"):
            self.sent.append((statement, parameters))


def steps_of_sqlite(database: Database, sent: list[tuple[str, Any]]) -> int:
    """How many steps SQLite's machine takes: the same on every computer."""
    count = 0

    def one_more() -> int:
        nonlocal count
        count += 1
        return 0

    connection = sqlite3.connect(str(database.url.database))
    connection.set_progress_handler(one_more, 1)
    for statement, parameters in sent:
        connection.execute(statement, parameters).fetchall()
    connection.close()
    return count


async def rows_of_postgresql(database: Database, sent: list[tuple[str, Any]]) -> int:
    """How many rows PostgreSQL touches on the way through the indexes: tables this small it would rather read whole."""
    connection = await asyncpg.connect(database.postgres_dsn)
    for way in ("seqscan", "hashjoin", "mergejoin"):
        await connection.execute(f"SET enable_{way} = off")
    await connection.set_type_codec("json", encoder=str, decoder=json.loads, schema="pg_catalog")
    count = 0
    for statement, parameters in sent:
        [[[plan]]] = [await connection.fetchrow(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *parameters)]
        count += _touched(plan["Plan"])
    await connection.close()
    return count


def _touched(node: dict[str, Any]) -> int:
    removed = sum(value for key, value in node.items() if key.startswith("Rows Removed"))
    own = int((node["Actual Rows"] + removed) * node["Actual Loops"])
    return own + sum(map(_touched, node.get("Plans", ())))


async def fill(world: PermissionWorld, owner: WorldUser, many: int, inside: int | None = None) -> None:
    """Assets that nobody but their owner sees."""
    details: dict[str, Any] = {"owner_id": owner.id, "content": {}, "summary": {}, "parent_id": inside}
    new = [NewAsset(asset_type="survey", name=f"form {number}", **details) for number in range(many)]
    async with world.service.database.transaction() as connection:
        await world.store.create(connection, new)


async def analyze(world: PermissionWorld) -> None:
    """Both databases choose their ways by what they counted; a new one has counted nothing yet."""
    async with world.service.database.transaction() as connection:
        await connection.execute(text("ANALYZE"))


async def cost(database: Database, sent: list[tuple[str, Any]]) -> int:
    return steps_of_sqlite(database, sent) if database.is_sqlite else await rows_of_postgresql(database, sent)


# How many assets there are to see with each status, and how many of them are on the first page.
SEEN_WITH_STATUS = {
    None: (101, 50),
    "private": (60, 50),
    "shared": (41, 41),
    "public": (21, 21),
    "public-discoverable": (1, 1),
}


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_what_one_may_not_see_costs_nothing(start: StartService, database_url: str, is_analyzed: bool) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        reader, giver, *strangers = [await world.create_user() for _ in range(32)]
        await fill(world, reader, 60)
        collection = await world.create_asset(giver, "collection")
        await world.grant(reader, collection, "view_asset")
        for _ in range(20):
            await world.create_asset(giver, "survey", collection)
            await world.grant(reader, await world.create_asset(giver), "view_asset")
        await world.grant(PUBLIC_USER, collection, "discover_asset")
        database = Database(database_url)
        costs: dict[str | None, list[int]] = {status: [] for status in SEEN_WITH_STATUS}
        for more in (10, 50):
            for stranger in strangers:
                await fill(world, stranger, more)
                await fill(world, stranger, more, (await world.create_asset(stranger, "collection")).id)
            if is_analyzed:
                await analyze(world)
            for status, expected in SEEN_WITH_STATUS.items():
                watched = Watched(world.service.database)
                count, rows = await world.store.list_visible(
                    User(id=reader.id), AssetSearch(status=status), PageRequest()
                )
                assert (count, len(rows)) == expected, status
                assert len(watched.sent) == 3, "however long the page"
                costs[status].append(await cost(database, watched.sent))
                event.remove(world.service.database._engine.sync_engine, "before_cursor_execute", watched._note)
        await database.close()
        # What is not to be seen grew sixfold. PostgreSQL that has counted nothing takes a slightly longer way then.
        most = 1.05 if is_analyzed or service.database.is_sqlite else 1.2
        assert {status: each for status, each in costs.items() if each[1] > each[0] * most} == {}


async def give_many(world: PermissionWorld, people: list[WorldUser], things: list[int]) -> None:
    """Everyone of these sees everything of this."""
    rows = [
        {"uid": new_uid("p"), "asset_id": thing, "user_id": person.id, "permission": "view_asset",
         "is_denied": False, "filters": None, "created_at": now()}
        for person in people for thing in things
    ]  # fmt: skip
    async with world.service.database.transaction() as connection:
        await connection.execute(assignments.insert(), rows)


@pytest.mark.parametrize("is_analyzed", [True, False])
async def test_an_asset_costs_what_is_on_it_for_its_reader(
    start: StartService, database_url: str, is_analyzed: bool
) -> None:
    """However many others were given it, and however much else the reader and the public were given."""
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        reader, giver, *strangers = [await world.create_user() for _ in range(62)]
        collection = await world.create_asset(giver, "collection")
        things = [await world.create_asset(giver, "survey", collection if number % 2 else None) for number in range(20)]
        for thing in (collection, *things):
            await world.grant(reader, thing, "view_asset")
        find = AssetAuthorizer(service.database)._find
        caller = User(id=reader.id)
        database = Database(database_url)
        costs = []
        for others in (strangers[:10], strangers[10:]):
            await give_many(world, others, [collection.id, *(each.id for each in things)])
            elsewhere = [(await world.create_asset(giver)).id for _ in range(5 * len(others))]
            await give_many(world, [reader, PUBLIC_USER], elsewhere)
            if is_analyzed:
                await analyze(world)
            to = [(find._sql, find._arguments({"uid": thing.uid, "user_id": reader.id})) for thing in things]
            watched = Watched(service.database)
            store = AssignmentStore(service.database, service.data_versions)
            found = await load_visible_many([thing.uid for thing in things], caller, store)
            event.remove(service.database._engine.sync_engine, "before_cursor_execute", watched._note)
            assert {uid: len(shared.visible_to(caller)) for uid, shared in found.items()} == {
                thing.uid: len(rules.owner_permissions("survey")) + (2 if thing.parent else 1) for thing in things
            }
            assert len(watched.sent) <= 3, "however many assets"
            costs.append((await cost(database, to), await cost(database, watched.sent)))
        await database.close()
        for before, after in zip(*costs, strict=True):
            assert after <= before * 1.05, costs
