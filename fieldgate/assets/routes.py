"""`/api/v2/assets/`: what a user owns or was given, with every version and the file it came from."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Raw
from sqlalchemy import Row

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, asset_not_found
from fieldgate.assets.names import strip_control_characters
from fieldgate.assets.schemas import (
    AssetChange,
    AssetDetail,
    AssetFilters,
    AssetRecord,
    AssignablePermission,
    EffectivePermission,
    VersionDetail,
    VersionRecord,
)
from fieldgate.assets.sharing.io.serializers import ASSIGNMENT_EXAMPLE as ASSIGNMENT
from fieldgate.assets.sharing.io.serializers import assignment_records
from fieldgate.assets.sharing.loading import load_visible_asset, load_visible_many
from fieldgate.assets.sharing.model.grants import AssetGrants
from fieldgate.assets.sharing.model.labels import label
from fieldgate.assets.sharing.schemas import AssignmentRecord
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetSearch, AssetStore
from fieldgate.assets.visibility_sql import DISCOVERABLE
from fieldgate.concurrency import run_in_thread_if
from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import delete, get, get_list, patch, raw
from fieldgate.http.response.links import Link, encode
from fieldgate.http.response.responses import API_CSP, PRIVATE_NO_CACHE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import permission_path as permission_path

TAG = "Assets"
PATH = "/api/v2/assets/"
MAX_SEARCH_WORDS = 20  # of a search
XFORM_TYPES = ("survey", "template")
# What can be assigned, in the order in which people are offered it.
ASSIGNABLE_ORDER = (
    "view_asset", "change_asset", "discover_asset", "manage_asset", "add_submissions", "view_submissions",
    "partial_submissions", "change_submissions", "delete_submissions", "validate_submissions",
)  # fmt: skip

_BASE = "http://127.0.0.1:8000/api/v2/assets/aKm3pVw8ZtQ2xYcRnB5dFh/"
_EXAMPLE: dict[str, Any] = {
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
    "permissions": [ASSIGNMENT],
}  # fmt: skip
_DETAIL_EXAMPLE: dict[str, Any] = {
    **_EXAMPLE,
    "content": {"survey": [], "choices": [], "settings": {}},
    "effective_permissions": [{"codename": "view_asset"}],
    "assignable_permissions": [{"url": "http://127.0.0.1:8000/api/v2/permissions/view_asset/", "label": "View form"}],
}
_VERSION_EXAMPLE: dict[str, Any] = {
    "url": f"{_BASE}versions/vT4kLw9PzR3yXcSnC6eGjK/",
    "uid": "vT4kLw9PzR3yXcSnC6eGjK",
    "number": 2,
    "date_created": "2026-11-15T09:00:00Z",
    "summary": _EXAMPLE["summary"],
    "filename": "household.xlsx",
    "file": f"{_BASE}versions/vT4kLw9PzR3yXcSnC6eGjK/file/",
}


def asset_path(uid: str) -> str:
    return f"{PATH}{uid}/"


@get_list(
    PATH,
    response=AssetRecord,
    title=Message("Assets"),
    description=Message("The forms, templates, blocks, questions and collections that the caller owns or was given."),
    tag=TAG,
    example=_EXAMPLE,
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
        raise ValidationError({"q": [Message("Enter at most {count} words.", count=MAX_SEARCH_WORDS)]})
    narrowed = AssetSearch(words, query.asset_type or "", query.status, query.ordering)
    count, rows = await store.list_visible(caller, narrowed, page)
    shared = await load_visible_many([row.uid for row in rows], caller, sharing)
    size = sum(_cost(each) for each in shared.values())
    return ListResult(count, await run_in_thread_if(size, _encode_records, rows, shared, caller, language))


def _encode_records(
    rows: Iterable[Row[Any]], shared: Mapping[str, AssetGrants], caller: Caller, language: Language
) -> list[bytes]:
    """Each asset as JSON."""
    return [
        encode(
            AssetRecord(**_record_fields(row), permissions=_visible_permissions(shared.get(row.uid), caller, language))
        )
        for row in rows
    ]


@get(
    PATH + "{uid}/",
    response=AssetDetail,
    title=Message("Asset"),
    description=Message("One asset, with the content of its newest version."),
    tag=TAG,
    example=_DETAIL_EXAMPLE,
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


@patch(
    PATH + "{uid}/",
    response=AssetDetail,
    title=Message("Change an asset"),
    description=Message("Gives an asset another name or other settings; what is not sent stays."),
    tag=TAG,
    example=_DETAIL_EXAMPLE,
    error_statuses=(403, 404, 413, 415),
)
async def asset_change(
    uid: str,
    user: User,
    language: Language,
    body: AssetChange,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    sharing: AssignmentStore,
) -> Raw:
    asset = await authorizer.authorize(uid, user)
    asset.require("change_asset")
    name = None if body.name is None else strip_control_characters(body.name)
    if name == "":
        raise ValidationError({"name": [Message("A name cannot be blank.")]})
    sent = {"name": name, "settings": body.settings}
    if changed := {field: value for field, value in sent.items() if value is not None}:
        await store.update(user, uid, **changed)
    return await _detail_response(asset, user, language, store, await load_visible_asset(asset, user, sharing))


@delete(
    PATH + "{uid}/",
    title=Message("Delete an asset"),
    description=Message("Deletes an asset with all its versions; a collection with what is in it."),
    tag=TAG,
    error_statuses=(403, 404),
)
async def asset_deletion(uid: str, user: User, store: AssetStore) -> None:
    await store.delete(user, uid)


@raw(
    PATH + "{uid}/xform/",
    title=Message("XForm"),
    description=Message("The newest version of a survey as an XForm, as collecting apps read it."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="application/xml",
    error_statuses=(404,),
)
async def asset_xform(uid: str, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore) -> Response:
    asset = await authorizer.authorize(uid, caller)
    found = await store.get_xform(asset.id)
    if found is None:
        raise asset_not_found(uid)
    name, xform = found
    if xform is None:
        raise NotFound(Message("This asset has no XForm: only surveys and templates have one."))
    return _download(xform.encode(), b"application/xml; charset=utf-8", f"{name}.xml")


@get_list(
    PATH + "{uid}/versions/",
    response=VersionRecord,
    title=Message("Versions"),
    description=Message("Every version of an asset, the newest first."),
    tag=TAG,
    example=_VERSION_EXAMPLE,
    error_statuses=(404,),
)
async def version_list(
    uid: str, page: PageRequest, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore
) -> ListResult[VersionRecord]:
    asset = await authorizer.authorize(uid, caller)
    count, found = await store.list_versions(asset.id, page)
    return ListResult(count, [VersionRecord(**_version_fields(uid, version)) for version in found])


@get(
    PATH + "{uid}/versions/{version}/",
    response=VersionDetail,
    title=Message("Version"),
    description=Message("One version of an asset, with its content."),
    tag=TAG,
    example={**_VERSION_EXAMPLE, "content": {"survey": [], "choices": [], "settings": {}}},
    error_statuses=(404,),
)
async def version_detail(
    uid: str, version: str, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore
) -> VersionDetail:
    found = await _get_version(await authorizer.authorize(uid, caller), version, store)
    return VersionDetail(**_version_fields(uid, found), content=store.content(found))


@raw(
    PATH + "{uid}/versions/{version}/file/",
    title=Message("Original file"),
    description=Message("The file a version came from, byte for byte as it was sent."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="application/octet-stream",
    schema={"type": "string", "format": "binary"},
    error_statuses=(404,),
)
async def version_file(
    uid: str, version: str, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore
) -> Response:
    found = await _get_version(await authorizer.authorize(uid, caller), version, store)
    file = None if found.file_id is None else await store.get_file(found.file_id)
    if file is None:
        raise NotFound
    return _download(bytes(file.data), b"application/octet-stream", file.name)


async def _get_version(asset: AuthorizedAsset, version: str, store: AssetStore) -> Row[Any]:
    found = await store.get_version(asset.id, version)
    if found is None:
        raise NotFound(Message("There is no version {uid}.", uid=version[:50]))
    return found


def _download(data: bytes, media_type: bytes, name: str) -> Response:
    """Never shown in place: what somebody uploaded must not run as a page of ours."""
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = [
        (b"content-type", media_type),
        (b"content-disposition", disposition.encode()),
        API_CSP,
        PRIVATE_NO_CACHE,
    ]
    return Response(200, headers, data)


async def _detail_response(
    asset: AuthorizedAsset, caller: Caller, language: Language, store: AssetStore, grants: AssetGrants
) -> Raw:
    row = await store.get_visible(caller, asset.id)
    if row is None:  # deleted in this very moment
        raise asset_not_found(asset.uid)
    return await run_in_thread_if(_cost(grants), _encode_detail, asset, row, store, caller, language, grants)


def _encode_detail(
    asset: AuthorizedAsset, row: Row[Any], store: AssetStore, caller: Caller, language: Language, grants: AssetGrants
) -> Raw:
    """All of an asset as JSON."""
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
        permissions=_visible_permissions(grants, caller, language),
    )
    return Raw(encode(record))


def _cost(grants: AssetGrants) -> int:
    """Roughly, how many assignments are shown, with those of the owner."""
    return grants.cost + len(rules.owner_permissions(grants.asset_type))


def _visible_permissions(shared: AssetGrants | None, caller: Caller, language: Language) -> list[AssignmentRecord]:
    """Who may do what with an asset, as it tells a caller of itself. The public is told of the owner only."""
    if shared is None:  # deleted in this very moment
        return []
    shown = shared.visible_to(caller)
    if caller.id is None:
        shown = [each for each in shown if each.user.id == shared.scope.owner_id]
    return assignment_records(shared, shown, language)


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


def _version_fields(uid: str, row: Row[Any]) -> dict[str, Any]:
    path = f"{asset_path(uid)}versions/{row.uid}/"
    return {
        "url": Link(path),
        "uid": row.uid,
        "number": row.number,
        "date_created": row.created_at,
        "summary": row.summary,
        "filename": row.name,
        "file": None if row.name is None else Link(f"{path}file/"),
    }


OPERATIONS = (
    asset_list,
    asset_detail,
    asset_change,
    asset_deletion,
    asset_xform,
    version_list,
    version_detail,
    version_file,
)
