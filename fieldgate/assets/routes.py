"""`/api/v2/assets/`: what a user owns, with every version and the file it came from."""

from typing import Any
from urllib.parse import quote

from sqlalchemy import Row

from fieldgate.assets.names import one_line
from fieldgate.assets.records import AssetChange, AssetDetail, AssetFilters, AssetRecord, VersionDetail, VersionRecord
from fieldgate.assets.store import AssetStore, Narrowed
from fieldgate.http.answers import DATA_POLICY, REVALIDATE_PRIVATELY, Answer
from fieldgate.http.credentials import Caller, User
from fieldgate.http.errors import Invalid, NotFound
from fieldgate.http.language import Message
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import change, deletion, detail, listing, ready
from fieldgate.http.pagination import Page, Slice

TAG = "Assets"
PATH = "/api/v2/assets/"
MOST_WORDS = 20  # of a search
WITH_XFORM = ("survey", "template")

_BASE = "http://127.0.0.1:8000/api/v2/assets/aKm3pVw8ZtQ2xYcRnB5dFh/"
_EXAMPLE: dict[str, Any] = {
    "url": _BASE,
    "uid": "aKm3pVw8ZtQ2xYcRnB5dFh",
    "kind": "asset",
    "asset_type": "survey",
    "name": "Household survey",
    "owner__username": "amina",
    "parent": None,
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
}  # fmt: skip
_VERSION: dict[str, Any] = {
    "url": f"{_BASE}versions/vT4kLw9PzR3yXcSnC6eGjK/",
    "uid": "vT4kLw9PzR3yXcSnC6eGjK",
    "number": 2,
    "date_created": "2026-11-15T09:00:00Z",
    "summary": _EXAMPLE["summary"],
    "filename": "household.xlsx",
    "file": f"{_BASE}versions/vT4kLw9PzR3yXcSnC6eGjK/file/",
}


def path_of(uid: str) -> str:
    return f"{PATH}{uid}/"


@listing(
    PATH,
    of=AssetRecord,
    title=Message("Assets"),
    about=Message("The forms, templates, blocks, questions and collections the caller owns."),
    tag=TAG,
    example=_EXAMPLE,
)
async def asset_list(page: Page, caller: Caller, filters: AssetFilters, store: AssetStore) -> Slice[AssetRecord]:
    if caller.id is None:
        return Slice(0, [])
    words = filters.q.split()
    if len(words) > MOST_WORDS:
        raise Invalid({"q": [Message("Enter at most {count} words.", count=MOST_WORDS)]})
    narrowed = Narrowed(words, filters.asset_type or "", filters.ordering)
    count, rows = await store.owned_by(caller.id, narrowed, page)
    return Slice(count, [AssetRecord(**_shown(row)) for row in rows])


@detail(
    PATH + "{uid}/",
    of=AssetDetail,
    title=Message("Asset"),
    about=Message("One asset, with the content of its newest version."),
    tag=TAG,
    example={**_EXAMPLE, "content": {"survey": [], "choices": [], "settings": {}}},
    refusals=(404,),
)
async def asset_detail(uid: str, caller: Caller, store: AssetStore) -> AssetDetail:
    return _detail(await owned(uid, caller, store))


@change(
    PATH + "{uid}/",
    of=AssetDetail,
    title=Message("Change an asset"),
    about=Message("Gives an asset another name or other settings; what is not sent stays."),
    tag=TAG,
    example={**_EXAMPLE, "content": {"survey": [], "choices": [], "settings": {}}},
    refusals=(403, 404, 413, 415),
)
async def asset_change(uid: str, user: User, body: AssetChange, store: AssetStore) -> AssetDetail:
    name = None if body.name is None else one_line(body.name)
    if name == "":
        raise Invalid({"name": [Message("A name cannot be blank.")]})
    sent = {"name": name, "settings": body.settings}
    if changed := {field: value for field, value in sent.items() if value is not None}:
        await store.change(user.id, uid, **changed)
    return _detail(await owned(uid, user, store))


@deletion(
    PATH + "{uid}/",
    title=Message("Delete an asset"),
    about=Message("Deletes an asset with all its versions; a collection with what is in it."),
    tag=TAG,
    refusals=(403, 404),
)
async def asset_deletion(uid: str, user: User, store: AssetStore) -> None:
    if not await store.delete(user.id, uid):
        raise _no_asset(uid)


