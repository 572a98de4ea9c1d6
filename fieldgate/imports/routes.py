"""Routes under `/api/v2/imports/`."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.assets.authorization import AssetAuthorizer, audience_key
from fieldgate.errors import Conflict, Forbidden, NotFound, TooManyRequests, ValidationError
from fieldgate.http.disconnects import run_until_disconnect
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, Created, PreviewResult, Routes
from fieldgate.http.request.validation import text_limit_message
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.imports.fetch.url_fetcher import URLFetcher
from fieldgate.imports.messages import CANNOT_REPLACE_COLLECTION
from fieldgate.imports.schemas import (
    PATH,
    DryRun,
    ImportAccepted,
    ImportAnswer,
    ImportFilters,
    ImportPreview,
    ImportRecord,
    ImportRequest,
    ImportRows,
)
from fieldgate.imports.serializers import encode_import, import_record
from fieldgate.imports.sheet_excerpts import SheetExcerpt
from fieldgate.imports.store import PROCESSING, TOPIC, ImportStore
from fieldgate.imports.upload import (
    MAX_IDEMPOTENCY_KEY_CHARS,
    NewImport,
    destination_field,
    destination_uid,
    parse_options,
    parse_upload,
    url_digest,
)
from fieldgate.overload import run_in_thread_if
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.settings import Settings

TAG = "Imports"
RETRY_SECONDS = 30  # of a user with many unfinished imports
THREAD_THRESHOLD_BYTES = 64 * 1024  # parsed in 0.5 ms; starting a thread takes 0.1 ms


class ImportChecker(msgspec.Struct, frozen=True):
    """The function for dry runs. It is given by `app.py`, because this module does not load what parses forms."""

    check: Callable[[User, NewImport, Language], Coroutine[Any, Any, ImportPreview]]


routes = Routes(tag=TAG, scope=Scope.READ, depends_on=(TOPIC,), audience_key=audience_key)


@routes.get_list(
    PATH,
    response=ImportRecord,
    title=Message("Imports"),
    description=Message(
        "Files imported by the caller, with their results. The list is empty for callers who are not logged in."
    ),
)
async def import_list(
    page: PageRequest, caller: Caller, language: Language, query: ImportFilters, store: ImportStore
) -> ListResult[ImportRecord]:
    if caller.id is None:
        return ListResult(0, [])
    count, rows = await store.list_for_user(caller.id, query.status, query.ordering, page)
    return ListResult(count, [encode_import(row, language) for row in rows])


@routes.post(
    PATH,
    response=ImportAccepted,
    title=Message("Import a file"),
    description=Message(
        "Imports an XLSForm workbook. The response is sent once the file is stored; get its address for the result. "
        "A repeated Idempotency-Key returns the first response. `dry_run` stores nothing: the response has the result "
        "of the import, and an Idempotency-Key is ignored. You have one dry run at a time; another one waits for up to "
        "5 s."
    ),
    alternate_response=ImportPreview,
    file_limit=lambda settings: settings.max_upload,
    error_statuses=(422,),
    scope=Scope.IMPORTS,
    asset_limit=AssetLimit.HANDLER,
)
async def import_creation(
    context: HandlerContext,
    user: User,
    body: ImportRequest,
    query: DryRun,
    language: Language,
    store: ImportStore,
    authorizer: AssetAuthorizer,
    fetcher: URLFetcher,
    quota: StorageQuota,
    checker: ImportChecker,
    settings: Settings,
) -> Created | PreviewResult:
    key = _idempotency_key(context)
    options = parse_options(body)
    if user.limits.assets is not None and options.destination_uid not in user.limits.assets:
        raise Forbidden(
            Message("This token is limited to some assets. Name one of them as destination.")
        )
    new_import = None if body.url else await _parse_upload(body, settings.max_upload)
    # A repeated request gets its first response, even if the destination or the file at the URL is gone by now.
    digest = url_digest(body.url, options) if new_import is None else new_import.digest
    if (
        key is not None
        and not query.dry_run
        and (first_uid := await store.find_by_idempotency_key(user.id, key, digest))
    ):
        return _accepted_response(first_uid)
    if not query.dry_run:
        await _check_queue(user, store, settings)
    await quota.check(user.id, 0 if new_import is None else new_import.file.size)
    if options.destination_uid is not None:
        owner_id = await _check_destination(
            user, destination_field(body), options.destination_uid, authorizer
        )
        await quota.check(owner_id, 0 if new_import is None else new_import.file.size)
    if new_import is None:
        file = await fetcher.fetch(body.url, settings.max_upload, user.quota_id)
        new_import = parse_upload(body, settings.max_upload, file)
    if query.dry_run:
        check = checker.check(user, new_import, language)
        return PreviewResult(await run_until_disconnect(context.receive, check))
    return _accepted_response(await store.create(user.id, new_import, key))


@routes.get(
    PATH + "{uid}/",
    response=ImportRecord,
    title=Message("Import"),
    description=Message("One import and its result."),
    asset_limit=AssetLimit.HANDLER,
)
async def import_detail(
    uid: str, caller: Caller, language: Language, store: ImportStore
) -> ImportRecord:
    row = None if caller.id is None else await store.get_for_user(caller.id, uid)
    if row is None or not caller.limits.includes_asset(row.destination_uid or ""):
        raise import_not_found(uid)
    return import_record(row, language)


@routes.patch(
    PATH + "{uid}/",
    response=ImportRecord,
    title=Message("Answer an import"),
    description=Message(
        "Answers an import that ended with the error_type form_exists: the file is a new version of `destination`, or "
        "a second form with the same name. Its status is processing again."
    ),
    error_statuses=(409,),
    scope=Scope.IMPORTS,
)
async def import_answer(
    uid: str,
    user: User,
    language: Language,
    body: ImportAnswer,
    store: ImportStore,
    authorizer: AssetAuthorizer,
    settings: Settings,
) -> ImportRecord:
    if await store.get_for_user(user.id, uid) is None:
        raise import_not_found(uid)
    destination = destination_uid("destination", body.destination.strip())
    if (destination is None) == (body.if_exists is None):
        raise ValidationError(
            {"destination": [Message("Send either destination, or if_exists with create.")]}
        )
    if destination is not None:
        await _check_destination(user, "destination", destination, authorizer)
    await _check_queue(user, store, settings)
    if not await store.answer(user.id, uid, destination):
        raise Conflict(Message("This import does not ask anything."))
    record: ImportRecord = await import_detail.handler(uid, user, language, store)
    return record


@routes.get(
    PATH + "{uid}/rows/",
    response=ImportRows,
    title=Message("Rows with problems"),
    description=Message(
        "The rows of the workbook that the problems and warnings of an import are about, with the rows next to them."
    ),
)
async def import_rows(uid: str, caller: Caller, store: ImportStore) -> ImportRows:
    stored = None if caller.id is None else await store.get_excerpts_for_user(caller.id, uid)
    if stored is None:
        raise import_not_found(uid)
    return ImportRows(sheets=msgspec.convert(stored, list[SheetExcerpt]))


async def _check_queue(user: User, store: ImportStore, settings: Settings) -> None:
    if settings.max_queued_imports and await store.is_queue_full(
        user.id, settings.max_queued_imports
    ):
        message = Message(
            "{count} of your files are not imported yet. Send more when some of them are.",
            count=settings.max_queued_imports,
        )
        raise TooManyRequests(message, RETRY_SECONDS)


def import_not_found(uid: str) -> NotFound:
    return NotFound(Message("There is no import {uid}.", uid=uid[:50]))


def _idempotency_key(context: HandlerContext) -> str | None:
    key = context.headers.get(b"idempotency-key", b"").decode("latin-1").strip() or None
    if key is not None and len(key) > MAX_IDEMPOTENCY_KEY_CHARS:
        raise ValidationError({"Idempotency-Key": [text_limit_message(MAX_IDEMPOTENCY_KEY_CHARS)]})
    return key


def _accepted_response(uid: str) -> Created:
    link = Link(f"{PATH}{uid}/")
    return Created(ImportAccepted(uid=uid, url=link, status=PROCESSING), link)


async def _parse_upload(body: ImportRequest, max_bytes: int) -> NewImport:
    """Parse large files in a thread: decoding and hashing them would block other requests."""
    is_large = (
        len(body.base64Encoded) if body.file is None else body.file.size
    ) > THREAD_THRESHOLD_BYTES
    return await run_in_thread_if(is_large, parse_upload, body, max_bytes)


async def _check_destination(user: User, field: str, uid: str, authorizer: AssetAuthorizer) -> int:
    """Check that a user may import into an asset. Returns its owner, whose storage the file takes."""
    asset = await authorizer.authorize(uid, user)
    asset.require("change_asset")
    if asset.asset_type == "collection":
        raise ValidationError({field: [CANNOT_REPLACE_COLLECTION]})
    return asset.owner_id
