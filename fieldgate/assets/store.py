"""All SQL about assets and their versions."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, Select, and_, case, func, not_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets import visibility_sql
from fieldgate.assets.authorization import AuthorizedAsset, asset_not_found, authorize_row, effective_user_id
from fieldgate.assets.content_format import CONTENT_FORMAT, STEPS, Step, upgrade_content
from fieldgate.assets.names import name_key
from fieldgate.assets.tables import assets, assignments, files, versions
from fieldgate.db import Database, DataVersions, new_uid, now
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest

TOPIC = "assets"


class NewAsset(msgspec.Struct, frozen=True, kw_only=True):
    """An asset to be made, with its first version."""

    owner_id: int
    asset_type: str
    name: str
    content: dict[str, Any]
    summary: dict[str, Any]
    xform: str | None = None
    settings: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    file_id: int | None = None
    parent_id: int | None = None


class AssetSearch(msgspec.Struct, frozen=True):
    """Which of a user's assets are wanted, and in which order."""

    words: Sequence[str] = ()
    asset_type: str = ""
    status: str | None = None
    ordering: str = "-date_modified"


_ORDERS: dict[str, ColumnElement[Any]] = {
    "date_modified": assets.c.modified_at,
    "date_created": assets.c.created_at,
    "name": assets.c.name_key,
}


