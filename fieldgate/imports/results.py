"""The result of an import: assets, messages and final status, stored in one transaction. A dry run stores nothing."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Row, select
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import users
from fieldgate.assets.asset_log import asset_entry, change_entries
from fieldgate.assets.authorization import allowed_permissions_of_user
from fieldgate.assets.sharing.changes import apply_type_change
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import TOPIC as ASSETS
from fieldgate.assets.store import AssetStore, NewAsset, NewVersion, summarize_collection
from fieldgate.assets.tables import effective_type as _effective_type
from fieldgate.db import AsyncDatabase
from fieldgate.db.log import write_log, write_log_sync
from fieldgate.i18n.messages import Message
from fieldgate.imports.leases import Job
from fieldgate.imports.messages import (
    CANNOT_REPLACE_COLLECTION,
    serialize_issues,
    serialize_message,
)
from fieldgate.imports.sandbox.watchdog import FailureReason
from fieldgate.imports.store import COMPLETE, ERROR, FORM_EXISTS, ImportStore
from fieldgate.imports.xlsform import Form, FormRejected, Issue, Library, SheetExcerpt

TYPES_WITH_SETTINGS = ("survey", "template")
MAX_STORED_EXCERPT_BYTES = 512 * 1024  # more than the sandbox makes

DESTINATION_GONE = Message("The asset to replace no longer exists. Import the file as a new asset.")
DESTINATION_NOT_ALLOWED = Message(
    "You may no longer change the asset to replace. Ask its owner for the permission change_asset, or import the file"
    " as a new asset."
)
LIBRARY_NOT_REQUESTED = Message(
    "A library sheet cannot become a form. Send library=true to make a collection of it."
)
LIBRARY_CANNOT_REPLACE_ASSET = Message(
    "A library sheet cannot replace an asset. Leave out the destination."
)

WAITING = Message(
    "The server was too busy to read the file. It will try again by itself in a few minutes."
)
INTERNAL_ERROR = Message(
    "Something went wrong on our side. It has been noted; please try again later."
)

SANDBOX_ERRORS = {
    FailureReason.TIME: FormRejected(
        "too_large",
        Message(
            "The file takes too long to read. Make it smaller or split it. If it is small, it may be damaged: open it,"
            " save it again and send the new file."
        ),
    ),
    FailureReason.BUSY: FormRejected(
        "server_busy",
        Message(
            "The server was too busy to read the file, although it tried several times. Send the file again later. If"
            " it is small, it may be damaged: open it, save it again and send the new file."
        ),
    ),
    FailureReason.MEMORY: FormRejected(
        "too_large",
        Message(
            "The file takes too much memory to read. Make it smaller or split it. If it is small, it may be damaged:"
            " open it, save it again and send the new file."
        ),
    ),
    FailureReason.CRASH: FormRejected(
        "reader_crashed",
        Message(
            "The file could not be read: it is damaged or of an unknown kind. Open it, save it again and send the new"
            " file."
        ),
    ),
    FailureReason.FAULT: FormRejected("fault", INTERNAL_ERROR),
}


class FormExists(FormRejected):
    """The user has forms with the same name or form id. They decide whether the file is a new version of one."""

    def __init__(self, existing: Sequence[Row[Any]], parsed: Form) -> None:
        message = Message(
            "You have a form {name} already. Is this file a new version of it?",
            name=existing[0].name,
        )
        super().__init__(FORM_EXISTS, message, warnings=parsed.warnings, excerpts=parsed.excerpts)
        self.existing = [
            {"uid": row.uid, "name": row.name, "date_modified": row.modified_at.isoformat()}
            for row in existing
        ]


class ResultWriter:
    def __init__(
        self,
        database: AsyncDatabase,
        store: ImportStore,
        assets: AssetStore,
        sharing: AssignmentStore,
    ) -> None:
        self._database = database
        self._store = store
        self._assets = assets
        self._sharing = sharing

    async def complete(self, job: Job, parsed: Form | Library) -> None:
        """Create or replace assets and finish the import; fail it if the destination does not allow that."""
        try:
            async with self._database.transaction() as connection:
                messages = await self._write_assets(connection, job, parsed)
                excerpts = _serialize_excerpts(parsed.excerpts)
                await connection.run_sync(
                    self._store.finish, job, COMPLETE, messages, ASSETS, excerpts=excerpts
                )
        except FormRejected as rejection:
            await self.fail(job, rejection)

    async def preview(self, job: Job, parsed: Form | Library) -> dict[str, Any]:
        """Return the messages of `complete`, with null as the uid of what it would create. Raise FormRejected."""
        async with self._database.read_transaction() as connection:
            return await self._write_assets(connection, job, parsed, is_dry_run=True)

    async def fail(self, job: Job, rejection: FormRejected) -> None:
        messages, excerpts = failure_messages(rejection), _serialize_excerpts(rejection.excerpts)
        await self._database.write(
            lambda connection: self._store.finish(
                connection, job, ERROR, messages, excerpts=excerpts
            )
        )

    async def postpone(self, job: Job, delay: timedelta) -> None:
        """Have the import tried again after a delay, because the machine is busy."""
        messages = {"updated": [], "waiting": serialize_message(WAITING)}
        await self._store.postpone(job, messages, delay)

    async def _write_assets(
        self,
        connection: AsyncConnection,
        job: Job,
        parsed: Form | Library,
        *,
        is_dry_run: bool = False,
    ) -> dict[str, Any]:
        """Create or replace assets, and return the messages. A dry run writes and locks nothing."""
        if isinstance(parsed, Library):
            written = {
                "created": [
                    await self._create_collection(connection, job, parsed, is_dry_run=is_dry_run)
                ]
            }
        elif job.destination_uid is None:
            if job.asks_if_exists:
                await self._check_is_new(connection, job, parsed, is_dry_run=is_dry_run)
            create = partial(self._create_asset, job=job, form=parsed, is_dry_run=is_dry_run)
            written = {"created": [await connection.run_sync(create)]}
        else:
            written = {
                "updated": [
                    await self._replace_asset(connection, job, parsed, is_dry_run=is_dry_run)
                ]
            }
        return {"updated": [], **written, **_serialize_warnings(parsed.warnings)}

    def _create_asset(
        self, connection: Connection, job: Job, form: Form, *, is_dry_run: bool
    ) -> dict[str, Any]:
        library_type = "block" if len(form.content["survey"]) > 1 else "question"
        default_type = library_type if job.is_library else "survey"
        asset_type = _effective_type(job.desired_type or default_type, form.row_count)
        content, summary = _asset_content(form, asset_type)
        if is_dry_run:
            return _result_entry(None, job, summary)
        new = NewAsset(
            owner_id=job.user_id,
            uid=job.asset_uid,
            asset_type=asset_type,
            name=_asset_name(form, job),
            content=content,
            summary=summary,
            xform=form.xform if asset_type in TYPES_WITH_SETTINGS else None,
            file_id=job.file_id,
        )
        [(_, uid)] = self._assets.create_sync(connection, [new])
        write_log_sync(connection, job.user, [asset_entry("create", new, asset_type=asset_type)])
        return _result_entry(uid, job, summary)

    async def _check_is_new(
        self, connection: AsyncConnection, job: Job, form: Form, *, is_dry_run: bool
    ) -> None:
        if not job.is_library and (job.desired_type or "survey") in TYPES_WITH_SETTINGS:
            if not is_dry_run:
                # Of two files at the same moment, the second one waits here, and finds the form of the first.
                account = select(users.c.id).where(users.c.id == job.user_id)
                await connection.execute(account.with_for_update(key_share=True))
            name = _asset_name(form, job)
            if existing := await self._assets.find_same_forms(
                connection, job.user_id, name, form.form_id
            ):
                raise FormExists(existing, form)

    async def _replace_asset(
        self, connection: AsyncConnection, job: Job, form: Form, *, is_dry_run: bool
    ) -> dict[str, Any]:
        asset = await self._assets.find(connection, str(job.destination_uid), is_dry_run=is_dry_run)
        if asset is None:
            raise FormRejected("destination_gone", DESTINATION_GONE)
        # Checked again inside the transaction: permissions may have changed since the file was sent.
        if "change_asset" not in await allowed_permissions_of_user(connection, asset, job.user_id):
            raise FormRejected("destination_not_allowed", DESTINATION_NOT_ALLOWED)
        if asset.asset_type == "collection":
            raise FormRejected("destination_is_collection", CANNOT_REPLACE_COLLECTION)
        asset_type = _effective_type(
            "survey" if asset.asset_type == "empty" else asset.asset_type, form.row_count
        )
        name = (form.title or asset.name or job.name)[:255]
        content, summary = _asset_content(form, asset_type)
        if is_dry_run:
            return _result_entry(asset.uid, job, summary)
        changes = {"asset_type": asset_type, "name": name}
        version_uid = await self._assets.add_version(
            connection,
            asset,
            NewVersion(
                content=content,
                summary=summary,
                xform=form.xform if asset_type in TYPES_WITH_SETTINGS else None,
                file_id=job.file_id,
            ),
            modified_by=job.user_id,
            **changes,
        )
        replaced = asset_entry("replace-form", asset, latest_version_uid=version_uid)
        await write_log(connection, job.user, replaced, *change_entries(asset, changes))
        if asset_type != asset.asset_type:
            await apply_type_change(self._sharing, connection, asset.uid, job.user)
        return _result_entry(asset.uid, job, summary)

    async def _create_collection(
        self, connection: AsyncConnection, job: Job, library: Library, *, is_dry_run: bool
    ) -> dict[str, Any]:
        if job.destination_uid is not None:
            raise FormRejected("library_into_asset", LIBRARY_CANNOT_REPLACE_ASSET)
        if not job.is_library:
            raise FormRejected("library_not_asked", LIBRARY_NOT_REQUESTED)
        entry = {
            "uid": None,
            "kind": "collection",
            "summary": library.summary,
            "owner__username": job.username,
        }
        if is_dry_run:
            return entry
        collection = NewAsset(
            owner_id=job.user_id,
            asset_type="collection",
            name=job.name or "Collection",
            content={},
            summary=summarize_collection(item.summary for item in library.blocks),
            file_id=job.file_id,
        )
        [(collection_id, uid)] = await self._assets.create(connection, [collection])
        children = [
            NewAsset(
                owner_id=job.user_id,
                asset_type=_effective_type(item.kind, item.summary["row_count"]),
                name=(item.name or job.name)[:255],
                content=item.content,
                summary=item.summary,
                tags=tuple(item.tags),
                parent_id=collection_id,
            )
            for item in library.blocks
        ]
        await self._assets.create(connection, children)
        every = (collection, *children)
        entries = [asset_entry("create", each, asset_type=each.asset_type) for each in every]
        await write_log(connection, job.user, *entries)
        return {**entry, "uid": uid}


def failure_messages(rejection: FormRejected) -> dict[str, Any]:
    """Return the messages of an import that ended with an error."""
    return {
        "updated": [],
        "error": serialize_message(rejection.error),
        "error_type": rejection.error_type,
        "problems": serialize_issues(rejection.problems),
        **_serialize_warnings(rejection.warnings),
        **({"existing": rejection.existing} if isinstance(rejection, FormExists) else {}),
    }


def _serialize_warnings(warnings: list[Issue]) -> dict[str, Any]:
    return {"warnings": serialize_issues(warnings)} if warnings else {}


def fitting_excerpts(excerpts: list[SheetExcerpt]) -> list[SheetExcerpt]:
    """Return them, or none: the sandbox keeps them small, but it is not trusted."""
    return excerpts if len(msgspec.json.encode(excerpts)) <= MAX_STORED_EXCERPT_BYTES else []


def _serialize_excerpts(excerpts: list[SheetExcerpt]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(excerpt) for excerpt in fitting_excerpts(excerpts)]


def _result_entry(uid: str | None, job: Job, summary: dict[str, Any]) -> dict[str, Any]:
    return {"uid": uid, "kind": "asset", "summary": summary, "owner__username": job.username}


def _asset_name(form: Form, job: Job) -> str:
    return (form.title or job.name)[:255]


def _asset_content(form: Form, asset_type: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the content and its summary, without settings and locks for blocks and questions."""
    if asset_type in TYPES_WITH_SETTINGS:
        return form.content, form.summary
    unlocked = form.unlocked or form
    return {**unlocked.content, "settings": {}}, unlocked.summary
