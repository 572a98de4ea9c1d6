"""Users, assets and assignments, written directly to the database.

The assignments table is looked up by name, because older versions of Fieldgate do not have it.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Table, insert, select

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets, versions
from fieldgate.db import Database, metadata, new_uid

VIEW_PERMISSION = "view_asset"
SHARED_ASSETS = 10_000  # of a user who reads lists
LISTED_ASSET = "atRYxC5r4RKwyCRs2upP6J"  # its assignments are listed
LISTED_MEMBERS = 50
WRITTEN_ASSET = "auriXwmn9oqk8vZUpzxtGn"  # permissions on it are assigned
WRITTEN_MEMBERS = 2000
BATCH_SIZE = 10_000  # rows in one transaction
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def database_url_of(data: Path | str) -> str:
    """The URL of the database in a folder; a text is a URL already."""
    return data if isinstance(data, str) else f"sqlite:///{data / 'fieldgate.db'}"


def assignments_table() -> Table | None:
    """The assignments table, if this Fieldgate has one."""
    return metadata.tables.get("assignments")


def add_members(data: Path | str, count: int, prefix: str = "member") -> list[str]:
    """Add users who cannot log in. Returns their names. `data` is a folder or the URL of a database."""
    names = [f"{prefix}{number}" for number in range(count)]
    common = {"password_hash": "", "first_name": "", "last_name": "", "is_superuser": False, "is_ifrc": False,
              "is_demo": False, "countries": [], "created_at": _FIRST}  # fmt: skip
    rows = [{**common, "username": name, "username_key": name} for name in names]
    asyncio.run(_insert(data, users, rows))
    return names


def add_assets(data: Path | str, owner: str, count: int, *, visible_to: str | None = None, uid: str = "") -> str:
    """Add forms of one user, optionally visible to another. Returns the uid of one, which can be given."""
    return asyncio.run(_add_assets(data, owner, count, visible_to, uid))


def add_shared_assets(data: Path | str, reader: str, count: int = SHARED_ASSETS) -> None:
    """Add forms of a new user that are all visible to one user."""
    [owner] = add_members(data, 1, "owner")
    add_assets(data, owner, count, visible_to=reader)


def share_asset(data: Path | str, uid: str, count: int | None = None) -> None:
    """Let the members view an asset: all, or so many."""
    asyncio.run(_share_asset(data, uid, count))


async def _share_asset(data: Path | str, uid: str, count: int | None) -> None:
    database = Database(database_url_of(data))
    try:
        async with database.transaction() as connection:
            asset_id = (await connection.execute(select(assets.c.id).where(assets.c.uid == uid))).scalar_one()
            chosen = select(users.c.id).where(users.c.username.like("member%")).order_by(users.c.id).limit(count)
            members = await connection.execute(chosen)
            table = assignments_table()
            if table is not None:
                await connection.execute(insert(table), [_grant(asset_id, row.id) for row in members])
    finally:
        await database.close()


async def _add_assets(data: Path | str, owner: str, count: int, visible_to: str | None, given: str) -> str:
    database = Database(database_url_of(data))
    try:
        uid = ""
        for start in range(0, count, BATCH_SIZE):
            async with database.transaction() as connection:
                ids = {row.username: row.id for row in await connection.execute(select(users))}
                rows = [_asset(number, ids[owner]) for number in range(start, min(count, start + BATCH_SIZE))]
                if given:
                    rows[0]["uid"] = given
                uid = rows[0]["uid"]
                await connection.execute(insert(assets), rows)
                rows_with_id = (
                    await connection.execute(select(assets.c.id).order_by(assets.c.id.desc()).limit(len(rows)))
                ).all()
                await connection.execute(insert(versions), [_version(asset.id) for asset in rows_with_id])
                table = assignments_table()
                if visible_to is not None and table is not None:
                    granted = [_grant(asset.id, ids[visible_to]) for asset in rows_with_id]
                    await connection.execute(insert(table), granted)
        return uid
    finally:
        await database.close()


def _asset(number: int, owner_id: int) -> dict[str, Any]:
    # Spread over time, so that shared and other assets are mixed.
    timestamp = _FIRST + timedelta(seconds=number * 7919 % 1_000_003)
    name = f"Household survey {number}"
    return {
        "uid": new_uid("a"), "owner_id": owner_id, "parent_id": None, "asset_type": "survey", "name": name,
        "name_key": name.lower(), "settings": {}, "tags": [], "summary": {"row_count": 10, "languages": []},
        "created_at": timestamp, "modified_at": timestamp,
    }  # fmt: skip


def _version(asset_id: int) -> dict[str, Any]:
    return {"uid": new_uid("v"), "asset_id": asset_id, "number": 1, "content": {"survey": []}, "summary": {},
            "xform": None, "file_id": None, "created_at": _FIRST}  # fmt: skip


def _grant(asset_id: int, user_id: int) -> dict[str, Any]:
    return {"uid": new_uid("p"), "asset_id": asset_id, "user_id": user_id, "permission": VIEW_PERMISSION,
            "is_denied": False, "filters": None, "created_at": _FIRST}  # fmt: skip


async def _insert(data: Path | str, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    database = Database(database_url_of(data))
    try:
        async with database.transaction() as connection:
            await connection.execute(insert(table), rows)
    finally:
        await database.close()
