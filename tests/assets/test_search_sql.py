"""Searches in SQL find what the same search finds in Python, in the records that the caller sees."""

import random
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.assets.store import name_key, tags_key
from fieldgate.assets.tables import assets
from fieldgate.i18n.folding import fold_text
from tests.access.permission_world import PUBLIC_USER, PermissionWorld, WorldUser, generate_world
from tests.assets.search_expressions import matches, random_expression, to_text
from tests.conftest import Service, StartService, nightly_only
from tests.data.sql import read_sql, write_sql

PATH = "/api/v2/assets/"
NAMES = (
    "Market 100%",
    "under_score",
    "École Été",
    "école",
    "ecole",
    "Santé à l’hôpital",
    "إحصاء الصحّة",
    "احصاء الصحه ٢٠٢٦",
    "it's (1)",
    'a "quoted" name',
    "Straße",
    "back\\slash",
)
TAGS = ("water", "Water", "subject:fungus", "été", 'a "b"', "100%")


async def records(service: Service, user: WorldUser, **parameters: str) -> list[dict[str, Any]]:
    if user is PUBLIC_USER:
        parameters["status"] = "public-discoverable"
    response = await service.get(PATH, params={"limit": "1000", **parameters}, headers=user.headers)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["results"]
    return found


async def rename(world: PermissionWorld, rng: random.Random) -> None:
    with write_sql(world.service) as connection:
        for asset in world.assets:
            name, tags = rng.choice(NAMES), rng.sample(TAGS, rng.randint(0, 3))
            values = {
                "name": name,
                "name_key": name_key(name),
                "search_text": fold_text(name),
                "tags": tags,
                "tags_key": tags_key(tags),
            }
            connection.execute(assets.update().where(assets.c.id == asset.id).values(values))


@pytest.mark.parametrize("seed", [0, *nightly_only(1)])
async def test_sql_finds_what_python_finds(
    start: StartService, database_url: str, seed: int
) -> None:
    async with start(database_url=database_url) as service:
        rng, world = random.Random(seed), await generate_world(service, seed)
        await rename(world, rng)
        uids = [asset.uid for asset in world.assets]
        usernames = [user.username for user in world.users]
        parts = (
            "a",
            "É",
            "%",
            "_",
            "100%",
            "ss",
            "\\",
            "(1)",
            "'",
            "’",
            '"',
            "e\u0301",
            "احصاء",
            "ة",
            "26",
        )
        values = {
            "": parts,
            "name__icontains": parts,
            "name": [*NAMES, "ÉCOLE", "ECOLE", "STRASSE", "a"],
            "asset_type": ["survey", "SURVEY", "collection", "block", "florb"],
            "uid": [*uids, "anope", "a" * 100],
            "owner__username": [*usernames, usernames[0].upper(), "nobody"],
            "owner__username__icontains": ["USER-", "üser-", usernames[1][:8], "%"],
            "tags": [*TAGS, "nope", "a"],
            "tags__name": TAGS,
            "tags__name__icontains": [*parts, "WATER", "wat", "ÉT", "ete"],
            "parent": ["null", *uids, "nope"],
            "parent__uid": uids,
        }
        active = [user for user in world.users if not user.is_disabled]
        for user in (*active, PUBLIC_USER):
            visible = await records(service, user)
            for _ in range(12):
                expression = random_expression(rng, values)
                found = await records(service, user, q=to_text(expression))
                expected = [record["uid"] for record in visible if matches(expression, record)]
                assert [record["uid"] for record in found] == expected, to_text(expression)


async def test_hidden_assets_are_not_found(start: StartService, database_url: str) -> None:
    """Neither an asset nor a collection that the caller cannot view changes what a search returns."""
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        owner, viewer, superuser = [
            await world.create_user(is_superuser=index == 2) for index in range(3)
        ]
        collection = await world.create_asset(owner, "collection")
        inside = await world.create_asset(owner, "survey", collection)
        hidden = await world.create_asset(owner)
        await world.grant(viewer, inside, "view_asset")
        with read_sql(service) as connection:
            hidden_name = connection.execute(
                select(assets.c.name).where(assets.c.id == hidden.id)
            ).scalar_one()
        for query in (
            f"uid:{hidden.uid}",
            f'name:"{hidden_name}"',
            f"uid:{collection.uid}",
            "asset_type:collection",
        ):
            assert await records(service, viewer, q=query) == [], query
        everything = [record["uid"] for record in await records(service, viewer)]
        assert everything == [inside.uid]
        # The record shows no collection, so a search must not reveal it.
        assert (await records(service, viewer))[0]["parent"] is None
        assert await records(service, viewer, q=f"parent__uid:{collection.uid}") == []
        assert await records(service, viewer, q="NOT parent:null") == []
        assert [each["uid"] for each in await records(service, viewer, q="parent:null")] == [
            inside.uid
        ]
        assert await records(service, PUBLIC_USER, q=f"uid:{inside.uid} OR NOT uid:x") == []
        await world.grant(superuser, inside, "view_asset")
        assert len(await records(service, superuser, q=f"parent:{collection.uid}")) == 1
        assert len(await records(service, owner, q=f"parent:{collection.uid}")) == 1


async def test_ids_times_and_fields_of_kobotoolbox(start: StartService, database_url: str) -> None:
    async with start(database_url=database_url) as service:
        world = PermissionWorld(service)
        user, other = await world.create_user(), await world.create_user()
        old, new = await world.create_asset(user), await world.create_asset(user)
        hidden = await world.create_asset(other)
        times = {
            old.id: datetime(2026, 1, 31, 23, 59, tzinfo=UTC),
            new.id: datetime(2026, 2, 1, tzinfo=UTC),
        }
        with write_sql(service) as connection:
            for number, time in times.items():
                moved = assets.update().where(assets.c.id == number)
                connection.execute(moved.values(created_at=time, modified_at=time))
        everything = [new.uid, old.uid]
        for query, expected in (
            (f"pk:{old.id}", [old.uid]),
            (f"pk:{old.id} OR pk:{new.id} OR pk:{hidden.id}", everything),
            (f"pk:{2**40}", []),
            ("date_modified__gte:2026-02-01", [new.uid]),
            ("date_modified__gt:2026-02-01", []),
            ("date_created__lte:2026-02-01T00:00:00Z", everything),
            ('date_created__lt:"2026-02-01 00:00" AND NOT pk:1000000', [old.uid]),
            ("settings__sector__value:Health", []),
            ("settings__country[]__value:CAN OR summary__languages[]__icontains:fr", []),
            ("_deployment_status:deployed", []),
            (f"name__startswith:survey OR uid:{old.uid}", [old.uid]),
            ("NOT settings__organization:x", everything),
        ):
            assert [each["uid"] for each in await records(service, user, q=query)] == expected, (
                query
            )
        for query in (
            "owner__password:x",
            "owner__password__startswith:a",
            "pk:x",
            "date_modified__gte:soon",
            "x:y",
        ):
            response = await service.get(PATH, params={"q": query}, headers=user.headers)
            assert (response.status_code, list(response.json())) == (400, ["q"]), query