class AssetStore:
    def __init__(self, database: Database, data_versions: DataVersions, content_steps: Sequence[Step] = STEPS) -> None:
        self._database = database
        self._data_versions = data_versions
        self._content_steps = content_steps

    # Written as part of somebody's transaction, such as an import's, who also says that assets changed.

    async def create(self, connection: AsyncConnection, new: Sequence[NewAsset]) -> list[tuple[int, str]]:
        """The number and the uid of each new asset, in the order given."""
        moment = now()
        rows = [
            {
                "uid": new_uid("a"),
                "owner_id": asset.owner_id,
                "parent_id": asset.parent_id,
                "asset_type": asset.asset_type,
                "name": asset.name,
                "name_key": name_key(asset.name),
                "settings": asset.settings,
                "tags": list(asset.tags),
                "summary": asset.summary,
                "created_at": moment,
                "modified_at": moment,
            }
            for asset in new
        ]
        if not rows:
            return []
        await connection.execute(assets.insert(), rows)
        uids = [str(row["uid"]) for row in rows]
        numbered = await connection.execute(select(assets.c.uid, assets.c.id).where(assets.c.uid.in_(uids)))
        numbers = {row.uid: int(row.id) for row in numbered}
        first = [
            _version_row(numbers[uid], 1, asset.content, asset.summary, asset.xform, asset.file_id)
            for uid, asset in zip(uids, new, strict=True)
        ]
        await connection.execute(versions.insert(), first)
        return [(numbers[uid], uid) for uid in uids]

    async def add_version(
        self,
        connection: AsyncConnection,
        asset: Row[Any],
        content: dict[str, Any],
        summary: dict[str, Any],
        xform: str | None,
        file_id: int,
        **changed: Any,
    ) -> None:
        """A new version of an asset that is there; older ones stay readable."""
        # The row was locked when it was found, before the number is read: two imports at once take turns.
        await connection.execute(
            assets.update()
            .where(assets.c.id == asset.id)
            .values(summary=summary, modified_at=now(), **_with_name_key(changed))
        )
        newest = select(func.coalesce(func.max(versions.c.number), 0)).where(versions.c.asset_id == asset.id)
        number = int((await connection.execute(newest)).scalar_one()) + 1
        await connection.execute(
            versions.insert().values(_version_row(asset.id, number, content, summary, xform, file_id))
        )
        await self._update_collection_summary(connection, asset.parent_id)

    async def _update_collection_summary(self, connection: AsyncConnection, collection_id: int | None) -> None:
        """What a collection says of what is in it, after that changed."""
        if collection_id is not None:
            inside = select(assets.c.summary).where(assets.c.parent_id == collection_id).order_by(assets.c.id)
            summary = summarize_collection((await connection.execute(inside)).scalars())
            await connection.execute(assets.update().where(assets.c.id == collection_id).values(summary=summary))

    async def find(self, connection: AsyncConnection, uid: str) -> Row[Any] | None:
        """The row of an asset, whoever owns it; nobody else changes or deletes it before the transaction ends."""
        await self._lock_collection(connection, uid)
        return (await connection.execute(select(assets).where(assets.c.uid == uid).with_for_update())).one_or_none()

    async def _lock_collection(self, connection: AsyncConnection, uid: str) -> None:
        """Before what is in it, as deleting a collection does: or two who wait for each other wait for ever."""
        around = select(assets.c.parent_id).where(assets.c.uid == uid)
        await connection.execute(select(assets.c.id).where(assets.c.id.in_(around)).with_for_update())

    # Asked for by a caller. What he may see of an asset is decided before (`sharing/access.py`).

    async def list_visible(
        self, caller: Caller, search: AssetSearch, page: PageRequest
    ) -> tuple[int, Sequence[Row[Any]]]:
        """What is in a caller's list, without contents."""
        query = select(assets.c.id).where(visibility_sql.is_listed(effective_user_id(caller), search.status))
        if search.status == visibility_sql.SHARED:
            query = query.where(assets.c.owner_id != effective_user_id(caller))
        if search.asset_type:
            query = query.where(assets.c.asset_type == search.asset_type)
        for word in search.words:
            query = query.where(assets.c.name_key.contains(name_key(word), autoescape=True))
        order = _ORDERS[search.ordering.removeprefix("-")]
        order = order.desc() if search.ordering.startswith("-") else order.asc()
        page_of = query.order_by(order, assets.c.id).limit(page.limit).offset(page.offset)
        async with self._database.read_transaction() as connection:
            count = int((await connection.execute(select(func.count()).select_from(query.subquery()))).scalar_one())
            # Sorted by numbers alone: only what is on the page is read whole.
            numbers = (await connection.execute(page_of)).scalars().all()
            shown = await connection.execute(_select_visible(caller).where(assets.c.id.in_(numbers)))
            by_number = {row.id: row for row in shown}
        return count, [by_number[number] for number in numbers]

    async def get_visible(self, caller: Caller, asset_id: int) -> Row[Any] | None:
        """An asset as a caller is shown it, with the content of its newest version."""
        async with self._database.read_transaction() as connection:
            query = _select_visible(caller).where(assets.c.id == asset_id)
            query = query.add_columns(versions.c.content, versions.c.content_format)
            row: Row[Any] | None = (await connection.execute(query)).one_or_none()
            return row

    async def get_xform(self, asset_id: int) -> tuple[str, str | None] | None:
        """The name of an asset and the XForm of its newest version."""
        query = select(assets.c.name, versions.c.xform).join_from(assets, versions, _is_newest())
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(query.where(assets.c.id == asset_id))).one_or_none()
            return None if row is None else (row.name, row.xform)

    async def list_versions(self, asset_id: int, page: PageRequest) -> tuple[int, Sequence[Row[Any]]]:
        """The newest first, without their contents."""
        columns = (versions.c.uid, versions.c.number, versions.c.summary, versions.c.created_at, files.c.name)
        query = select(*columns).outerjoin_from(versions, files).where(versions.c.asset_id == asset_id)
        async with self._database.read_transaction() as connection:
            count = int((await connection.execute(select(func.count()).select_from(query.subquery()))).scalar_one())
            page_of = query.order_by(versions.c.number.desc()).limit(page.limit).offset(page.offset)
            found: Sequence[Row[Any]] = (await connection.execute(page_of)).all()  # type: ignore[assignment]
            return count, found

    async def get_version(self, asset_id: int, uid: str) -> Row[Any] | None:
        """One version with its content and XForm."""
        query = select(versions, files.c.name).outerjoin_from(versions, files)
        async with self._database.read_transaction() as connection:
            named = query.where(versions.c.asset_id == asset_id, versions.c.uid == uid)
            return (await connection.execute(named)).one_or_none()

    def content(self, row: Row[Any]) -> dict[str, Any]:
        """The content of a row of `get_visible` or `get_version`, in the current format."""
        return upgrade_content(row.content, row.content_format, self._content_steps)

    async def get_file(self, file_id: int) -> Row[Any] | None:
        async with self._database.read_transaction() as connection:
            return (await connection.execute(select(files).where(files.c.id == file_id))).one_or_none()

    async def update(self, user: User, uid: str, **values: Any) -> None:
        """Change an asset, if the user may, in the very moment it is changed."""
        async with self._database.transaction() as connection:
            asset = await self._authorize_locked(connection, uid, user)
            asset.require("change_asset")
            changed = assets.update().where(assets.c.id == asset.id)
            await connection.execute(changed.values(modified_at=now(), **_with_name_key(values)))
            await self._data_versions.bump(connection, TOPIC)

    async def delete(self, user: User, uid: str) -> None:
        """Delete an asset, if the user may, in the very moment it is deleted."""
        async with self._database.transaction() as connection:
            asset = await self._authorize_locked(connection, uid, user)
            asset.require_delete()
            gone = assets.delete().where(assets.c.id == asset.id).returning(assets.c.parent_id)
            await self._update_collection_summary(connection, (await connection.execute(gone)).scalar_one())
            await self._data_versions.bump(connection, TOPIC)

    async def _authorize_locked(self, connection: AsyncConnection, uid: str, user: User) -> AuthorizedAsset:
        """The asset, locked, as the user sees it now."""
        row = await self.find(connection, uid)
        if row is None:
            raise asset_not_found(uid)
        return await authorize_row(connection, row, user)

    async def count_public_collections(self, owner_ids: Sequence[int]) -> dict[int, int]:
        """How many collections of these users the public may discover, by the number of the user."""
        query = (
            select(assets.c.owner_id, func.count().label("collections"))
            .join_from(assignments, assets, assets.c.id == assignments.c.asset_id)
            .where(
                assignments.c.user_id == PUBLIC_USER_ID,
                assignments.c.permission == visibility_sql.DISCOVER,
                not_(assignments.c.is_denied),
                assets.c.owner_id.in_(owner_ids),
            )
            .group_by(assets.c.owner_id)
        )
        async with self._database.read_transaction() as connection:
            return {row.owner_id: row.collections for row in await connection.execute(query)}


