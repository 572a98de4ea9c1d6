"""`/api/v2/assets/{uid}/versions/`: versions of an asset, and the files they came from."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from fieldgate.assets.authorization import AuthorizedAsset
from fieldgate.assets.routes.asset_records import version_fields
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.routes.form_files import download_response
from fieldgate.assets.schemas import ASSETS_PATH, VersionDetail, VersionRecord
from fieldgate.assets.store import AssetStore
from fieldgate.assets.version_restorer import VersionRestorer
from fieldgate.errors import NotFound
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, Created, Routes
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.pagination import ListResult, PageRequest

_ONLY_FOR_OWNER = Message(
    "Only the owner of a collection can download its file. Download the assets in it one by one."
)
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.get_list(
    ASSETS_PATH + "{uid}/versions/",
    response=VersionRecord,
    title=Message("Versions"),
    description=Message("All versions of an asset, newest first."),
)
async def version_list(
    uid: str, page: PageRequest, caller: Caller, store: AssetStore
) -> ListResult[VersionRecord]:
    asset = await store.authorize(uid, caller)
    count, found = await store.list_versions(asset.id, page)
    numbers = await store.get_deployed_numbers(asset.id)
    return ListResult(
        count, [VersionRecord(**_record_fields(asset, version, numbers)) for version in found]
    )


@routes.get(
    ASSETS_PATH + "{uid}/versions/{version}/",
    response=VersionDetail,
    title=Message("Version"),
    description=Message("One version of an asset, with its content."),
    is_costly=True,
)
async def version_detail(
    uid: str, version: str, caller: Caller, store: AssetStore
) -> VersionDetail:
    asset = await store.authorize(uid, caller)
    found = await get_version(asset, version, store)
    numbers = await store.get_deployed_numbers(asset.id)
    return VersionDetail(**_record_fields(asset, found, numbers), content=found.content)


@routes.raw(
    ASSETS_PATH + "{uid}/versions/{version}/file/",
    title=Message("Original file"),
    description=Message(
        "The file that a version was imported from, unchanged. That of a collection is sent to its owner only."
    ),
    media_type="application/octet-stream",
    schema={"type": "string", "format": "binary"},
)
async def version_file(
    uid: str, version: str, context: HandlerContext, store: AssetStore
) -> Response:
    asset = await store.authorize(uid, context.caller)
    found = await get_version(asset, version, store)
    if not asset.may_see_import:
        raise NotFound(_ONLY_FOR_OWNER)
    file = None if found.file_id is None else await store.get_file(found.file_id)
    if file is None:
        raise NotFound
    await store.count_download(context.logged_caller, asset, file.name)
    return download_response(bytes(file.data), b"application/octet-stream", file.name)


@routes.post(
    ASSETS_PATH + "{uid}/versions/{version}/restore/",
    response=VersionRecord,
    title=Message("Restore a version"),
    description=Message(
        "Makes an earlier version of an asset the current one: adds a new version with the same content and file. The "
        "status is 400 if it is the current version already, or equal to it."
    ),
    error_statuses=(413,),
    scope=Scope.IMPORTS,
)
async def version_restoration(
    uid: str, version: str, user: User, restorer: VersionRestorer, store: AssetStore
) -> Created:
    new_uid = await restorer.restore(user, uid, version)
    asset = await store.authorize(uid, user)
    numbers = await store.get_deployed_numbers(asset.id)
    fields = _record_fields(asset, await get_version(asset, new_uid, store), numbers)
    return Created(VersionRecord(**fields), fields["url"])


async def get_version(asset: AuthorizedAsset, version: str, store: AssetStore) -> Row[Any]:
    found = await store.get_version(asset.id, version)
    if found is None:
        raise NotFound(Message("There is no version {uid}.", uid=version[:50]))
    return found


def _record_fields(
    asset: AuthorizedAsset, row: Row[Any], deployed_numbers: Sequence[int]
) -> dict[str, Any]:
    fields = version_fields(asset, row, deployed_numbers)
    has_file = row.name is not None and asset.may_see_import
    return {
        **fields,
        "date_created": row.created_at,
        "summary": row.summary,
        "filename": row.name if has_file else None,
        "file": Link(f"{fields['url'].path}file/") if has_file else None,
    }
