"""`/api/v2/assets/`: the assets that a user owns or that are shared with the user.

An asset shows its permission assignments, so this package is above `fieldgate.assets.sharing`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, asset_not_found
from fieldgate.assets.schemas import (
    ASSETS_PATH,
    AssetDetail,
    AssetFilters,
    AssetRecord,
    AssignablePermission,
    AssignmentRecord,
    EffectivePermission,
    asset_path,
)
from fieldgate.assets.sharing.io.serializers import ASSIGNMENT_EXAMPLE, assignment_records
from fieldgate.assets.sharing.loading import load_visible_asset, load_visible_many
from fieldgate.assets.sharing.model.grants import AssetGrants
from fieldgate.assets.sharing.model.labels import label
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetSearch, AssetStore
from fieldgate.assets.visibility_sql import DISCOVERABLE
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.errors import ValidationError
from fieldgate.http.operations import delete, get, get_list
from fieldgate.http.response.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Caller, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import permission_path

TAG = "Assets"
MAX_SEARCH_WORDS = 20
XFORM_TYPES = ("survey", "template")
# The order in which a user interface offers permissions.
ASSIGNABLE_ORDER = (
    "view_asset", "change_asset", "discover_asset", "manage_asset", "add_submissions", "view_submissions",
    "partial_submissions", "change_submissions", "delete_submissions", "validate_submissions",
)  # fmt: skip

_BASE = "http://127.0.0.1:8000/api/v2/assets/aKm3pVw8ZtQ2xYcRnB5dFh/"
ASSET_EXAMPLE: dict[str, Any] = {
    "url": _BASE,
    "uid": "aKm3pVw8ZtQ2xYcRnB5dFh",
    "kind": "asset",
    "asset_type": "survey",
    "name": "Household survey",
    "owner": "http://127.0.0.1:8000/api/v2/users/amina/",
    "owner__username": "amina",
    "parent": None,
    "status": "shared",
    "settings": {},
    "tag_string": "",
    "summary": {"row_count": 12, "geo": True, "labels": ["Name"], "columns": ["type"], "languages": ["English (en)"],
                "default_translation": "English (en)"},
    "version_id": "vT4kLw9PzR3yXcSnC6eGjK",
    "version_count": 2,
    "versions": f"{_BASE}versions/",
    "xform_link": f"{_BASE}xform/",
    "date_created": "2026-11-15T08:30:00Z",
    "date_modified": "2026-11-15T09:00:00Z",
    "permissions": [ASSIGNMENT_EXAMPLE],
}  # fmt: skip
DETAIL_EXAMPLE: dict[str, Any] = {
    **ASSET_EXAMPLE,
    "content": {"survey": [], "choices": [], "settings": {}},
    "effective_permissions": [{"codename": "view_asset"}],
    "assignable_permissions": [{"url": "http://127.0.0.1:8000/api/v2/permissions/view_asset/", "label": "View form"}],
}


@get_list(
    ASSETS_PATH,
    response=AssetRecord,
    title=Message("Assets"),
    description=Message(
        "Forms, templates, blocks, questions and collections that the caller owns or that are shared with the caller."
    ),
    tag=TAG,
    example=ASSET_EXAMPLE,
)
async def asset_list(
    page: PageRequest,
    caller: Caller,
    language: Language,
    query: AssetFilters,
    store: AssetStore,
    sharing: AssignmentStore,
) -> ListResult[bytes]:
    if caller.id is None and query.status != DISCOVERABLE:
        return ListResult(0, [])
    words = query.q.split()
    if len(words) > MAX_SEARCH_WORDS:
        raise ValidationError(
            {"q": [PluralMessage("Enter at most {count} word.", "Enter at most {count} words.", MAX_SEARCH_WORDS)]}
        )
    search = AssetSearch(words, query.asset_type or "", query.status, query.ordering)
    count, rows = await store.list_visible(caller, search, page)
    grants_by_uid = await load_visible_many([row.uid for row in rows], caller, sharing)
    cost = sum(_cost(grants) for grants in grants_by_uid.values())
    return ListResult(count, await run_by_cost(cost, _encode_records, rows, grants_by_uid, caller, language))


def _encode_records(
    rows: Iterable[Row[Any]], grants_by_uid: Mapping[str, AssetGrants], caller: Caller, language: Language
) -> list[bytes]:
    return [
        encode(
            AssetRecord(
                **_record_fields(row),
                permissions=_permission_records(grants_by_uid.get(row.uid), caller, language),
            )
        )
        for row in rows
    ]


@get(
    ASSETS_PATH + "{uid}/",
    response=AssetDetail,
    title=Message("Asset"),
    description=Message("One asset, with the content of its newest version."),
    tag=TAG,
    example=DETAIL_EXAMPLE,
    error_statuses=(404,),
)
async def asset_detail(
    uid: str,
    caller: Caller,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    sharing: AssignmentStore,
) -> Raw:
    asset = await authorizer.authorize(uid, caller)
    return await _detail_response(asset, caller, language, store, await load_visible_asset(asset, caller, sharing))


@delete(
    ASSETS_PATH + "{uid}/",
    title=Message("Delete an asset"),
    description=Message("Deletes an asset with all its versions. Deleting a collection deletes the assets in it."),
    tag=TAG,
    error_statuses=(403, 404),
)
async def asset_deletion(uid: str, user: User, store: AssetStore) -> None:
    await store.delete(user, uid)


async def _detail_response(
    asset: AuthorizedAsset, caller: Caller, language: Language, store: AssetStore, grants: AssetGrants
) -> Raw:
    row = await store.get_visible(caller, asset.id)
    if row is None:  # deleted since it was authorized
        raise asset_not_found(asset.uid)
    return await run_by_cost(_cost(grants), _encode_detail, asset, row, store, caller, language, grants)


def _encode_detail(
    asset: AuthorizedAsset, row: Row[Any], store: AssetStore, caller: Caller, language: Language, grants: AssetGrants
) -> Raw:
    allowed = [*sorted(asset.allowed), *(["delete_asset"] if asset.may_delete else [])]
    assignable = rules.assignable(row.asset_type)
    record = AssetDetail(
        **_record_fields(row),
        content=store.content(row),
        effective_permissions=[EffectivePermission(codename) for codename in allowed],
        assignable_permissions=[
            AssignablePermission(Link(permission_path(codename)), label(codename, row.asset_type, language))
            for codename in ASSIGNABLE_ORDER
            if codename in assignable
        ],
        permissions=_permission_records(grants, caller, language),
    )
    return Raw(encode(record))


def _cost(grants: AssetGrants) -> int:
    """Estimate how many assignments are shown, including the owner's."""
    return grants.cost + len(rules.owner_permissions(grants.asset_type))


