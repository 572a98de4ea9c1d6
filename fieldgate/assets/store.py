"""SQL for assets and their versions."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

import msgspec
from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    false,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import MAX_COMPARED_CHARS
from fieldgate.accounts.tables import PUBLIC_USER_ID, users, with_service_accounts
from fieldgate.assets import visibility_sql
from fieldgate.assets.asset_log import change_entries
from fieldgate.assets.authorization import (
    AssetAuthorizer,
    AuthorizedAsset,
    asset_not_found,
    authorize_row,
    effective_user_id,
)
from fieldgate.assets.tables import (
    COLLECTION,
    FORM_TYPES,
    assets,
    assignments,
    files,
    grants_now,
    invite_status,
    is_live,
    ownership_invites,
    ownership_transfers,
    versions,
)
from fieldgate.db import AsyncDatabase, DataVersions, RowPage, in_values, new_uid, now, paginate
from fieldgate.db.log import PROJECT, LogEntry, LogObject, count_in_log, write_log
from fieldgate.i18n.folding import fold_text
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest

TOPIC = "assets"
MAX_SAME_FORMS = 5  # that are offered when a file seems to be a new version


class NewVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version to add to an asset."""

    content: dict[str, Any]
    summary: dict[str, Any]
    xform: str | None = None
    file_id: int | None = None
    warnings: list[dict[str, Any]] | None = None  # of the check, as the checker stores them


class NewAsset(NewVersion, frozen=True, kw_only=True):
    """An asset to create, with its first version. Its owner makes it."""

    owner_id: int
    asset_type: str
    name: str
    uid: str = msgspec.field(default_factory=lambda: new_uid("a"))
    settings: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    parent_id: int | None = None


class AssetStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        # What a write is checked with before it begins, and a read.
        self._authorizer = AssetAuthorizer(database)

    async def authorize(self, uid: str, caller: Caller) -> AuthorizedAsset:
        """Return what a caller may do with an asset. Raise `NotFound` if the caller cannot view it."""
        return await self._authorizer.authorize(uid, caller)

    # The next methods run in a transaction of the caller, who also bumps the data version.

    async def create(
        self, connection: AsyncConnection, new: Sequence[NewAsset]
    ) -> list[tuple[int, str]]:
        """Insert assets. Return the id and uid of each, in the same order."""
        return await connection.run_sync(self.create_sync, new)

    def create_sync(self, connection: Connection, new: Sequence[NewAsset]) -> list[tuple[int, str]]:
        """The same for functions passed to `AsyncDatabase.write`."""
        timestamp = now()
        rows = [
            {
                "uid": asset.uid,
                "owner_id": asset.owner_id,
                "parent_id": asset.parent_id,
                "asset_type": asset.asset_type,
                "name": asset.name,
                "name_key": name_key(asset.name),
                "search_text": fold_text(asset.name),
                "form_id": _form_id(asset.content),
                "settings": asset.settings,
                "tags": list(asset.tags),
                "tags_key": tags_key(asset.tags),
                "summary": asset.summary,
                "created_at": timestamp,
                "modified_at": timestamp,
                "modified_by": asset.owner_id,
            }
            for asset in new
        ]
        if not rows:
            return []
        connection.execute(assets.insert(), rows)
        uids = [str(row["uid"]) for row in rows]
        inserted = connection.execute(
            select(assets.c.uid, assets.c.id).where(assets.c.uid.in_(uids))
        )
        ids = {row.uid: int(row.id) for row in inserted}
        first_versions = [
            _version_row(ids[uid], 1, asset) for uid, asset in zip(uids, new, strict=True)
        ]
        connection.execute(versions.insert(), first_versions)
        return [(ids[uid], uid) for uid in uids]

    async def add_file(self, connection: AsyncConnection, name: str, data: bytes) -> int:
        """Store an uploaded file and return its id."""
        new = (
            files.insert()
            .values(name=strip_control_characters(name)[-255:], data=data)
            .returning(files.c.id)
        )
        return int((await connection.execute(new)).scalar_one())

    async def add_version(
        self, connection: AsyncConnection, asset: Row[Any], version: NewVersion, **changes: Any
    ) -> str:
        """Add a version to an asset and return its uid. `changes` are new values of the asset's columns, such as its
        name.

        Without `modified_by` among them, nobody is known to have made the change.
        """
        row = _version_row(asset.id, await self._next_version_number(connection, asset.id), version)
        await connection.execute(versions.insert().values(row))
        changes = {"summary": version.summary, "form_id": _form_id(version.content), **changes}
        await self._update_after_new_version(connection, asset, **changes)
        return str(row["uid"])

    async def copy_version(
        self, connection: AsyncConnection, asset: Row[Any], version: Row[Any], **changes: Any
    ) -> str:
        """Add a version that equals an earlier one. Return its uid."""
        uid, number = new_uid("v"), await self._next_version_number(connection, asset.id)
        copied = ("content_hash", "content", "summary", "xform", "file_id", "warnings")
        new = {"uid": uid, "asset_id": asset.id, "number": number, "created_at": now()}
        columns = [literal(value, versions.c[name].type) for name, value in new.items()]
        source = select(*columns, *(versions.c[name] for name in copied)).where(
            versions.c.id == version.id
        )
        # The database copies the content, which can have megabytes.
        await connection.execute(versions.insert().from_select([*new, *copied], source))
        form_id = select(versions.c.content[("settings", "id_string")].as_string()).where(
            versions.c.id == version.id
        )
        changes = {"summary": version.summary, "form_id": form_id.scalar_subquery(), **changes}
        await self._update_after_new_version(connection, asset, **changes)
        return uid

    async def _next_version_number(self, connection: AsyncConnection, asset_id: int) -> int:
        """`find` locked the asset before, so concurrent writes get different numbers."""
        newest = select(func.coalesce(func.max(versions.c.number), 0)).where(
            versions.c.asset_id == asset_id
        )
        return int((await connection.execute(newest)).scalar_one()) + 1

    async def _update_after_new_version(
        self, connection: AsyncConnection, asset: Row[Any], **changes: Any
    ) -> None:
        changed = assets.update().where(assets.c.id == asset.id)
        values = {"modified_at": now(), "modified_by": None, **_with_keys(changes)}
        await connection.execute(changed.values(values))
        await self.update_collection_summary(connection, asset.parent_id)

    async def update_collection_summary(
        self, connection: AsyncConnection, collection_id: int | None
    ) -> None:
        """Recompute the summary of a collection after an asset in it changed."""
        if collection_id is not None:
            inside = select(assets.c.summary).where(assets.c.parent_id == collection_id, is_live())
            summary = summarize_collection(
                (await connection.execute(inside.order_by(assets.c.id))).scalars()
            )
            await connection.execute(
                assets.update().where(assets.c.id == collection_id).values(summary=summary)
            )

    async def find(
        self, connection: AsyncConnection, uid: str, *, is_dry_run: bool = False
    ) -> Row[Any] | None:
        """Return the row of an asset and lock it until the transaction ends. Does not check permissions.

        A dry run locks nothing.
        """
        query = select(assets).where(assets.c.uid == uid, is_live())
        if not is_dry_run:
            await self._lock_collection(connection, uid)
            query = query.with_for_update()
        return (await connection.execute(query)).one_or_none()

    async def lock_to_change(self, connection: AsyncConnection, uid: str, user: User) -> Row[Any]:
        """Return the row of an asset and lock it. Raise an error unless the user may change the asset."""
        row = await self.find(connection, uid)
        if row is None:
            raise asset_not_found()
        (await authorize_row(connection, row, user)).require("change_asset")
        return row

    async def find_same_forms(
        self, connection: AsyncConnection, owner_id: int, name: str, form_id: str | None
    ) -> Sequence[Row[Any]]:
        """Return a user's forms with this name or form id, the last changed first."""
        same = [assets.c.name_key == name_key(name)] if name else []
        if form_id:
            same.append(assets.c.form_id == form_id)
        columns = (assets.c.uid, assets.c.name, assets.c.modified_at)
        query: Select[Any] = select(*columns).where(
            assets.c.owner_id == owner_id,
            is_live(),
            assets.c.asset_type.in_(FORM_TYPES),
            or_(false(), *same),
        )
        query = query.order_by(assets.c.modified_at.desc(), assets.c.id).limit(MAX_SAME_FORMS)
        found: Sequence[Row[Any]] = (await connection.execute(query)).all()
        return found

    async def _lock_collection(self, connection: AsyncConnection, uid: str) -> None:
        """Lock the collection before the asset, as deleting a collection does, to avoid deadlocks."""
        collection = select(assets.c.parent_id).where(assets.c.uid == uid)
        await connection.execute(
            select(assets.c.id).where(assets.c.id.in_(collection)).with_for_update()
        )

    # The next methods do not check permissions on a single asset: `AssetAuthorizer` does, before.

    async def get_visible(self, caller: Caller, asset_id: int) -> Row[Any] | None:
        """Return an asset with the content of its newest version."""
        rows = await self._database.read(
            lambda connection: read_visible(
                connection, self._database, caller, [asset_id], versions.c.content
            )
        )
        return next(iter(rows), None)

    async def count_children(self, caller: Caller, collection_ids: Sequence[int]) -> dict[int, int]:
        """Return the number of assets in each collection that the caller can view, by collection id."""
        if not collection_ids:
            return {}
        return await self._database.read(
            lambda connection: read_children(connection, caller, collection_ids)
        )

    async def get_xform(
        self, asset_id: int, *, deployed: bool = False
    ) -> tuple[str, str | None] | None:
        """Return the name of an asset and the XForm of its newest or deployed version, with that name as its title."""
        query = select(assets.c.name, versions.c.xform).join_from(
            assets, versions, _is_version(deployed=deployed)
        )
        row = await self._database.first(query.where(assets.c.id == asset_id))
        return None if row is None else (row.name, row.xform and set_title(row.xform, row.name))

    async def get_newest_version(self, asset_id: int, *, deployed: bool = False) -> Row[Any] | None:
        """Return the newest or deployed version with the name of the asset, without the content."""
        columns = (
            versions.c.id,
            versions.c.uid,
            versions.c.file_id,
            versions.c.created_at,
            assets.c.name,
        )
        found: Select[Any] = select(*columns).join_from(
            assets, versions, _is_version(deployed=deployed)
        )
        return await self._database.first(found.where(assets.c.id == asset_id))

    async def get_content(self, version_id: int) -> dict[str, Any]:
        """Return the content of a version, {} if it was deleted."""
        query = select(versions.c.content).where(versions.c.id == version_id)
        row = await self._database.first(query)
        return {} if row is None else row.content

    async def list_versions(self, asset_id: int, page: PageRequest) -> RowPage:
        """Return a page of the versions, newest first, without their contents."""
        left_out = ("content", "xform", "warnings")
        columns = (column for column in versions.c if column.name not in left_out)
        query = (
            select(*columns, files.c.name)
            .outerjoin_from(versions, files)
            .where(versions.c.asset_id == asset_id)
        )
        return await paginate(
            self._database, query, page, order_by=[versions.c.number.desc(), versions.c.id]
        )

    async def get_deployed_numbers(self, asset_id: int) -> list[int]:
        """Return the numbers of all versions that were deployed, in ascending order."""
        query = select(versions.c.number).where(
            versions.c.asset_id == asset_id, versions.c.deployed_at.is_not(None)
        )
        return [row.number for row in await self._database.all(query.order_by(versions.c.number))]

    async def get_version(self, asset_id: int, uid: str) -> Row[Any] | None:
        """Return one version with its content and XForm."""
        query = select(versions, files.c.name).outerjoin_from(versions, files)
        return await self._database.first(
            query.where(versions.c.asset_id == asset_id, versions.c.uid == uid)
        )

    async def get_version_before(self, asset_id: int, number: int) -> Row[Any] | None:
        """Return the newest version with a lower number."""
        query = select(versions).where(versions.c.asset_id == asset_id, versions.c.number < number)
        return await self._database.first(query.order_by(versions.c.number.desc()).limit(1))

    async def get_deployment(self, asset_id: int) -> Row[Any] | None:
        """Return the uid of the deployed version and whether it is active; None if no version was deployed."""
        query: Select[Any] = select(assets.c.deployed_version_uid, assets.c.deployment_active)
        is_deployed = assets.c.deployed_version_uid.is_not(None)
        return await self._database.first(query.where(assets.c.id == asset_id, is_deployed))

    async def get_file(self, file_id: int) -> Row[Any] | None:
        return await self._database.first(select(files).where(files.c.id == file_id))

    async def count_download(self, caller: Caller, asset: AuthorizedAsset, name: str) -> None:
        """Log that a form was downloaded as a file, or its table of permissions."""
        exported = LogObject("asset", asset.uid, name, asset.owner_id)
        entry = LogEntry(log_type=PROJECT, action="export", object=exported)
        await count_in_log(self._database, caller, entry)

    async def update(
        self, connection: AsyncConnection, user: User, row: Row[Any], **values: Any
    ) -> None:
        """Change the asset of a locked row. Settings are merged."""
        if "settings" in values:
            values["settings"] = {**row.settings, **values["settings"]}
        await write_log(connection, user, *change_entries(row, values))
        changed = assets.update().where(assets.c.id == row.id)
        values = {"modified_at": now(), "modified_by": user.id, **_with_keys(values)}
        await connection.execute(changed.values(values))
        await self._data_versions.bump(connection, TOPIC)

    async def count_stored_bytes(self, owner_id: int) -> int:
        """Return about how many bytes the versions of an owner's assets have, with their files and the trash."""
        return await self.count_bytes(assets.c.owner_id.in_(with_service_accounts(owner_id)))

    async def count_bytes(self, condition: ColumnElement[bool]) -> int:
        """The same for assets that meet a condition."""
        of_assets = select(versions.c.id).join_from(
            versions, assets, assets.c.id == versions.c.asset_id
        )
        owned = versions.c.id.in_(of_assets.where(condition))
        texts = func.length(cast(versions.c.content, Text)) + func.coalesce(
            func.length(versions.c.xform), 0
        )
        file_ids = select(versions.c.file_id).where(owned)
        content = await self._database.scalar(select(func.sum(texts)).where(owned))
        kept = await self._database.scalar(
            select(func.sum(func.length(files.c.data))).where(files.c.id.in_(file_ids))
        )
        return int(content or 0) + int(kept or 0)

    async def count_public_collections(self, owner_ids: Sequence[int]) -> dict[int, int]:
        """Return the number of collections that the public can discover, by owner id."""
        query = (
            select(assets.c.owner_id, func.count().label("collections"))
            .join_from(assignments, assets, assets.c.id == assignments.c.asset_id)
            .where(
                assignments.c.user_id == PUBLIC_USER_ID,
                assignments.c.permission == visibility_sql.DISCOVER,
                grants_now(),
                assets.c.owner_id.in_(owner_ids),
                is_live(),
            )
            .group_by(assets.c.owner_id)
        )
        return {row.owner_id: row.collections for row in await self._database.all(query)}


