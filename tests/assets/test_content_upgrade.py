"""Stored content of an older format: upgraded when read, and rewritten in the background."""

import asyncio
import logging
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.assets.content_format import CONTENT_FORMAT, Content, Step
from fieldgate.assets.content_format import STEPS as RELEASED_STEPS
from fieldgate.assets.content_upgrade import ContentUpgrader
from fieldgate.assets.store import AssetStore, NewAsset
from fieldgate.assets.tables import versions
from fieldgate.db import Database, DataVersions
from fieldgate.identity import User
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings


def count_rows(content: Content) -> Content:
    return {**content, "rows": len(content.get("survey", []))}


def rename_rows(content: Content) -> Content:
    if content["rows"] == 13:
        raise RuntimeError("unlucky")
    return {key: value for key, value in content.items() if key != "rows"} | {"size": content["rows"]}


STEPS: tuple[Step, ...] = (*RELEASED_STEPS, count_rows, rename_rows)


async def create(database: Database, sizes: list[int]) -> tuple[User, list[int]]:
    """Assets as this release writes them; the releases of these tests have more steps."""
    changes = DataVersions(database)
    owner = await AccountStore(database, changes).create_user(NewUser(username="amina", password_hash="x"))
    new = [
        NewAsset(owner_id=owner, asset_type="survey", name="a", content={"survey": [{}] * size}, summary={})
        for size in sizes
    ]
    async with database.transaction() as connection:
        created = await AssetStore(database, changes).create(connection, new)
    return User(id=owner, username="amina"), [asset_id for asset_id, _ in created]


async def stored(database: Database) -> list[tuple[int, Any]]:
    query = select(versions.c.content_format, versions.c.content).order_by(versions.c.id)
    async with database.read_transaction() as connection:
        return [(row.content_format, row.content) for row in await connection.execute(query)]


async def test_new_versions_have_the_current_format(database: Database) -> None:
    await create(database, [1])
    assert await stored(database) == [(CONTENT_FORMAT, {"survey": [{}]})]


async def test_content_is_upgraded_when_read(database: Database) -> None:
    user, [asset_id] = await create(database, [2])
    store = AssetStore(database, DataVersions(database), STEPS)
    row = await store.get_visible(user, asset_id)
    assert row is not None
    assert store.content(row) == {"survey": [{}, {}], "size": 2}
    version = await store.get_version(asset_id, row.version_uid)
    assert version is not None
    assert store.content(version) == {"survey": [{}, {}], "size": 2}
    assert await stored(database) == [(CONTENT_FORMAT, {"survey": [{}, {}]})]


async def test_rewriting_does_not_change_what_is_read(database: Database) -> None:
    user, ids = await create(database, [0, 1, 5])
    store = AssetStore(database, DataVersions(database), STEPS)

    async def read() -> list[Any]:
        rows = [await store.get_visible(user, asset_id) for asset_id in ids]
        return [store.content(row) for row in rows if row is not None]

    before = await read()
    assert await ContentUpgrader(database, STEPS).run(asyncio.Event()) == 3
    assert await read() == before
    assert await stored(database) == [(CONTENT_FORMAT + 2, content) for content in before]


async def test_upgrade_continues_over_several_releases(database: Database) -> None:
    await create(database, [4])
    assert await ContentUpgrader(database, STEPS[:-1]).run(asyncio.Event()) == 1
    assert await stored(database) == [(CONTENT_FORMAT + 1, {"survey": [{}] * 4, "rows": 4})]
    assert await ContentUpgrader(database, STEPS).run(asyncio.Event()) == 1
    assert await stored(database) == [(CONTENT_FORMAT + 2, {"survey": [{}] * 4, "size": 4})]
    assert await ContentUpgrader(database, STEPS).run(asyncio.Event()) == 0


async def test_processes_that_upgrade_at_once_do_each_version_once(database: Database) -> None:
    await create(database, list(range(10)))
    other = Database(database.url.render_as_string(hide_password=False))
    counts = await asyncio.gather(
        *(ContentUpgrader(each, STEPS).run(asyncio.Event()) for each in (database, other, database))
    )
    await other.close()
    assert sum(counts) == 10
    assert [content["size"] for _, content in await stored(database)] == list(range(10))


async def test_upgrade_stops_and_continues(database: Database) -> None:
    await create(database, [1, 2, 3])
    stopping = asyncio.Event()

    def stop_after_this(content: Content) -> Content:
        stopping.set()
        return content

    steps = (*RELEASED_STEPS, stop_after_this)
    assert await ContentUpgrader(database, steps).run(stopping) == 1
    assert [version for version, _ in await stored(database)] == [CONTENT_FORMAT + 1, CONTENT_FORMAT, CONTENT_FORMAT]
    assert await ContentUpgrader(database, steps).run(asyncio.Event()) == 2


async def test_a_version_that_fails_is_logged_and_left(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    await create(database, [1, 13, 2])
    with caplog.at_level(logging.ERROR):
        assert await ContentUpgrader(database, STEPS).run(asyncio.Event()) == 2
    assert [version for version, _ in await stored(database)] == [
        CONTENT_FORMAT + 2,
        CONTENT_FORMAT,
        CONTENT_FORMAT + 2,
    ]
    assert "could not be upgraded" in caplog.text


async def test_import_workers_upgrade_content(database: Database) -> None:
    await create(database, [1, 2])
    stopping = asyncio.Event()

    def stop_after_the_last(content: Content) -> Content:
        if content["rows"] == 2:
            stopping.set()
        return content

    steps = (*RELEASED_STEPS, count_rows, stop_after_the_last)
    await asyncio.wait_for(ImportWorker(Settings(), database, steps).run(stopping), timeout=60)
    assert [(version, content["rows"]) for version, content in await stored(database)] == [
        (CONTENT_FORMAT + 2, 1),
        (CONTENT_FORMAT + 2, 2),
    ]
