"""SQL for what was moved from where, and for what became of it here."""

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import TEAM_PREFIX, users
from fieldgate.assets.tables import COLLECTION, assets, assignments, is_live, versions
from fieldgate.db import insert_missing, is_asset_uid, new_uid, upsert
from fieldgate.move.plan import AssetPart, KnownAsset, hashes
from fieldgate.move.tables import moved_assets


async def find_known(
    connection: AsyncConnection, source: str, source_uid: str
) -> KnownAsset | None:
    is_meant = moved_assets.c.source == source, moved_assets.c.source_uid == source_uid
    row = (await connection.execute(select(moved_assets).where(*is_meant))).one_or_none()
    return None if row is None else msgspec.convert(row._mapping, KnownAsset)


async def find_other_source(connection: AsyncConnection, uid: str) -> str | None:
    """From where this asset was moved before, if that is another address of the same server, or a folder of it."""
    query = select(moved_assets.c.source).where(
        moved_assets.c.uid == uid, moved_assets.c.source_uid == uid
    )
    return (await connection.execute(query)).scalars().first()


async def write_known(
    connection: AsyncConnection,
    source: str,
    source_uid: str,
    known: KnownAsset,
    *,
    is_new: bool = False,
) -> bool:
    """Return whether it was written: not if it should be new, and another run was faster."""
    values = {"source": source, "source_uid": source_uid, **msgspec.structs.asdict(known)}
    statement = (
        insert_missing(connection.dialect, moved_assets)
        if is_new
        else upsert(connection.dialect, moved_assets)
    )
    return bool((await connection.execute(statement, values)).rowcount)


async def choose_uid(
    connection: AsyncConnection, source_uid: str, before: KnownAsset | None
) -> str:
    """That of the asset, or the one of the source if it is free, so that old links work."""
    if before is not None:
        return before.uid
    taken = await connection.execute(
        select(assets.c.id).where(assets.c.uid == source_uid)
    )  # the trash, too
    return source_uid if is_asset_uid(source_uid) and taken.first() is None else new_uid("a")


async def is_collection(connection: AsyncConnection, uid: str) -> bool:
    query = select(assets.c.id).where(
        assets.c.uid == uid, assets.c.asset_type == COLLECTION, is_live()
    )
    return (await connection.execute(query)).first() is not None


async def read_local(connection: AsyncConnection, uid: str) -> dict[str, str] | None:
    """Hashes of the parts that a person could have changed here. None if the asset was deleted."""
    details = ("owner_id", "name", "settings", "tags", "parent_id")
    publication = ("deployed_version_uid", "deployment_active")
    columns = assets.c.id, *(assets.c[name] for name in details + publication)
    row = (
        await connection.execute(select(*columns).where(assets.c.uid == uid, is_live()))
    ).one_or_none()
    if row is None:
        return None
    of_asset = select(versions.c.content_hash).where(versions.c.asset_id == row.id)
    newest = await connection.execute(of_asset.order_by(versions.c.number.desc()).limit(1))
    shared = assignments.c.user_id, assignments.c.permission, assignments.c.is_denied
    rows = select(*shared, assignments.c.filters, assignments.c.expires_at).where(
        assignments.c.asset_id == row.id
    )
    held = (await connection.execute(rows.order_by(*shared))).all()
    return hashes(
        {
            AssetPart.QUESTIONS: newest.scalar(),
            AssetPart.DETAILS: [row._mapping[name] for name in details],
            AssetPart.PUBLICATION: [row._mapping[name] for name in publication],
            AssetPart.SHARING: [list(each) for each in held],
        }
    )


async def list_shared(
    connection: AsyncConnection, uid: str
) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Who was given what on an asset, each with the name and, as teams can be named, with the uid."""
    query = (
        select(users.c.username, users.c.uid, assignments.c.permission)
        .join_from(assignments, users, users.c.id == assignments.c.user_id)
        .join(assets, assets.c.id == assignments.c.asset_id)
        .where(assets.c.uid == uid, ~assignments.c.is_denied)
    )
    rows = await connection.execute(query)
    return [
        ((each.username, each.permission), (TEAM_PREFIX + each.uid, each.permission))
        for each in rows
    ]


async def list_gone(
    connection: AsyncConnection, source: str, owner_ids: Collection[int], listed: Collection[str]
) -> list[Any]:
    """Assets of these owners that were moved from a source which does not list them any more."""
    names = (
        moved_assets.c.source_uid,
        assets.c.uid,
        assets.c.name,
        assets.c.asset_type,
        users.c.username,
    )
    query = (
        select(*names)
        .join_from(moved_assets, assets, assets.c.uid == moved_assets.c.uid)
        .join(users, users.c.id == assets.c.owner_id)
        .where(moved_assets.c.source == source, assets.c.owner_id.in_(owner_ids), is_live())
        .order_by(assets.c.id)
    )
    return [row for row in await connection.execute(query) if row.source_uid not in listed]