def lock_assets(
    connection: Connection, database: AsyncDatabase, condition: ColumnElement[bool]
) -> set[int]:
    """Lock collections before the assets in them, each in order of id, to avoid deadlocks. Return their ids.

    A collection that matches only now is not locked, because another transaction restored it in the meantime.
    """
    query = select(assets.c.id, assets.c.parent_id, assets.c.asset_type).where(condition)
    found = connection.execute(query).all()
    collections = {row.parent_id for row in found if row.parent_id is not None}
    collections |= {row.id for row in found if row.asset_type == COLLECTION}
    if collections:
        _lock_ids(connection, database, collections)
        found = connection.execute(query).all()  # nothing is put into them from now on
    inside = {row.id for row in found if row.asset_type != COLLECTION}
    _lock_ids(connection, database, inside)
    return collections | inside


def _lock_ids(connection: Connection, database: AsyncDatabase, ids: set[int]) -> None:
    rows = select(assets.c.id).where(in_values(database, assets.c.id, ids)).order_by(assets.c.id)
    connection.execute(rows.with_for_update())


def only_listed(query: Select[Any], caller: Caller) -> Select[Any]:
    """Limit a query to assets that are in the lists of a caller. Superusers see all assets in a collection."""
    if caller.limits.assets is not None:
        query = query.where(assets.c.uid.in_(sorted(caller.limits.assets)))
    if caller.is_superuser:
        return query
    user_ids = {effective_user_id(caller), PUBLIC_USER_ID}
    return query.where(
        or_(*(visibility_sql.is_listed(user_id, None) for user_id in sorted(user_ids)))
    )


