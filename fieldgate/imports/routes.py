"""`/api/v2/imports/`: files in, and what came of them."""

import asyncio
from typing import Any

import msgspec

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.db import Timestamp
from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.injection import HandlerContext
from fieldgate.http.operations import Created, get, get_list, post
from fieldgate.http.response.links import Link
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.imports.fetch.url_fetcher import Fetcher
from fieldgate.imports.messages import INTO_COLLECTION, messages_in
from fieldgate.imports.schemas import ImportAccepted, ImportFilters, ImportRecord, ImportRequest
from fieldgate.imports.store import PROCESSING, TOPIC, ImportStore, Listed
from fieldgate.imports.upload import LONGEST_KEY, Wanted, destination_field, planned, url_digest, wanted
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.settings import Settings

TAG = "Imports"
PATH = "/api/v2/imports/"
QUICK = 64 * 1024  # bytes of a file that are read at once, in half a millisecond; a thread costs a tenth

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


def _seen_as(caller: Caller) -> str:
    """Everybody sees their own imports."""
    return "" if caller.id is None else str(caller.id)


@get_list(
    PATH,
    response=ImportRecord,
    title=Message("Imports"),
    description=Message("The files the caller has imported, and what came of each. For the public the list is empty."),
    tag=TAG,
    depends_on=(TOPIC,),
    audience_key=_seen_as,
    strict_freshness=True,
    example=_EXAMPLE,
)
async def import_list(
    page: PageRequest, caller: Caller, language: Language, filters: ImportFilters, store: ImportStore
) -> ListResult[ImportRecord]:
    if caller.id is None:
        return ListResult(0, [])
    count, rows = await store.made_by(caller.id, filters.status, filters.ordering, page)
    return ListResult(count, [_shown(row, language) for row in rows])


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
    exchange: HandlerContext,
    user: User,
    body: ImportRequest,
    store: ImportStore,
    access: AssetAuthorizer,
    fetcher: Fetcher,
    settings: Settings,
) -> Created:
    key = _retry_key(exchange)
    plan = planned(body)
    asked = None if body.url else await _wanted(body, settings.max_upload)
    # What a client repeats was answered once: the destination, or what was at the address, may be gone since.
    digest = url_digest(body.url, plan) if asked is None else asked.digest
    if key is not None and (known := await store.known(user.id, key, digest)):
        return _accepted(known)
    if plan.destination_uid is not None:
        await _check_destination(user, destination_field(body), plan.destination_uid, access)
    if asked is None:
        asked = wanted(body, settings.max_upload, await fetcher.fetch(body.url, settings.max_upload))
    return _accepted(await store.take(user.id, asked, key))


@get(
    PATH + "{uid}/",
    response=ImportRecord,
    title=Message("Import"),
    description=Message("One import, and what came of it."),
    tag=TAG,
    depends_on=(TOPIC,),
    audience_key=_seen_as,
    strict_freshness=True,
    example=_EXAMPLE,
    error_statuses=(404,),
)
async def import_detail(uid: str, caller: Caller, language: Language, store: ImportStore) -> ImportRecord:
    row = None if caller.id is None else await store.one(caller.id, uid)
    if row is None:
        raise NotFound(Message("There is no import {uid}.", uid=uid[:50]))
    return _shown(row, language)


def _retry_key(exchange: HandlerContext) -> str | None:
    key = exchange.headers.get(b"idempotency-key", b"").decode("latin-1").strip() or None
    if key is not None and len(key) > LONGEST_KEY:
        raise ValidationError(
            {"Idempotency-Key": [Message("Enter text of at most {length} characters.", length=LONGEST_KEY)]}
        )
    return key


def _accepted(uid: str) -> Created:
    link = Link(f"{PATH}{uid}/")
    return Created(ImportAccepted(uid=uid, url=link, status=PROCESSING), link)


async def _wanted(body: ImportRequest, limit: int) -> Wanted:
    """Decoding and digesting megabytes takes a while, which nobody else shall wait for."""
    if len(body.base64Encoded if body.file is None else body.file.data) > QUICK:
        return await asyncio.to_thread(wanted, body, limit)
    return wanted(body, limit)


async def _check_destination(user: User, field: str, uid: str, access: AssetAuthorizer) -> None:
    asset = await access.authorize(uid, user)
    asset.require("change_asset")
    if asset.asset_type == "collection":
        raise ValidationError({field: [INTO_COLLECTION]})


def _shown(row: Listed, language: Language) -> ImportRecord:
    return ImportRecord(
        url=Link(f"{PATH}{row.uid}/"),
        status=row.status,
        messages=messages_in(language, msgspec.json.decode(row.messages)),
        uid=row.uid,
        date_created=Timestamp.unpack(row.created_at),
        filename=row.filename,
    )


OPERATIONS = (import_list, import_creation, import_detail)
