"""The newest or deployed version of a form as a file: a workbook, or an XForm."""

import asyncio
from collections.abc import Hashable
from functools import partial
from typing import Any

from sqlalchemy import Row

from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.routes.asset_records import XFORM_TYPES
from fieldgate.assets.schemas import VersionChoice
from fieldgate.assets.store import AssetStore
from fieldgate.assets.workbook_downloads import (
    MEDIA_TYPES,
    WorkbookFile,
    WorkbookWriter,
    as_workbook,
)
from fieldgate.errors import NotFound
from fieldgate.http.injection import HandlerContext
from fieldgate.http.response.attachment import attachment, file_headers, stream_file
from fieldgate.http.response.responses import PRIVATE_NO_CACHE, Response, etag_matches, make_etag
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.overload import caller_key

NOT_DEPLOYED = Message("No version of this form is published yet.")


class FormFiles:
    def __init__(self, store: AssetStore, writer: WorkbookWriter) -> None:
        self._store = store
        self._writer = writer

    async def xform(self, uid: str, choice: VersionChoice, caller: Caller) -> Response:
        asset = await self._store.authorize(uid, caller)
        found = await self._store.get_xform(asset.id, deployed=choice.version is not None)
        if found is None:
            raise _version_not_found(choice)
        name, xform = found
        if xform is None and asset.asset_type in XFORM_TYPES:
            raise NotFound(Message("This form has no questions yet, so it has no XForm."))
        if xform is None:
            raise NotFound(Message("This asset has no XForm: only surveys and templates have one."))
        await self._store.count_download(caller, asset, name)
        return download_response(xform.encode(), b"application/xml; charset=utf-8", f"{name}.xml")

    async def workbook(
        self, uid: str, choice: VersionChoice, suffix: str, caller: Caller, context: HandlerContext
    ) -> Response:
        """The uploaded file if it is a workbook, otherwise one that is written from the content."""
        asset = await self._store.authorize(uid, caller)
        if asset.asset_type == "collection":
            raise NotFound(
                Message("A collection has no workbook. Download the assets in it one by one.")
            )
        row = await self._store.get_newest_version(asset.id, deployed=choice.version is not None)
        if row is None:
            raise _version_not_found(choice)
        etag = make_etag("workbook", row.uid, row.name, suffix)
        condition = context.headers.get(b"if-none-match")
        if condition is not None and etag_matches(Response(200, [], etag=etag), condition):
            return Response(200, [PRIVATE_NO_CACHE], etag=etag)  # sent as 304
        workbook = await self._load(
            row, asset.asset_type, suffix, caller_key(caller, context.client.address)
        )
        await self._store.count_download(context.logged_caller, asset, row.name)
        disposition = attachment(row.name, workbook.suffix, fallback=asset.uid)
        return stream_file(
            workbook.data, MEDIA_TYPES[workbook.suffix], disposition, (b"etag", etag)
        )

    async def load_newest(
        self, asset_id: int, asset_type: str, suffix: str, holder: Hashable
    ) -> WorkbookFile | None:
        """The workbook of the newest version; None if the asset was deleted. Does not check permissions."""
        row = await self._store.get_newest_version(asset_id)
        return None if row is None else await self._load(row, asset_type, suffix, holder)

    async def load_content(self, asset_id: int) -> dict[str, Any]:
        """The content of the newest version, {} if the asset was deleted. Does not check permissions."""
        row = await self._store.get_newest_version(asset_id)
        return {} if row is None else await self._store.get_content(row.id)

    async def _load(
        self, version: Row[Any], asset_type: str, suffix: str, holder: Hashable
    ) -> WorkbookFile:
        workbook = await self._load_upload(version.file_id, suffix)
        if workbook is not None:
            return workbook
        title = version.name if asset_type in XFORM_TYPES else None
        load_content = partial(self._store.get_content, version.id)
        return await self._writer.write(holder, load_content, title, version.created_at)

    async def _load_upload(self, file_id: int | None, suffix: str) -> WorkbookFile | None:
        file = None if file_id is None else await self._store.get_file(file_id)
        return (
            None if file is None else await asyncio.to_thread(as_workbook, bytes(file.data), suffix)
        )


def _version_not_found(choice: VersionChoice) -> NotFound:
    """The newest version is only missing if the asset was deleted since it was authorized."""
    return asset_not_found() if choice.version is None else NotFound(NOT_DEPLOYED)


def download_response(data: bytes, media_type: bytes, name: str) -> Response:
    stem, _, suffix = name.rpartition(".")
    is_suffix = bool(stem) and suffix.isascii() and suffix.isalnum()
    disposition = (
        attachment(stem, f".{suffix}", fallback="form")
        if is_suffix
        else attachment(name, "", fallback="form")
    )
    return Response(200, file_headers(media_type, disposition, caching=PRIVATE_NO_CACHE), data)