def read_visible(
    connection: Connection,
    database: AsyncDatabase,
    caller: Caller,
    ids: Sequence[int],
    *columns: ColumnElement[Any],
) -> Sequence[Row[Any]]:
    """Return the assets of these ids with their newest versions, and other columns of these, as a caller sees them."""
    query = _select_visible(
        is_sqlite=database.is_sqlite, is_superuser=caller.is_superuser
    ).add_columns(*columns)
    return connection.execute(query, {"ids": ids, "user_id": effective_user_id(caller)}).all()


def read_children(
    connection: Connection, caller: Caller, collection_ids: Sequence[int]
) -> dict[int, int]:
    """Return the number of assets in each collection that the caller can view, by collection id."""
    query = select(assets.c.parent_id, func.count().label("children"))
    query = only_listed(query.where(assets.c.parent_id.in_(collection_ids), is_live()), caller)
    return {
        row.parent_id: row.children
        for row in connection.execute(query.group_by(assets.c.parent_id))
    }


def read_deployed_versions(connection: Connection, asset_id: int) -> Sequence[Row[Any]]:
    """Return all versions that were deployed, newest first, without their contents."""
    columns = (
        versions.c.uid,
        versions.c.number,
        versions.c.content_hash,
        versions.c.created_at,
        versions.c.deployed_at,
    )
    query: Select[Any] = select(*columns)
    query = query.where(versions.c.asset_id == asset_id, versions.c.deployed_at.is_not(None))
    return connection.execute(query.order_by(versions.c.number.desc())).all()


