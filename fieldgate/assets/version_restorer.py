"""Make an earlier version of an asset the current one, as a new version.

The copy has the same content, XForm and file. It needs no check: the content was checked when it was first stored. The
asset keeps its name, which is not part of a version.
"""

from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Text, and_, cast, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.assets.asset_log import asset_entry
from fieldgate.assets.sharing.changes import apply_type_change
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import TOPIC, AssetStore
from fieldgate.assets.tables import effective_type, versions
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.db.log import write_log
from fieldgate.errors import BadRequest, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import User

_ALREADY_CURRENT = Message("This is already the current version. Choose an earlier one.")
_SAME_CONTENT = Message("The current version is a copy of this one. There is nothing to restore.")

_COLUMNS = (versions.c.id, versions.c.uid, versions.c.number, versions.c.summary)


class VersionRestorer:
    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, quota: StorageQuota
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._quota = quota
        self._store = AssetStore(database, data_versions)
        self._sharing = AssignmentStore(database, data_versions)

    async def restore(self, user: User, uid: str, version_uid: str) -> str:
        """Add a copy of a version to its asset, if the user may change it. Return the uid of the copy."""
        async with self._database.transaction() as connection:
            asset = await self._store.lock_to_change(connection, uid, user)
            await self._quota.check(asset.owner_id)
            version = await self._find_earlier(connection, asset.id, version_uid)
            asset_type = effective_type(asset.asset_type, version.summary.get("row_count", 0))
            has_new_type = asset_type != asset.asset_type
            changes = {"asset_type": asset_type} if has_new_type else {}
            new_uid = await self._store.copy_version(
                connection, asset, version, modified_by=user.id, **changes
            )
            details = {"latest_version_uid": new_uid, "restored_version_uid": version.uid}
            await write_log(connection, user, asset_entry("update-content", asset, **details))
            if has_new_type:
                await apply_type_change(self._sharing, connection, asset.uid, user)
            await self._data_versions.bump(connection, TOPIC)
            return new_uid

    async def _find_earlier(self, connection: AsyncConnection, asset_id: int, uid: str) -> Row[Any]:
        """Return a version that differs from the current one."""
        of_asset: Select[Any] = select(*_COLUMNS).where(versions.c.asset_id == asset_id)
        version: Row[Any] | None = (
            await connection.execute(of_asset.where(versions.c.uid == uid))
        ).one_or_none()
        if version is None:
            raise NotFound(Message("There is no version {uid}.", uid=uid[:50]))
        current = (
            await connection.execute(of_asset.order_by(versions.c.number.desc()).limit(1))
        ).one()
        if version.id == current.id:
            raise BadRequest(_ALREADY_CURRENT)
        if await self._are_equal(connection, version.id, current.id):
            raise BadRequest(_SAME_CONTENT)  # for example, a button was pressed twice
        return version

    async def _are_equal(self, connection: AsyncConnection, first_id: int, second_id: int) -> bool:
        """Whether one version is a copy of the other. Ids of rows are random, so equal content was copied."""
        other = versions.alias()
        is_equal: ColumnElement[bool] = and_(
            cast(versions.c.content, Text) == cast(other.c.content, Text),
            versions.c.file_id.is_not_distinct_from(other.c.file_id),
        )
        query = select(versions.c.id).join_from(versions, other, other.c.id == second_id)
        return (
            await connection.execute(query.where(versions.c.id == first_id, is_equal))
        ).first() is not None