@ready(
    PATH + "{uid}/xform/",
    title=Message("XForm"),
    about=Message("The newest version of a survey as an XForm, as collecting apps read it."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="application/xml",
    refusals=(404,),
)
async def asset_xform(uid: str, caller: Caller, store: AssetStore) -> Answer:
    row = await owned(uid, caller, store)
    if row.xform is None:
        raise NotFound(Message("This asset has no XForm: only surveys and templates have one."))
    return _download(row.xform.encode(), b"application/xml; charset=utf-8", f"{row.name}.xml")


@listing(
    PATH + "{uid}/versions/",
    of=VersionRecord,
    title=Message("Versions"),
    about=Message("Every version of an asset, the newest first."),
    tag=TAG,
    example=_VERSION,
    refusals=(404,),
)
async def version_list(uid: str, page: Page, caller: Caller, store: AssetStore) -> Slice[VersionRecord]:
    row = await owned(uid, caller, store)
    count, found = await store.versions_of(row.id, page)
    return Slice(count, [VersionRecord(**_shown_version(uid, version)) for version in found])


@detail(
    PATH + "{uid}/versions/{version}/",
    of=VersionDetail,
    title=Message("Version"),
    about=Message("One version of an asset, with its content."),
    tag=TAG,
    example={**_VERSION, "content": {"survey": [], "choices": [], "settings": {}}},
    refusals=(404,),
)
async def version_detail(uid: str, version: str, caller: Caller, store: AssetStore) -> VersionDetail:
    found = await _version(uid, version, caller, store)
    return VersionDetail(**_shown_version(uid, found), content=found.content)


@ready(
    PATH + "{uid}/versions/{version}/file/",
    title=Message("Original file"),
    about=Message("The file a version came from, byte for byte as it was sent."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="application/octet-stream",
    schema={"type": "string", "format": "binary"},
    refusals=(404,),
)
async def version_file(uid: str, version: str, caller: Caller, store: AssetStore) -> Answer:
    found = await _version(uid, version, caller, store)
    file = None if found.file_id is None else await store.file(found.file_id)
    if file is None:
        raise NotFound
    return _download(bytes(file.data), b"application/octet-stream", file.name)


async def owned(uid: str, caller: Caller, store: AssetStore) -> Row[Any]:
    """The asset, if the caller owns it. Whose it is otherwise is nobody's business."""
    row = None if caller.id is None else await store.one(caller.id, uid)
    if row is None:
        raise _no_asset(uid)
    return row


def _no_asset(uid: str) -> NotFound:
    return NotFound(Message("There is no asset {uid}.", uid=uid[:50]))


async def _version(uid: str, version: str, caller: Caller, store: AssetStore) -> Row[Any]:
    row = await owned(uid, caller, store)
    found = await store.version(row.id, version)
    if found is None:
        raise NotFound(Message("There is no version {uid}.", uid=version[:50]))
    return found


def _download(data: bytes, media_type: bytes, name: str) -> Answer:
    """Never shown in place: what somebody uploaded must not run as a page of ours."""
    disposition = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    headers = [
        (b"content-type", media_type),
        (b"content-disposition", disposition.encode()),
        DATA_POLICY,
        REVALIDATE_PRIVATELY,
    ]
    return Answer(200, headers, data)


def _detail(row: Row[Any]) -> AssetDetail:
    return AssetDetail(**_shown(row), content=row.content)


def _shown(row: Row[Any]) -> dict[str, Any]:
    path = path_of(row.uid)
    return {
        "url": Link(path),
        "uid": row.uid,
        "asset_type": row.asset_type,
        "name": row.name,
        "owner__username": row.username,
        "parent": None if row.parent_uid is None else Link(path_of(row.parent_uid)),
        "settings": row.settings,
        "tag_string": ",".join(row.tags),
        "summary": row.summary,
        "version_id": row.version_uid,
        "version_count": row.version_number,
        "versions": Link(f"{path}versions/"),
        "xform_link": Link(f"{path}xform/") if row.asset_type in WITH_XFORM else None,
        "date_created": row.created_at,
        "date_modified": row.modified_at,
    }


def _shown_version(uid: str, row: Row[Any]) -> dict[str, Any]:
    path = f"{path_of(uid)}versions/{row.uid}/"
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
