"""SQL for what was moved from where, and for what became of it here."""

import re

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.assets.tables import assets, assignments, is_live, versions
from fieldgate.db import new_uid, upsert
from fieldgate.move.plan import KnownAsset, hash_of
from fieldgate.move.tables import moved_assets

OWN_UID = re.compile(r"a[A-Za-z0-9]{21}")  # can be kept


async def find_known(connection: AsyncConnection, source: str, source_uid: str) -> KnownAsset | None:
    is_meant = moved_assets.c.source == source, moved_assets.c.source_uid == source_uid
    row = (await connection.execute(select(moved_assets).where(*is_meant))).one_or_none()
    return None if row is None else msgspec.convert(row._mapping, KnownAsset)


async def write_known(connection: AsyncConnection, source: str, source_uid: str, known: KnownAsset) -> None:
    values = {"source": source, "source_uid": source_uid, **msgspec.structs.asdict(known)}
    await connection.execute(upsert(connection.dialect, moved_assets), values)


async def choose_uid(connection: AsyncConnection, source_uid: str, before: KnownAsset | None) -> str:
    """That of the asset, or the one of the source if it is free, so that old links work."""
    if before is not None:
        return before.uid
    taken = await connection.execute(select(assets.c.id).where(assets.c.uid == source_uid))  # the trash, too
    return source_uid if OWN_UID.fullmatch(source_uid) and taken.first() is None else new_uid("a")


async def read_local_hash(connection: AsyncConnection, uid: str) -> str | None:
    """A hash of all that a person could have changed here. None if the asset was deleted."""
    names = ("owner_id", "name", "settings", "tags", "parent_id", "deployed_version_uid", "deployment_active")
    columns = assets.c.id, *(assets.c[name] for name in names)
    row = (await connection.execute(select(*columns).where(assets.c.uid == uid, is_live()))).one_or_none()
    if row is None:
        return None
    of_asset = select(versions.c.content_hash).where(versions.c.asset_id == row.id)
    newest = await connection.execute(of_asset.order_by(versions.c.number.desc()).limit(1))
    shared = assignments.c.user_id, assignments.c.permission, assignments.c.is_denied
    rows = select(*shared, assignments.c.filters, assignments.c.expires_at).where(assignments.c.asset_id == row.id)
    held = (await connection.execute(rows.order_by(*shared))).all()
    return hash_of([list(row)[1:], newest.scalar(), [list(each) for each in held]])