def _select_visible(caller: Caller) -> Select[Any]:
    """An asset with its newest version, as a caller is shown it."""
    parents = assets.alias("parents")
    parent_uid: ColumnElement[str | None] = parents.c.uid
    if not caller.is_superuser:  # that there is a collection around it is the business of who sees the collection
        parent_uid = case((visibility_sql.collection_is_visible(parents, effective_user_id(caller)), parents.c.uid))
    return (
        select(
            assets,
            users.c.username,
            versions.c.uid.label("version_uid"),
            versions.c.number.label("version_number"),
            parent_uid.label("parent_uid"),
            visibility_sql.sharing_status().label("status"),
        )
        .join_from(assets, users, users.c.id == assets.c.owner_id)
        .join(versions, _is_newest())
        .outerjoin(parents, parents.c.id == assets.c.parent_id)
    )


def _is_newest() -> ColumnElement[bool]:
    others = versions.alias()
    newest = select(func.max(others.c.number)).where(others.c.asset_id == assets.c.id).scalar_subquery()
    return and_(versions.c.asset_id == assets.c.id, versions.c.number == newest)


def summarize_collection(summaries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The summary of a collection: every language that something in it is in."""
    return {"languages": list(dict.fromkeys(name for summary in summaries for name in summary.get("languages", ())))}


def _version_row(
    asset_id: int,
    number: int,
    content: dict[str, Any],
    summary: dict[str, Any],
    xform: str | None,
    file_id: int | None,
) -> dict[str, Any]:
    return {
        "uid": new_uid("v"),
        "asset_id": asset_id,
        "number": number,
        "content": content,
        "content_format": CONTENT_FORMAT,
        "summary": summary,
        "xform": xform,
        "file_id": file_id,
        "created_at": now(),
    }


def _with_name_key(values: dict[str, Any]) -> dict[str, Any]:
    """A new name is found and sorted as such."""
    return values | {"name_key": name_key(values["name"])} if "name" in values else values