def read_open_invite(connection: Connection, asset_id: int) -> Row[Any] | None:
    """Return the open invitation to own an asset: uid, sender_id, recipient_id, sender, recipient, status."""
    senders, recipients, invites = users.alias(), users.alias(), ownership_invites
    names = senders.c.username.label("sender"), recipients.c.username.label("recipient")
    query = (
        select(
            invites.c.uid,
            invites.c.sender_id,
            invites.c.recipient_id,
            *names,
            invite_status().label("status"),
        )
        .join_from(ownership_transfers, invites, invites.c.id == ownership_transfers.c.invite_id)
        .join(
            assets,
            and_(
                assets.c.id == ownership_transfers.c.asset_id,
                assets.c.owner_id == invites.c.sender_id,
            ),
        )
        .join(senders, senders.c.id == invites.c.sender_id)
        .join(recipients, recipients.c.id == invites.c.recipient_id)
        .where(
            assets.c.id == asset_id,
            ownership_transfers.c.status == "pending",
            invite_status() == "pending",
        )
    )
    return connection.execute(query).first()


@cache
def _select_visible(*, is_sqlite: bool, is_superuser: bool) -> Select[Any]:
    """Select the assets with `ids` as `user_id` can see them. Built once, which takes longer than the query."""
    # SQLite reads the whole text, and the content before it, to tell whether it is NULL, but not for its type.
    has_xform = (
        func.typeof(versions.c.xform) != "null" if is_sqlite else versions.c.xform.is_not(None)
    )
    parents, modifiers = assets.alias("parents"), users.alias("modifiers")
    parent_uid: ColumnElement[str | None] = parents.c.uid
    if not is_superuser:  # hide a collection that the caller cannot view
        user_id = bindparam("user_id", type_=Integer)
        parent_uid = case((visibility_sql.collection_is_visible(parents, user_id), parents.c.uid))
    return (
        select(
            assets,
            users.c.username,
            modifiers.c.username.label("modifier"),
            has_xform.label("has_xform"),
            versions.c.uid.label("version_uid"),
            versions.c.number.label("version_number"),
            versions.c.content_hash,
            parent_uid.label("parent_uid"),
            visibility_sql.sharing_status().label("status"),
        )
        # An outer join, although every asset has an owner: with few users, PostgreSQL would read those first.
        .outerjoin_from(assets, users, users.c.id == assets.c.owner_id)
        .join(versions, is_newest_version())
        .outerjoin(parents, parents.c.id == assets.c.parent_id)
        .outerjoin(modifiers, modifiers.c.id == assets.c.modified_by)
        .where(is_live(), assets.c.id.in_(bindparam("ids", expanding=True)))
    )


