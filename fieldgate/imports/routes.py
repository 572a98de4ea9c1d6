"""`/api/v2/imports/`: files in, and what came of them."""

from typing import Any

import msgspec

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.concurrency import run_in_thread_if
from fieldgate.db import Timestamp
from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.injection import HandlerContext
from fieldgate.http.operations import Created, get, get_list, post
from fieldgate.http.response.links import Link
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.imports.messages import CANNOT_REPLACE_COLLECTION, localize_messages
from fieldgate.imports.schemas import ImportAccepted, ImportFilters, ImportRecord, ImportRequest
from fieldgate.imports.store import PROCESSING, TOPIC, ImportRow, ImportStore
from fieldgate.imports.upload import (
    MAX_IDEMPOTENCY_KEY_CHARS,
    NewImport,
    destination_field,
    parse_options,
    parse_upload,
    url_digest,
)
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.settings import Settings

TAG = "Imports"
PATH = "/api/v2/imports/"
THREAD_THRESHOLD_BYTES = (
    64 * 1024
)  # bytes of a file that are read at once, in half a millisecond; a thread costs a tenth

_UID = "iKm3pVw8ZtQ2xYcRnB5dFh"
_URL = f"http://127.0.0.1:8000{PATH}{_UID}/"
_EXAMPLE: dict[str, Any] = {
    "url": _URL,
    "status": "complete",
    "messages": {
        "updated": [],
        "created": [
            {
                "uid": "aKm3pVw8ZtQ2xYcRnB5dFh",
                "kind": "asset",
                "summary": {"geo": False, "labels": ["Name"], "columns": ["type", "name", "label"], "languages": [],
                            "row_count": 1, "default_translation": None},
                "owner__username": "amina",
            }
        ],
    },
    "uid": _UID,
    "date_created": "2026-11-15T08:30:00Z",
    "filename": "household.xlsx",
}  # fmt: skip


def _file_limit(settings: Settings) -> int:
    return settings.max_upload


def _audience_key(caller: Caller) -> str:
    """Everybody sees their own imports."""
    return "" if caller.id is None else str(caller.id)


@get_list(
    PATH,
    response=ImportRecord,
    title=Message("Imports"),
    description=Message("The files the caller has imported, and what came of each. For the public the list is empty."),
    tag=TAG,
    depends_on=(TOPIC,),
    audience_key=_audience_key,
    strict_freshness=True,
    example=_EXAMPLE,
)
async def import_list(
    page: PageRequest, caller: Caller, language: Language, query: ImportFilters, store: ImportStore
) -> ListResult[ImportRecord]:
    if caller.id is None:
        return ListResult(0, [])
    count, rows = await store.list_for_user(caller.id, query.status, query.ordering, page)
    return ListResult(count, [_to_record(row, language) for row in rows])


@post(
    PATH,
    response=ImportAccepted,
    title=Message("Import a file"),
    description=Message(
        "Takes in an XLSForm workbook. The answer comes when it is stored durably; ask its address for what became "
        "of it. A repeated Idempotency-Key gives the first answer again."
    ),
    tag=TAG,
    file_limit=_file_limit,
    example={"uid": _UID, "url": _URL, "status": "processing"},
    error_statuses=(403, 404, 413, 415, 422),
)
async def import_creation(
    context: HandlerContext,
    user: User,
    body: ImportRequest,
    store: ImportStore,
    authorizer: AssetAuthorizer,
    fetcher: URLFetcher,
    settings: Settings,
) -> Created:
    key = _idempotency_key(context)
    plan = parse_options(body)
    asked = None if body.url else await _parse_upload(body, settings.max_upload)
    # What a client repeats was answered once: the destination, or what was at the address, may be gone since.
    digest = url_digest(body.url, plan) if asked is None else asked.digest
    if key is not None and (known := await store.find_by_idempotency_key(user.id, key, digest)):
        return _accepted_response(known)
    if plan.destination_uid is not None:
        await _check_destination(user, destination_field(body), plan.destination_uid, authorizer)
    if asked is None:
        asked = parse_upload(body, settings.max_upload, await fetcher.fetch(body.url, settings.max_upload))
    return _accepted_response(await store.create(user.id, asked, key))


@get(
    PATH + "{uid}/",
    response=ImportRecord,
    title=Message("Import"),
    description=Message("One import, and what came of it."),
    tag=TAG,
    depends_on=(TOPIC,),
    audience_key=_audience_key,
    strict_freshness=True,
    example=_EXAMPLE,
    error_statuses=(404,),
)
async def import_detail(uid: str, caller: Caller, language: Language, store: ImportStore) -> ImportRecord:
    row = None if caller.id is None else await store.get_for_user(caller.id, uid)
    if row is None:
        raise NotFound(Message("There is no import {uid}.", uid=uid[:50]))
    return _to_record(row, language)


def _idempotency_key(context: HandlerContext) -> str | None:
    key = context.headers.get(b"idempotency-key", b"").decode("latin-1").strip() or None
    if key is not None and len(key) > MAX_IDEMPOTENCY_KEY_CHARS:
        raise ValidationError(
            {
                "Idempotency-Key": [
                    Message("Enter text of at most {length} characters.", length=MAX_IDEMPOTENCY_KEY_CHARS)
                ]
            }
        )
    return key


def _accepted_response(uid: str) -> Created:
    link = Link(f"{PATH}{uid}/")
    return Created(ImportAccepted(uid=uid, url=link, status=PROCESSING), link)


async def _parse_upload(body: ImportRequest, max_bytes: int) -> NewImport:
    """Decoding and digesting megabytes takes a while, which nobody else shall wait for."""
    is_large = len(body.base64Encoded if body.file is None else body.file.data) > THREAD_THRESHOLD_BYTES
    return await run_in_thread_if(is_large, parse_upload, body, max_bytes)


async def _check_destination(user: User, field: str, uid: str, authorizer: AssetAuthorizer) -> None:
    asset = await authorizer.authorize(uid, user)
    asset.require("change_asset")
    if asset.asset_type == "collection":
        raise ValidationError({field: [CANNOT_REPLACE_COLLECTION]})


def _to_record(row: ImportRow, language: Language) -> ImportRecord:
    return ImportRecord(
        url=Link(f"{PATH}{row.uid}/"),
        status=row.status,
        messages=localize_messages(language, msgspec.json.decode(row.messages)),
        uid=row.uid,
        date_created=Timestamp.unpack(row.created_at),
        filename=row.filename,
    )


OPERATIONS = (import_list, import_creation, import_detail)