def _permission_records(grants: AssetGrants | None, caller: Caller, language: Language) -> list[AssignmentRecord]:
    """Assignments that a caller sees in an asset. Anonymous callers see the owner's only."""
    if grants is None:  # deleted since the list was read
        return []
    assignments = grants.visible_to(caller)
    if caller.id is None:
        assignments = [each for each in assignments if each.user.id == grants.scope.owner_id]
    return assignment_records(grants, assignments, language)


def _record_fields(row: Row[Any]) -> dict[str, Any]:
    path = asset_path(row.uid)
    return {
        "url": Link(path),
        "uid": row.uid,
        "asset_type": row.asset_type,
        "name": row.name,
        "owner": Link(user_path(row.username)),
        "owner__username": row.username,
        "status": row.status,
        "parent": None if row.parent_uid is None else Link(asset_path(row.parent_uid)),
        "settings": row.settings,
        "tag_string": ",".join(row.tags),
        "summary": row.summary,
        "version_id": row.version_uid,
        "version_count": row.version_number,
        "versions": Link(f"{path}versions/"),
        "xform_link": Link(f"{path}xform/") if row.asset_type in XFORM_TYPES else None,
        "date_created": row.created_at,
        "date_modified": row.modified_at,
    }


OPERATIONS = (asset_list, asset_detail, asset_deletion)
