"""Create assets and change their content.

The content is checked before the transaction begins, which can take seconds. Permissions are checked before that, so
that nobody can start checks for an asset that is not theirs, and again in the transaction.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from sqlalchemy import Row
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.assets.asset_log import asset_entry, change_entries
from fieldgate.assets.authorization import AuthorizedAsset, asset_not_found, authorize_row
from fieldgate.assets.form_checker import CheckedContent, ContentChecker, ContentToCheck
from fieldgate.assets.sharing.changes import apply_type_change
from fieldgate.assets.sharing.grant_parsing import parse_field
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import (
    TOPIC,
    AssetStore,
    NewAsset,
    NewVersion,
    strip_control_characters,
    summarize_collection,
)
from fieldgate.assets.tables import COLLECTION, EMPTY, FORM_TYPES, SURVEY
from fieldgate.assets.write_schemas import (
    MAX_NAME_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    AssetChange,
    AssetCreation,
    FormIssue,
)
from fieldgate.db import AsyncDatabase, DataVersions, new_uid
from fieldgate.db.log import write_log
from fieldgate.errors import NotFound, Unauthorized, ValidationError
from fieldgate.http.request.body_parsing import EncodedJSON, UploadedFile
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import User
from fieldgate.overload import Slots

# What clients of KoboToolbox expect to find in the settings of these types.
DEFAULT_SETTINGS: dict[str, Any] = {
    "country": [],
    "sector": {},
    "description": "",
    "organization": "",
    "country_codes": [],
}
TYPES_WITH_DEFAULT_SETTINGS = (SURVEY, COLLECTION)

TOO_MANY_CLONES = Message(
    "Too many forms are being cloned. Nothing was stored; please try again in a few seconds."
)
# Per process of the service.
MAX_CLONES = 2

_NO_CONTENT_IN_COLLECTION = Message(
    "A collection has no content of its own. Leave out the content."
)
_NO_CLONES_OF_COLLECTIONS = Message("A collection cannot be cloned. Clone the assets in it.")
_IMPORT_OTHERS = Message("Send a workbook with questions of a library to POST /api/v2/imports/.")
_ONE_SOURCE = Message("Send only one of file, content and clone_from.")
_CONTENT_OR_CLONE = Message("Send either content or clone_from.")


class WrittenAsset(msgspec.Struct, frozen=True):
    """An asset that was created or changed, with the warnings about the content that was sent."""

    uid: str
    warnings: list[dict[str, Any]] | None = None


class MovedAsset(msgspec.Struct, frozen=True, kw_only=True):
    """What an asset of another server has beside the fields of a request."""

    uid: str
    values: dict[str, Any]  # of its columns; they win over what the content says
    file: UploadedFile | None = None  # the workbook that the content is from
    check: Callable[
        [AsyncConnection, Row[Any]], Awaitable[None]
    ]  # called before a change, with the locked row
    finish: Callable[
        [AsyncConnection], Awaitable[None]
    ]  # writes what belongs to it, in the same transaction


class AssetWriter:
    def __init__(
        self,
        database: AsyncDatabase,
        data_versions: DataVersions,
        checker: ContentChecker,
        quota: StorageQuota,
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._checker = checker
        self._quota = quota
        self._store = AssetStore(database, data_versions)
        self._sharing = AssignmentStore(database, data_versions)
        # A request of a few bytes can clone a form of many megabytes.
        self._clone_slots = Slots(MAX_CLONES, 1, refusal=TOO_MANY_CLONES)

    def localize_warnings(self, written: WrittenAsset, language: Language) -> list[FormIssue]:
        return self._checker.localize_warnings(written.warnings or [], language)

    async def create(
        self, user: User, body: AssetCreation, moved: MovedAsset | None = None
    ) -> WrittenAsset:
        if body.clone_from and body.content is not None:
            raise ValidationError({"clone_from": [_CONTENT_OR_CLONE]})
        if body.file is not None and (body.clone_from or body.content is not None):
            raise ValidationError({"file": [_ONE_SOURCE]})
        file = body.file if moved is None else moved.file
        await self._quota.check(user.id, 0 if file is None else file.size)
        tags = parse_tags(body.tag_string or "")
        parent_uid = (
            parse_field("parent", "assets", body.parent)
            if body.parent and body.parent.strip()
            else None
        )
        if parent_uid is not None:
            await self._check_parent(user, body, parent_uid)
        uid = new_uid("a") if moved is None else moved.uid
        given: dict[str, Any] = (
            {"uid": uid} if body.tag_string is None else {"uid": uid, "tags": tags}
        )
        if not (body.clone_from and body.clone_from.strip()):
            new = await self._from_content(user, body, uid)
            given |= {} if moved is None else moved.values
            await self._insert(user, msgspec.structs.replace(new, **given), parent_uid, file, moved)
            return WrittenAsset(uid, new.warnings)
        async with self._clone_slots.slot(user.quota_id):
            new = await self._clone(user, body, uid)
            await self._insert(user, msgspec.structs.replace(new, **given), parent_uid)
        return WrittenAsset(uid)

    async def change(
        self, user: User, uid: str, body: AssetChange, moved: MovedAsset | None = None
    ) -> WrittenAsset:
        """Change the name, settings, tags and content of an asset. What is not sent stays as it is."""
        asset = await self._store.authorize(uid, user)
        asset.require("change_asset")
        name = None if body.name is None else strip_control_characters(body.name)
        if name == "":
            raise ValidationError({"name": [Message("A name cannot be blank.")]})
        tags = None if body.tag_string is None else list(parse_tags(body.tag_string))
        values = {"name": name, "settings": body.settings, "tags": tags}
        changes = {field: value for field, value in values.items() if value is not None}
        if body.content is not None:
            file_size = 0 if moved is None or moved.file is None else moved.file.size
            await self._quota.check(asset.owner_id, len(body.content.data) + file_size)
            return await self._replace_content(user, asset, body.content, changes, moved)
        if changes or moved is not None:
            async with self._database.transaction() as connection:
                await self._update(connection, user, uid, changes, moved)
        return WrittenAsset(uid)

    async def _update(
        self,
        connection: AsyncConnection,
        user: User,
        uid: str,
        changes: dict[str, Any],
        moved: MovedAsset | None,
    ) -> None:
        row = await self._store.lock_to_change(connection, uid, user)
        if moved is not None:
            await moved.check(connection, row)
        await self._store.update(
            connection, user, row, **changes, **({} if moved is None else moved.values)
        )
        if moved is not None:
            await moved.finish(connection)

    async def _from_content(self, user: User, body: AssetCreation, uid: str) -> NewAsset:
        asset_type, name = body.asset_type or SURVEY, strip_control_characters(body.name or "")
        settings = complete_settings(asset_type, body.settings or {})
        if asset_type == COLLECTION:
            if body.content is not None:
                raise ValidationError({"content": [_NO_CONTENT_IN_COLLECTION]})
            return NewAsset(
                owner_id=user.id, asset_type=COLLECTION, name=name, settings=settings, content={},
                summary=summarize_collection(()),
            )  # fmt: skip
        if body.file is not None:
            name = (
                name or strip_control_characters(body.file.name.rpartition(".")[0])[:MAX_NAME_CHARS]
            )
            return _new_asset(
                user, await self._check_file(user, body.file, asset_type, name, uid), name, settings
            )
        if body.content is None:
            return _new_asset(user, CheckedContent.empty(asset_type), name, settings)
        checked = await self._check(
            user, body.content.data, asset_type, name, uid, allows_empty=True
        )
        return _new_asset(user, checked, name, settings)

    async def _clone(self, user: User, body: AssetCreation, uid: str) -> NewAsset:
        source = await self._store.authorize(
            parse_field("clone_from", "assets", body.clone_from or ""), user
        )
        asset_type = body.asset_type or source.asset_type
        if COLLECTION in (source.asset_type, asset_type):
            raise ValidationError({"clone_from": [_NO_CLONES_OF_COLLECTIONS]})
        row = await self._store.get_visible(user, source.id)
        if row is None:  # deleted since it was authorized
            raise asset_not_found()
        version = await self._store.get_version(
            source.id, body.clone_from_version_id or row.version_uid
        )
        if version is None:
            raise NotFound(Message("There is no version {uid}.", uid=body.clone_from_version_id))
        name = strip_control_characters(body.name or "") or row.name
        settings = complete_settings(
            asset_type, row.settings if body.settings is None else body.settings
        )
        checked = await self._content_of_version(user, version, row, asset_type, name, uid)
        return _new_asset(user, checked, name, settings, tuple(row.tags))

    async def _content_of_version(
        self, user: User, version: Row[Any], source: Row[Any], asset_type: str, name: str, uid: str
    ) -> CheckedContent:
        """The content of a version for an asset of this type, with an XForm if it is a form."""
        kinds = {each in FORM_TYPES for each in (source.asset_type, asset_type)}
        has_own_root = source.uid in (
            version.xform or ""
        )  # the root of its XForm is named after the asset
        if len(kinds) == 1 and EMPTY not in (source.asset_type, asset_type) and not has_own_root:
            return CheckedContent(
                asset_type=asset_type,
                title=None,
                content=version.content,
                summary=version.summary,
                xform=version.xform,
            )
        return await self._check(
            user, msgspec.json.encode(version.content), asset_type, name, uid, allows_empty=True
        )

    async def _replace_content(
        self,
        user: User,
        asset: AuthorizedAsset,
        content: EncodedJSON,
        changes: dict[str, Any],
        moved: MovedAsset | None = None,
    ) -> WrittenAsset:
        if asset.asset_type == COLLECTION:
            raise ValidationError({"content": [_NO_CONTENT_IN_COLLECTION]})
        found = await self._store.get_xform(asset.id)
        if found is None:  # deleted since it was authorized
            raise asset_not_found()
        checked = await self._check(
            user, content.data, asset.asset_type, changes.get("name", found[0]), asset.uid
        )
        async with self._database.transaction() as connection:
            row = await self._store.lock_to_change(connection, asset.uid, user)
            if moved is not None:
                await moved.check(connection, row)
            if "settings" in changes:
                changes = {**changes, "settings": {**row.settings, **changes["settings"]}}
            if checked.title:
                changes = {**changes, "name": checked.title[:MAX_NAME_CHARS]}
            if checked.asset_type != row.asset_type:
                changes = {**changes, "asset_type": checked.asset_type}
            if moved is not None:
                changes = {**changes, **moved.values}
            file = None if moved is None else moved.file
            version = NewVersion(
                content=checked.content,
                summary=checked.summary,
                xform=checked.xform,
                warnings=checked.warnings,
                file_id=None
                if file is None
                else await self._store.add_file(connection, file.name, file.data),
            )
            uid = await self._store.add_version(
                connection, row, version, modified_by=user.id, **changes
            )
            replaced = asset_entry("update-content", row, latest_version_uid=uid)
            await write_log(connection, user, replaced, *change_entries(row, changes))
            if "asset_type" in changes:
                await apply_type_change(self._sharing, connection, row.uid, user)
            if moved is not None:
                await moved.finish(connection)
            await self._data_versions.bump(connection, TOPIC)
        return WrittenAsset(asset.uid, checked.warnings)

    async def _check(
        self,
        user: User,
        data: bytes,
        asset_type: str,
        name: str,
        uid: str,
        *,
        allows_empty: bool = False,
    ) -> CheckedContent:
        """Check content. An empty asset becomes a survey, unless the content is empty."""
        as_type = SURVEY if asset_type == EMPTY else asset_type
        content = ContentToCheck(
            data=data, asset_type=as_type, name=name, asset_uid=uid, allows_empty=allows_empty
        )
        checked = await self._checker.check(user, content)
        if asset_type == EMPTY and not checked.content["survey"]:
            return msgspec.structs.replace(checked, asset_type=EMPTY)
        return checked

    async def _check_file(
        self, user: User, file: UploadedFile, asset_type: str, name: str, uid: str
    ) -> CheckedContent:
        """Check a workbook as an import does. Only surveys and templates have settings, as a workbook does."""
        if asset_type not in FORM_TYPES:
            raise ValidationError({"file": [_IMPORT_OTHERS]})
        content = ContentToCheck(
            data=file.data, asset_type=asset_type, name=name, asset_uid=uid, is_workbook=True
        )
        return await self._checker.check(user, content)

    async def _check_parent(self, user: User, body: AssetCreation, uid: str) -> None:
        """Check the collection before the content, which takes longer. The transaction checks it again."""
        if body.asset_type == COLLECTION:
            raise ValidationError(
                {"parent": [Message("A collection cannot be in another collection.")]}
            )
        try:
            collection = await self._store.authorize(uid, user)
        except NotFound:
            raise _no_collection(uid) from None
        _require_collection(collection)

    async def _insert(
        self,
        user: User,
        new: NewAsset,
        parent_uid: str | None,
        file: UploadedFile | None = None,
        moved: MovedAsset | None = None,
    ) -> None:
        async with self._database.transaction() as connection:
            parent_id = (
                None
                if parent_uid is None
                else await self._lock_parent(connection, user, parent_uid)
            )
            file_id = (
                None
                if file is None
                else await self._store.add_file(connection, file.name, file.data)
            )
            new = msgspec.structs.replace(new, parent_id=parent_id, file_id=file_id)
            try:
                await self._store.create(connection, [new])
            except IntegrityError:  # the account was deleted since the request was authenticated
                raise Unauthorized from None
            await write_log(connection, user, asset_entry("create", new, asset_type=new.asset_type))
            await self._store.update_collection_summary(connection, parent_id)
            if moved is not None:
                await moved.finish(connection)
            await self._data_versions.bump(connection, TOPIC)

    async def _lock_parent(self, connection: AsyncConnection, user: User, uid: str) -> int:
        row = await self._store.find(connection, uid)
        if row is None:
            raise _no_collection(uid)
        try:
            collection = await authorize_row(connection, row, user)
        except NotFound:
            raise _no_collection(uid) from None
        _require_collection(collection)
        return collection.id


def parse_tags(text: str) -> tuple[str, ...]:
    """The tags of a comma-separated list, each once."""
    tags = tuple(
        dict.fromkeys(tag for each in text.split(",") if (tag := strip_control_characters(each)))
    )
    if len(tags) > MAX_TAGS:
        message = PluralMessage(
            "Enter at most {count} tag.", "Enter at most {count} tags.", MAX_TAGS
        )
        raise ValidationError({"tag_string": [message]})
    if any(len(tag) > MAX_TAG_CHARS for tag in tags):
        message = PluralMessage(
            "A tag has at most {count} character.",
            "A tag has at most {count} characters.",
            MAX_TAG_CHARS,
        )
        raise ValidationError({"tag_string": [message]})
    return tags


def complete_settings(asset_type: str, settings: dict[str, Any]) -> dict[str, Any]:
    return (
        {**DEFAULT_SETTINGS, **settings} if asset_type in TYPES_WITH_DEFAULT_SETTINGS else settings
    )


def _new_asset(
    user: User,
    checked: CheckedContent,
    name: str,
    settings: dict[str, Any],
    tags: tuple[str, ...] = (),
) -> NewAsset:
    return NewAsset(
        owner_id=user.id,
        asset_type=checked.asset_type,
        name=(checked.title or name)[:MAX_NAME_CHARS],
        settings=settings,
        tags=tags,
        content=checked.content,
        summary=checked.summary,
        xform=checked.xform,
        warnings=checked.warnings,
    )


def _no_collection(uid: str) -> ValidationError:
    return ValidationError({"parent": [Message("There is no collection {uid}.", uid=uid[:50])]})


def _require_collection(asset: AuthorizedAsset) -> None:
    if asset.asset_type != COLLECTION:
        raise ValidationError({"parent": [Message("This asset is not a collection.")]})
    if "change_asset" not in asset.allowed:
        message = Message(
            "You may see this collection, but adding to it needs the permission change_asset."
        )
        raise ValidationError({"parent": [message]})