def is_newest_version() -> ColumnElement[bool]:
    others = versions.alias()
    newest = (
        select(func.max(others.c.number)).where(others.c.asset_id == assets.c.id).scalar_subquery()
    )
    return and_(versions.c.asset_id == assets.c.id, versions.c.number == newest)


def _is_version(*, deployed: bool) -> ColumnElement[bool]:
    """Whether a version is the newest one of its asset, or the one that is deployed."""
    return versions.c.uid == assets.c.deployed_version_uid if deployed else is_newest_version()


def summarize_collection(summaries: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the summary of a collection: the languages of all assets in it."""
    return {
        "languages": list(
            dict.fromkeys(name for summary in summaries for name in summary.get("languages", ()))
        )
    }


def _version_row(asset_id: int, number: int, version: NewVersion) -> dict[str, Any]:
    return {
        "uid": new_uid("v"),
        "asset_id": asset_id,
        "number": number,
        "content_hash": hashlib.sha256(msgspec.json.encode(version.content)).hexdigest(),
        "content": version.content,
        "summary": version.summary,
        "xform": version.xform,
        "file_id": version.file_id,
        "warnings": version.warnings,
        "created_at": now(),
    }


def _form_id(content: dict[str, Any]) -> str | None:
    found = (content.get("settings") or {}).get("id_string")
    return found if isinstance(found, str) else None


def _with_keys(values: dict[str, Any]) -> dict[str, Any]:
    """Add what follows from a new name and new tags, for search and sort order."""
    keys = {}
    if "name" in values:
        keys["name_key"] = name_key(values["name"])
        keys["search_text"] = fold_text(values["name"])
    if "tags" in values:
        keys["tags_key"] = tags_key(values["tags"])
    return values | keys


# Characters that XML does not allow, and invisible control characters.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def strip_control_characters(name: str) -> str:
    return _CONTROL.sub(" ", name).strip()


def name_key(name: str) -> str:
    """Return a key that ignores case and the encoding of accents: `École`, `école` and `ÉCOLE` have the same key.

    `Ecole` has another one: it is another name, though a search finds both.
    """
    compared = unicodedata.normalize("NFKC", name[:MAX_COMPARED_CHARS]).casefold()
    return unicodedata.normalize("NFKC", compared)


def tags_key(tags: Sequence[str]) -> str:
    """Return the folded tags, each in a line of its own."""
    return "\n".join(map(fold_text, tags))


_TITLE = re.compile(r"<h:title(?:/>|>[^<]*</h:title>)")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def set_title(xform: str, title: str) -> str:
    """The XForm with another title. The first title is the one in the head: in texts the tag would be escaped."""
    element = f"<h:title>{escape(_NOT_XML.sub('', title))}</h:title>"
    return _TITLE.sub(lambda _: element, xform, count=1)
