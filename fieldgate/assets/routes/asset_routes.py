"""`/api/v2/assets/`: the assets that a user owns or that are shared with the user.

An asset shows its permission assignments, so this package is above `fieldgate.assets.sharing`.
"""

from functools import partial
from http import HTTPStatus

from msgspec import Raw

from fieldgate.assets.asset_lists import LIST_TOPICS, AssetLists, AssetSearch
from fieldgate.assets.authorization import audience_key, effective_user_id
from fieldgate.assets.routes.asset_records import AssetReader, encode_list, list_cost
from fieldgate.assets.schemas import (
    ASSETS_PATH,
    AssetDetail,
    AssetFilters,
    AssetRecord,
    DeletionPreview,
    KeptAsset,
    asset_path,
)
from fieldgate.assets.search_query import parse_search
from fieldgate.assets.sharing.grants import run_by_cost
from fieldgate.assets.sharing.schemas import DryRunQuery
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.assets.trash import Trash
from fieldgate.assets.visibility_sql import DISCOVERABLE
from fieldgate.http.injection import SeenVersions
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, PreviewResult, Routes
from fieldgate.http.response.responses import API_CSP, NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.pagination import ListResult, PageRequest

TAG = "Assets"
MAX_KEPT_UIDS = 100  # in a header: clients and proxies refuse long ones
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.get_list(
    ASSETS_PATH,
    response=AssetRecord,
    title=Message("Assets"),
    description=Message(
        "Forms, templates, blocks, questions and collections that the caller owns or that are shared with the caller."
    ),
    depends_on=LIST_TOPICS,
    audience_key=audience_key,
    asset_limit=AssetLimit.HANDLER,
)
async def asset_list(
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: AssetFilters,
    versions: SeenVersions,
    lists: AssetLists,
    store: AssetStore,
    sharing: AssignmentStore,
) -> ListResult[bytes]:
    if caller.id is None and query.status != DISCOVERABLE:
        return ListResult(0, [])
    search = AssetSearch(
        parse_search(query.q),
        query.asset_type or "",
        query.status,
        query.ordering,
        query.collections_first,
    )
    found = await lists.load(caller, search, page, versions)
    grants = await sharing.load_of_user([row.uid for row in found.rows], effective_user_id(caller))
    children = await store.count_children(
        caller, [row.id for row in found.rows if row.asset_type == "collection"]
    )
    encode = partial(encode_list, own_only=query.current_user_permissions_only)
    encoded = await run_by_cost(
        list_cost(grants), encode, found.rows, grants, caller, language, children
    )
    return ListResult(found.total, encoded)


@routes.get(
    ASSETS_PATH + "{uid}/",
    response=AssetDetail,
    title=Message("Asset"),
    description=Message("One asset, with the content of its newest version."),
)
async def asset_detail(uid: str, caller: Caller, language: Language, reader: AssetReader) -> Raw:
    return await reader.detail(uid, caller, language)


@routes.delete(
    ASSETS_PATH + "{uid}/",
    alternate_response=DeletionPreview,
    title=Message("Delete an asset"),
    description=Message(
        "Moves an asset to the trash, from which it can be restored for some days. A collection takes the assets in it "
        "that its owner owns with it. Those of others leave the collection and stay: the header `Fieldgate-Kept` has "
        "the uids of those that you can see. `dry_run` deletes nothing and lists these with their names."
    ),
    response_headers=("Fieldgate-Kept",),
    scope=Scope.IMPORTS,
)
async def asset_deletion(
    uid: str, user: User, query: DryRunQuery, store: AssetStore, trash: Trash
) -> Response | PreviewResult:
    if query.dry_run:
        asset = await store.authorize(uid, user)
        asset.require_delete()
        deleted, kept = await trash.preview(user, asset)
        records = [
            KeptAsset(Link(asset_path(row.uid)), row.uid, row.name, row.username) for row in kept
        ]
        preview = DeletionPreview(
            dry_run=True, deleted=deleted, trash_days=trash.days, kept=records
        )
        return PreviewResult(preview)
    uids = await trash.delete(user, uid)
    # A body would need another status than 204, which clients of KoboToolbox expect.
    named = [(b"fieldgate-kept", ", ".join(uids[:MAX_KEPT_UIDS]).encode())] if uids else []
    return Response(HTTPStatus.NO_CONTENT, [*named, API_CSP, NO_STORE])
