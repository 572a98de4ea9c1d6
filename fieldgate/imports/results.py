"""What becomes of an import: assets and messages, written with its final status in one transaction."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.assets.authorization import allowed_permissions_of_user
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.planning import Action
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import TOPIC as ASSETS
from fieldgate.assets.store import AssetStore, NewAsset, summarize_collection
from fieldgate.db import Database
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.imports.messages import INTO_COLLECTION, stored_problems, stored_sentence
from fieldgate.imports.store import COMPLETE, ERROR, ImportStore, Job
from fieldgate.imports.xlsform import Form, Library, Problem, Refused

WITH_SETTINGS = ("survey", "template")

DESTINATION_GONE = Message("The asset to be replaced is not there any more. Import the file as a new one.")
DESTINATION_NOT_ALLOWED = Message(
    "You may not change the asset to be replaced any more. Ask its owner for the permission change_asset, or import the"
    " file as a new one."
)
LIBRARY_NOT_ASKED = Message("A library sheet cannot become a form. Send library=true to make a collection of it.")
LIBRARY_INTO_ASSET = Message("A library sheet cannot replace an asset. Leave out the destination.")


class Outcomes:
    """Writes the end of imports."""

    def __init__(self, database: Database, store: ImportStore, assets: AssetStore, sharing: AssignmentStore) -> None:
        self._database = database
        self._store = store
        self._assets = assets
        self._sharing = sharing

    async def succeed(self, job: Job, read: Form | Library) -> None:
        """Make or replace assets, or say why that cannot be; all of it or nothing."""
        try:
            async with self._database.transaction() as connection:
                made = await self._write(connection, job, read)
                messages = {"updated": [], **made, **_warnings(read.warnings)}
                await self._store.finish(connection, job, COMPLETE, messages, ASSETS)
        except Refused as refused:
            await self.fail(job, refused)

    async def fail(self, job: Job, refused: Refused) -> None:
        messages = {
            "updated": [],
            "error": stored_sentence(refused.error),
            "error_type": refused.error_type,
            "problems": stored_problems(refused.problems),
            **_warnings(refused.warnings),
        }
        async with self._database.transaction() as connection:
            await self._store.finish(connection, job, ERROR, messages)

    async def _write(self, connection: AsyncConnection, job: Job, read: Form | Library) -> dict[str, Any]:
        if isinstance(read, Library):
            return {"created": [await self._collection(connection, job, read)]}
        if job.destination_uid is None:
            return {"created": [await self._asset(connection, job, read)]}
        return {"updated": [await self._replace(connection, job, read)]}

    async def _asset(self, connection: AsyncConnection, job: Job, form: Form) -> dict[str, Any]:
        by_rows = "block" if len(form.content["survey"]) > 1 else "question"
        asset_type = _settled(job.desired_type or (by_rows if job.is_library else "survey"), form.row_count)
        new = NewAsset(
            owner_id=job.user_id,
            asset_type=asset_type,
            name=_name(form, job),
            content=_content(form, asset_type),
            summary=form.summary,
            xform=form.xform if asset_type in WITH_SETTINGS else None,
            file_id=job.file_id,
        )
        [(_, uid)] = await self._assets.create(connection, [new])
        return _told(uid, job, form.summary)

    async def _replace(self, connection: AsyncConnection, job: Job, form: Form) -> dict[str, Any]:
        asset = await self._assets.find(connection, str(job.destination_uid))
        if asset is None:
            raise Refused("destination_gone", DESTINATION_GONE)
        # Asked again, now that nobody can take it away any more: it may be long since the file was sent.
        if "change_asset" not in await allowed_permissions_of_user(connection, asset, job.user_id):
            raise Refused("destination_not_allowed", DESTINATION_NOT_ALLOWED)
        if asset.asset_type == "collection":
            raise Refused("destination_is_collection", INTO_COLLECTION)
        asset_type = _settled("survey" if asset.asset_type == "empty" else asset.asset_type, form.row_count)
        name = (form.title or asset.name or job.name)[:255]
        await self._assets.add_version(
            connection,
            asset,
            _content(form, asset_type),
            form.summary,
            form.xform if asset_type in WITH_SETTINGS else None,
            job.file_id,
            **({} if asset_type == asset.asset_type else {"asset_type": asset_type}),
            **({} if name == asset.name else {"name": name}),
        )
        if asset_type != asset.asset_type:
            await self._close(connection, asset.uid, job)
        return _told(asset.uid, job, form.summary)

    async def _close(self, connection: AsyncConnection, uid: str, job: Job) -> None:
        """An asset of another type takes other permissions: who manages it manages its submissions from now on."""
        session = self._sharing.in_transaction(connection)
        changes = planning.plan_type_change(await session.load(uid))
        await session.write(Action.IMPORT, User(id=job.user_id, username=job.username), changes)

    async def _collection(self, connection: AsyncConnection, job: Job, library: Library) -> dict[str, Any]:
        if job.destination_uid is not None:
            raise Refused("library_into_asset", LIBRARY_INTO_ASSET)
        if not job.is_library:
            raise Refused("library_not_asked", LIBRARY_NOT_ASKED)
        collection = NewAsset(
            owner_id=job.user_id,
            asset_type="collection",
            name=job.name or "Collection",
            content={},
            summary=summarize_collection(item.summary for item in library.blocks),
            file_id=job.file_id,
        )
        [(number, uid)] = await self._assets.create(connection, [collection])
        children = [
            NewAsset(
                owner_id=job.user_id,
                asset_type=_settled(item.kind, item.summary["row_count"]),
                name=(item.name or job.name)[:255],
                content=item.content,
                summary=item.summary,
                tags=tuple(item.tags),
                parent_id=number,
            )
            for item in library.blocks
        ]
        await self._assets.create(connection, children)
        return {"uid": uid, "kind": "collection", "owner__username": job.username}


def _warnings(warnings: list[Problem]) -> dict[str, Any]:
    return {"warnings": stored_problems(warnings)} if warnings else {}


def _told(uid: str, job: Job, summary: dict[str, Any]) -> dict[str, Any]:
    return {"uid": uid, "kind": "asset", "summary": summary, "owner__username": job.username}


def _settled(asset_type: str, row_count: int) -> str:
    """A block of one question is a question and the other way round, whatever it was called: so the live system."""
    if asset_type not in ("block", "question") or not row_count:
        return asset_type
    return "question" if row_count == 1 else "block"


def _name(form: Form, job: Job) -> str:
    return (form.title or job.name)[:255]


def _content(form: Form, asset_type: str) -> dict[str, Any]:
    """Only forms that stand alone have settings."""
    return form.content if asset_type in WITH_SETTINGS else {**form.content, "settings": {}}
