"""`/api/v2/assets/{uid}.xlsx`, `.xls` and `.xml`: the form as a file, to edit it elsewhere and import it again.

Clients also build `/api/v2/assets/{uid}/{uid}.xls`. The suffix `.xls` stands for any workbook: most are xlsx files, and
are sent as such.
"""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial

from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, asset_not_found
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.routes.deployment_fields import XFORM_TYPES
from fieldgate.assets.routes.version_routes import xform_response
from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.assets.store import AssetStore
from fieldgate.assets.workbook_downloads import (
    MEDIA_TYPES,
    XLS_SUFFIX,
    XLSX_SUFFIX,
    WorkbookFile,
    WorkbookWriter,
    as_workbook,
)
from fieldgate.errors import Header, NotFound
from fieldgate.http.injection import HandlerContext
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import OperationDecorator, raw
from fieldgate.http.response.attachment import attachment
from fieldgate.http.response.responses import API_CSP, PRIVATE_NO_CACHE, Response, etag_matches, make_etag
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller

_CHUNK_BYTES = 256 * 1024


def _get_workbook(path: str, *, in_schema: bool = True, alternate_media_type: str = "") -> OperationDecorator:
    return raw(
        path,
        title=Message("Workbook"),
        description=Message(
            "The newest version of a form as an Excel workbook, to edit it and import it again: the uploaded file, "
            "or else a workbook written from the content."
        ),
        tag=TAG,
        formats=(Format.JSON,),
        media_type=MEDIA_TYPES[XLSX_SUFFIX],
        alternate_media_type=alternate_media_type,
        schema={"type": "string", "format": "binary"},
        error_statuses=(404, 503),
        in_schema=in_schema,
    )


def _get_xform(path: str, *, in_schema: bool = True) -> OperationDecorator:
    return raw(
        path,
        title=Message("XForm"),
        description=Message("The newest version of a survey as an XForm, for data collection apps."),
        tag=TAG,
        formats=(Format.JSON,),
        media_type="application/xml",
        error_statuses=(404,),
        in_schema=in_schema,
    )


@_get_workbook(ASSETS_PATH + "{uid}.xlsx")
async def asset_workbook_xlsx(
    uid: str,
    caller: Caller,
    context: HandlerContext,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    writer: WorkbookWriter,
) -> Response:
    asset = await authorizer.authorize(uid, caller)
    return await _workbook_response(asset, XLSX_SUFFIX, caller, context, store, writer)


@_get_workbook(ASSETS_PATH + "{uid}.xls", alternate_media_type=MEDIA_TYPES[XLS_SUFFIX])
async def asset_workbook_xls(
    uid: str,
    caller: Caller,
    context: HandlerContext,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    writer: WorkbookWriter,
) -> Response:
    asset = await authorizer.authorize(uid, caller)
    return await _workbook_response(asset, XLS_SUFFIX, caller, context, store, writer)


@_get_xform(ASSETS_PATH + "{uid}.xml")
async def asset_xform_xml(uid: str, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore) -> Response:
    return await xform_response(uid, caller, authorizer, store)


@_get_workbook(ASSETS_PATH + "{uid}/{name}.xlsx", in_schema=False)
async def named_workbook_xlsx(
    uid: str,
    name: str,
    caller: Caller,
    context: HandlerContext,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    writer: WorkbookWriter,
) -> Response:
    asset = await authorizer.authorize(_check_name(uid, name), caller)
    return await _workbook_response(asset, XLSX_SUFFIX, caller, context, store, writer)


@_get_workbook(ASSETS_PATH + "{uid}/{name}.xls", in_schema=False)
async def named_workbook_xls(
    uid: str,
    name: str,
    caller: Caller,
    context: HandlerContext,
    authorizer: AssetAuthorizer,
    store: AssetStore,
    writer: WorkbookWriter,
) -> Response:
    asset = await authorizer.authorize(_check_name(uid, name), caller)
    return await _workbook_response(asset, XLS_SUFFIX, caller, context, store, writer)


@_get_xform(ASSETS_PATH + "{uid}/{name}.xml", in_schema=False)
async def named_xform_xml(
    uid: str, name: str, caller: Caller, authorizer: AssetAuthorizer, store: AssetStore
) -> Response:
    return await xform_response(_check_name(uid, name), caller, authorizer, store)


def _check_name(uid: str, name: str) -> str:
    if name != uid:
        raise NotFound
    return uid


async def _workbook_response(
    asset: AuthorizedAsset,
    suffix: str,
    caller: Caller,
    context: HandlerContext,
    store: AssetStore,
    writer: WorkbookWriter,
) -> Response:
    if asset.asset_type == "collection":
        raise NotFound(Message("A collection has no workbook. Download the assets in it one by one."))
    row = await store.get_newest_version(asset.id)
    if row is None:
        raise asset_not_found(asset.uid)
    etag = make_etag("workbook", row.uid, row.name, suffix)
    condition = context.headers.get(b"if-none-match")
    if condition is not None and etag_matches(Response(200, [], etag=etag), condition):
        return Response(200, [PRIVATE_NO_CACHE], etag=etag)  # sent as 304
    workbook = await _load_workbook(row.file_id, suffix, store)
    if workbook is None:
        title = row.name if asset.asset_type in XFORM_TYPES else None
        workbook = await writer.write(caller, partial(store.get_content, row.id), title, row.created_at)
    headers: list[Header] = [
        (b"content-type", MEDIA_TYPES[workbook.suffix].encode()),
        attachment(row.name, workbook.suffix, fallback=asset.uid),
        (b"content-length", str(len(workbook.data)).encode()),
        (b"etag", etag),
        API_CSP,
        PRIVATE_NO_CACHE,
    ]
    # A stream is not compressed. Workbooks are compressed already.
    return Response(200, headers, stream=_chunks(workbook.data))


async def _load_workbook(file_id: int | None, suffix: str, store: AssetStore) -> WorkbookFile | None:
    file = None if file_id is None else await store.get_file(file_id)
    return None if file is None else await asyncio.to_thread(as_workbook, bytes(file.data), suffix)


async def _chunks(data: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(data), _CHUNK_BYTES):
        yield data[start : start + _CHUNK_BYTES]


OPERATIONS = (
    asset_workbook_xlsx,
    asset_workbook_xls,
    asset_xform_xml,
    named_workbook_xlsx,
    named_workbook_xls,
    named_xform_xml,
)
