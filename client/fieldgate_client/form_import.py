"""Importing an XLSForm: upload with progress, wait for the result, and tell what is wrong by sheet, row and column."""

from __future__ import annotations

import asyncio
import mimetypes
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate_client.errors import FieldgateError, UnexpectedResponse
from fieldgate_client.problem_table import format_problems
from fieldgate_client.records import Asset, Import, Problem
from fieldgate_client.server_url import last_path_segment

if TYPE_CHECKING:
    from fieldgate_client.connection import Connection, HTTPResponse

CHUNK_BYTES = 64 * 1024
FIRST_PAUSE = 0.2  # seconds between two looks at an import, growing
LONGEST_PAUSE = 3.0
_RUNNING = frozenset({"created", "processing"})

UploadProgress = Callable[[int, int], None]  # bytes sent, bytes in all
StatusProgress = Callable[[str], None]


class ImportFailed(FieldgateError):
    """The form was not imported. `problems` says why, by sheet, row and column; `str()` is a table of them."""

    def __init__(self, message: str, *, record: Import, problems: list[Problem], warnings: list[Problem]) -> None:
        super().__init__(message)
        self.record = record
        self.problems = problems
        self.warnings = warnings

    def __str__(self) -> str:
        return f"{self.message}\n{format_problems(self.problems)}" if self.problems else self.message


class ImportTimeout(FieldgateError):
    """The import did not end in time. It continues on the server: look at it again later."""


class ImportResult(msgspec.Struct, frozen=True):
    """The assets that an import created or updated, and its warnings."""

    record: Import
    assets: list[Asset]
    warnings: list[Problem]

    def __iter__(self) -> Iterator[Asset]:
        return iter(self.assets)

    def __len__(self) -> int:
        return len(self.assets)

    def __getitem__(self, position: int) -> Asset:
        return self.assets[position]


class FormUpload(msgspec.Struct, frozen=True):
    """A file with the fields of the request."""

    filename: str
    content: bytes
    destination: str = ""  # uid of the asset to replace
    name: str = ""
    library: bool = False
    desired_type: str = ""

    def fields(self) -> dict[str, str]:
        fields = {
            "name": self.name,
            "destination": self.destination,
            "library": "true" if self.library else "",
            "desired_type": self.desired_type,
        }
        return {name: value for name, value in fields.items() if value}


def read_upload(path: str | Path, destination: Asset | str | None = None, **fields: Any) -> FormUpload:
    """Read a form from a file. The destination is an asset, its uid or its URL."""
    target = destination.uid if isinstance(destination, Asset) else last_path_segment(destination or "")
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise FieldgateError(f"{file} cannot be read: {error.strerror or error}") from None
    return FormUpload(file.name, content, target, **fields)


async def send_form(
    connection: Connection, upload: FormUpload, language: str = "", on_progress: UploadProgress | None = None
) -> str:
    """Upload a form, and return the uid of the import."""
    body = MultipartBody(upload, on_progress)
    headers = {"Content-Type": body.content_type, "Content-Length": str(body.size), "Idempotency-Key": uuid.uuid4().hex}
    if language:
        headers["Accept-Language"] = language
    # KoboToolbox does not know the key: a repeated request would import the form twice.
    is_repeatable = await connection.is_fieldgate()
    response = await connection.upload("imports/", body.chunks, headers, is_repeatable=is_repeatable)
    try:
        return msgspec.json.decode(response.body, type=Import).uid
    except msgspec.MsgspecError as error:
        raise UnexpectedResponse(
            f"The server did not answer with an import: {error}", status=response.status, request_id=response.request_id
        ) from None


async def wait_for_import(
    connection: Connection,
    uid: str,
    language: str = "",
    timeout: float | None = None,
    on_status: StatusProgress | None = None,
) -> ImportResult:
    """Wait until an import has ended; return its assets or raise `ImportFailed`."""
    loop = asyncio.get_running_loop()
    end = None if timeout is None else loop.time() + timeout
    pause = FIRST_PAUSE
    while True:
        record = await connection.fetch(f"imports/{uid}/", (), _parse_import, language=language)
        if on_status:
            on_status(record.status)
        if record.status not in _RUNNING:
            break
        if end is not None and loop.time() + pause > end:
            raise ImportTimeout(f"The import {uid} is still running after {timeout:g} seconds.")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    warnings = _problems(record, "warnings")
    if record.status != "complete":
        message = record.messages.get("error") or record.messages.get("detail") or "The form was not imported."
        problems = _problems(record, "problems")
        raise ImportFailed(str(message), record=record, problems=problems, warnings=warnings)
    found = [each for key in ("created", "updated") for each in record.messages.get(key) or []]
    uids = dict.fromkeys(each["uid"] for each in found if isinstance(each, dict) and each.get("uid"))
    assets = [await connection.fetch(f"assets/{each}/", (), _parse_asset, language=language) for each in uids]
    return ImportResult(record, assets, warnings)


class MultipartBody:
    """A multipart body whose chunks are made while they are sent."""

    def __init__(self, upload: FormUpload, on_progress: UploadProgress | None = None) -> None:
        boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        media_type = mimetypes.guess_type(upload.filename)[0] or "application/octet-stream"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in upload.fields().items()
        ]
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quoted(upload.filename)}"\r\n'
            f"Content-Type: {media_type}\r\n\r\n"
        )
        self._before = "".join(parts).encode(errors="replace")
        self._content = upload.content
        self._after = f"\r\n--{boundary}--\r\n".encode()
        self._on_progress = on_progress
        self.size = len(self._before) + len(self._content) + len(self._after)

    async def chunks(self) -> AsyncIterator[bytes]:
        total = len(self._content)
        yield self._before
        for start in range(0, total, CHUNK_BYTES):
            chunk = self._content[start : start + CHUNK_BYTES]
            yield chunk
            if self._on_progress:
                self._on_progress(start + len(chunk), total)
        yield self._after


def _quoted(filename: str) -> str:
    """As browsers write it: percent codes for what would end the name."""
    return filename.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _parse_import(response: HTTPResponse) -> Import:
    return msgspec.json.decode(response.body, type=Import, strict=False)


def _parse_asset(response: HTTPResponse) -> Asset:
    return msgspec.json.decode(response.body, type=Asset, strict=False)


def _problems(record: Import, key: str) -> list[Problem]:
    try:
        return msgspec.convert(record.messages.get(key) or [], list[Problem], strict=False)
    except msgspec.ValidationError:
        return [Problem(message=str(each)) for each in record.messages[key]]
