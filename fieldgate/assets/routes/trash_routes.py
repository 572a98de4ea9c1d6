"""`/api/v2/assets/deleted/`: the trash. `/api/v2/assets/{uid}/undelete/` restores what is in it."""

from typing import Any

from msgspec import Raw
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.routes.asset_records import AssetReader
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.schemas import ASSETS_PATH, AssetDetail, DeletedAsset, asset_path
from fieldgate.assets.trash import Trash
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.get_list(
    ASSETS_PATH + "deleted/",
    response=DeletedAsset,
    title=Message("Deleted assets"),
    description=Message(
        "Assets in the trash that you can restore, the last deleted first: your own, and for superusers all."
    ),
)
async def deleted_asset_list(
    page: PageRequest, user: User, trash: Trash
) -> ListResult[DeletedAsset]:
    found = await trash.load_page(user, page)
    return ListResult(found.total, [_to_record(row, trash) for row in found.rows])


@routes.post(
    ASSETS_PATH + "{uid}/undelete/",
    response=AssetDetail,
    title=Message("Restore a deleted asset"),
    description=Message(
        "Brings an asset back from the trash as it was, with its versions, files, permissions and its place in a "
        "collection. A collection comes back with the assets that were deleted with it. Only for the owner and "
        "superusers; for others, and for assets that are not in the trash, the status is 404."
    ),
    status=200,
    formats=(Format.JSON,),
    scope=Scope.IMPORTS,
)
async def asset_undeletion(
    uid: str, user: User, language: Language, trash: Trash, reader: AssetReader
) -> Raw:
    await trash.restore(user, uid)
    return await reader.detail(uid, user, language)


def _to_record(row: Row[Any], trash: Trash) -> DeletedAsset:
    return DeletedAsset(
        url=Link(asset_path(row.uid)),
        uid=row.uid,
        asset_type=row.asset_type,
        name=row.name,
        owner=Link(user_path(row.username)),
        owner__username=row.username,
        date_created=row.created_at,
        date_modified=row.modified_at,
        date_deleted=row.deleted_at,
        deleted_by=None if row.deleter is None else Link(user_path(row.deleter)),
        purge_at=trash.purge_time(row.deleted_at),
    )
