"""XLSForms: import with progress, problems by sheet, row and column, and download."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote
from zipfile import is_zipfile

import anyio
import msgspec

from fieldgate_client.connection import Connection
from fieldgate_client.errors import (
    FieldgateError,
    InvalidRequest,
    NotAllowed,
    NotFound,
    UnexpectedResponse,
)
from fieldgate_client.exports.output_file import OutputFile
from fieldgate_client.records import Asset, Import, Problem
from fieldgate_client.response_body import ByteProgress
from fieldgate_client.server_url import API_ROOT
from fieldgate_client.sharing import asset_uid
from fieldgate_client.terminal_text import clean_line, clip_text, format_table

MAX_FORM_BYTES = (
    100 * 1024 * 1024
)  # servers have lower limits: Fieldgate 25 MiB, if the operator chose no other
IMPORTS_PATH = "imports/"
FIRST_PAUSE = 0.2  # seconds between two looks at an import, growing
LONGEST_PAUSE = 3.0
MAX_MESSAGE_CHARS = 2000  # KoboToolbox lists all its URLs in some messages
MAX_PLACE_CHARS = 32  # of the name of a sheet or column
MAX_SHOWN_PROBLEMS = 200
_RUNNING = frozenset({"created", "processing"})
_ASSET_LISTS = ("created", "updated")

ImportProgress = Callable[[Import], None]
UploadProgress = Callable[[int, int], None]  # bytes sent, bytes in all


class ImportFailed(FieldgateError):
    """The form was not imported. `problems` says why, by sheet, row and column; `str()` is a table of them."""

    def __init__(self, record: Import, *, status: int | None = None, request_id: str = "") -> None:
        text = (
            record.messages.get("error")
            or record.messages.get("detail")
            or "The form was not imported."
        )
        super().__init__(
            clean_line(str(text))[:MAX_MESSAGE_CHARS], status=status, request_id=request_id
        )
        self.record = record
        self.problems = _problems(record.messages, "problems")
        self.warnings = _problems(record.messages, "warnings")

    def __str__(self) -> str:
        if not self.problems:
            return self.message
        number = len(self.problems)
        found = f"{number} problem{'' if number == 1 else 's'}"
        return f"The form was not imported: {found}.\n{format_problems(self.problems)}"


class ImportTimeout(FieldgateError):
    """The import did not end in time. It continues on the server: `client.wait_for_import(error.uid)`."""

    def __init__(self, uid: str, timeout: float) -> None:
        super().__init__(
            f"The import {uid} is still running after {timeout:g} seconds. It continues on the server."
        )
        self.uid = uid


class ImportResult(msgspec.Struct, frozen=True):
    """The assets that an import created or updated, and its warnings. `str()` lists them, with a table of warnings."""

    record: Import
    assets: list[Asset]
    warnings: list[Problem]

    def __iter__(self) -> Iterator[Asset]:
        return iter(self.assets)

    def __len__(self) -> int:
        return len(self.assets)

    def __getitem__(self, position: int) -> Asset:
        return self.assets[position]

    def __str__(self) -> str:
        lines = [
            clean_line(f"{asset.uid} {asset.asset_type or 'asset'} {asset.name or ''}")
            for asset in self.assets
        ]
        if self.warnings:
            lines.append(format_problems(self.warnings, title="warning"))
        return "\n".join(lines)


class IssueMark(msgspec.Struct, frozen=True):
    """The cell of a problem or warning; `index` is its place in their list."""

    kind: Literal["problem", "warning"]
    index: int
    cell: int | None


class ExcerptRow(msgspec.Struct, frozen=True):
    marks: list[IssueMark]


class SheetExcerpt(msgspec.Struct, frozen=True):
    """The letters of some columns, and the rows with problems or warnings."""

    columns: list[str]
    header: ExcerptRow
    rows: list[ExcerptRow]


class FormCheck(msgspec.Struct, frozen=True, kw_only=True):
    """How an import of a form would end. Nothing was stored."""

    dry_run: Literal[True]
    status: Literal["complete", "error"]
    messages: dict[str, Any]
    sheets: list[SheetExcerpt] = []

    @property
    def problems(self) -> list[Problem]:
        """Why it would not be imported. A reason without a place is one problem."""
        if self.status == "complete":
            return []
        reason = Problem(
            message=str(self.messages.get("error", "")), code=self.messages.get("error_type")
        )
        return _problems(self.messages, "problems") or [reason]

    @property
    def warnings(self) -> list[Problem]:
        return _problems(self.messages, "warnings")


def read_form(path: str | Path) -> tuple[str, bytes]:
    """The name of a file and its content."""
    file = Path(path)
    if file.is_dir():
        raise InvalidRequest(f"{file} is a folder. Name the file of a form.")
    if file.exists() and not file.is_file():
        raise InvalidRequest(f"{file} is not a file.")
    try:
        size = file.stat().st_size
        if size > MAX_FORM_BYTES:
            raise InvalidRequest(
                f"{file} has {size} bytes. A form can have at most {MAX_FORM_BYTES}."
            )
        content = file.read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror or error}.") from None
    if not content:
        raise InvalidRequest(f"{file} is empty.")
    return os.fsencode(file.name).decode(errors="replace"), content  # also if the name is not UTF-8


async def send_form(
    connection: Connection,
    path: str | Path,
    destination: Asset | str | None = None,
    *,
    name: str = "",
    library: bool = False,
    desired_type: str = "",
    on_progress: UploadProgress | None = None,
) -> str:
    """Upload a form, and return the uid of the import. The destination is the asset to replace, its uid or its URL."""
    uid = asset_uid(destination or "")
    filename, content = read_form(path)
    is_fieldgate = await connection.is_fieldgate()
    if not is_fieldgate:
        # KoboToolbox does not read the name of the file, and cuts a name at its last dot.
        name = name + Path(filename).suffix if name else filename
    data = _fields(connection, uid, name, desired_type, library=library)
    # KoboToolbox does not know the key: a repeated request would import the form twice.
    return await connection.upload(
        IMPORTS_PATH,
        lambda: {"data": data, "files": {"file": (filename, _SentFile(content, on_progress))}},
        {"Idempotency-Key": uuid.uuid4().hex},
        lambda response: response.decode(Import).uid,
        is_repeatable=is_fieldgate,
    )


async def check_form(
    connection: Connection,
    path: str | Path,
    destination: Asset | str | None = None,
    *,
    name: str = "",
    library: bool = False,
    desired_type: str = "",
) -> FormCheck:
    """Check a form without importing it. A server that would import it gets nothing: raise `UnsupportedByServer`."""
    uid = asset_uid(destination or "")
    filename, content = read_form(path)
    await connection.require_dry_run(IMPORTS_PATH)
    data = _fields(connection, uid, name, desired_type, library=library)
    return await connection.upload(
        IMPORTS_PATH,
        lambda: {"data": data, "files": {"file": (filename, content)}},
        {},
        lambda response: response.decode(FormCheck),
        is_repeatable=True,
        parameters={"dry_run": "true"},
    )


def _fields(
    connection: Connection, uid: str, name: str, desired_type: str, *, library: bool
) -> dict[str, str]:
    fields = {
        "name": name,
        "destination": f"{connection.server}{API_ROOT}assets/{quote(uid, safe='')}/" if uid else "",
        "library": "true" if library else "false",  # KoboToolbox takes a missing one as true
        "desired_type": desired_type,
    }
    return {field: value for field, value in fields.items() if value}


class _SentFile(BytesIO):
    """A file that tells how much of it was read. After a lost connection, progress begins again."""

    def __init__(self, content: bytes, on_progress: UploadProgress | None) -> None:
        super().__init__(content)
        self._total = len(content)
        self._on_progress = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        if chunk and self._on_progress:
            self._on_progress(self.tell(), self._total)
        return chunk


async def wait_for_import(
    connection: Connection,
    uid: str,
    timeout: float | None = None,  # noqa: ASYNC109 -- that of the caller
    on_status: ImportProgress | None = None,
) -> ImportResult:
    """Wait until an import has ended; return its assets or raise `ImportFailed`."""
    try:
        with anyio.fail_after(timeout):
            return await _wait(connection, uid, on_status)
    except TimeoutError:
        raise ImportTimeout(uid, timeout or 0) from None


async def _wait(connection: Connection, uid: str, on_status: ImportProgress | None) -> ImportResult:
    path = f"imports/{quote(uid, safe='')}/"
    pause = FIRST_PAUSE
    while True:
        response, record = await connection.fetch(
            path, (), lambda response: (response, response.decode(Import))
        )
        if on_status:
            on_status(record)
        if record.status not in _RUNNING:
            break
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    if record.status != "complete":
        raise ImportFailed(record, status=response.status, request_id=response.request_id)
    assets = [await _fetch_asset(connection, each) for each in _asset_uids(record)]
    return ImportResult(record, assets, _problems(record.messages, "warnings"))


async def _fetch_asset(connection: Connection, uid: str) -> Asset:
    try:
        return await connection.fetch_json(f"assets/{quote(uid, safe='')}/", Asset)
    except (NotFound, NotAllowed):  # deleted or no longer shared since
        return Asset(uid=uid)


def _asset_uids(record: Import) -> list[str]:
    lists = [record.messages.get(key) for key in _ASSET_LISTS]
    found = [each for entries in lists if isinstance(entries, list) for each in entries]
    uids = [each.get("uid") for each in found if isinstance(each, dict)]
    return [*dict.fromkeys(uid for uid in uids if isinstance(uid, str) and uid)]


def _problems(messages: dict[str, Any], key: str) -> list[Problem]:
    entries = messages.get(key)
    return [_problem(each) for each in entries] if isinstance(entries, list) else []


def _problem(entry: Any) -> Problem:
    try:
        return msgspec.convert(entry, Problem, strict=False)
    except msgspec.ValidationError:
        return Problem(message=str(entry)[:MAX_MESSAGE_CHARS])


def format_problems(
    problems: Sequence[Problem], width: int | None = None, title: str = "problem"
) -> str:
    """A table with sheet, row, column and message, for the width of the terminal."""
    rows = [
        [
            clip_text(clean_line(each.sheet or ""), MAX_PLACE_CHARS),
            "" if each.row is None else str(each.row),
            clip_text(clean_line(each.column or ""), MAX_PLACE_CHARS),
            clip_text(clean_line(each.message), MAX_MESSAGE_CHARS),
        ]
        for each in problems[:MAX_SHOWN_PROBLEMS]
    ]
    width = width or shutil.get_terminal_size((100, 24)).columns
    table = format_table(["sheet", "row", "column", title], rows, width)
    more = len(problems) - MAX_SHOWN_PROBLEMS
    return f"{table}\n… and {more} more" if more > 0 else table


async def download_form(
    connection: Connection,
    asset: Asset | str,
    path: str | Path,
    on_progress: ByteProgress | None = None,
) -> Path:
    """Save a form as an xlsx file, complete or not at all. An existing file is replaced."""
    file = _checked(path)
    # KoboToolbox sends xlsx files for .xls and knows no .xlsx. Fieldgate sends old files as they are for .xls.
    suffix = ".xlsx" if await connection.is_fieldgate() else ".xls"
    address = f"assets/{quote(asset_uid(asset), safe='')}{suffix}"
    response = await connection.fetch(
        address, (), lambda sent: sent, accept="*/*", on_progress=on_progress
    )
    if response.status != HTTPStatus.OK or not is_zipfile(
        BytesIO(response.body)
    ):  # cut off, it has no end
        raise UnexpectedResponse(
            f"{response.url} did not send a complete Excel workbook.",
            status=response.status,
            request_id=response.request_id,
            url=response.url,
        )
    try:
        with OutputFile(file) as output:
            output.file.write(response.body)
            output.commit()
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror or error}.") from None
    return file


def _checked(path: str | Path) -> Path:
    file = Path(path)
    if file.is_dir():
        raise InvalidRequest(
            f"{file} is a folder. Name the file to write, such as {file / 'form.xlsx'}."
        )
    if not file.parent.is_dir():
        raise InvalidRequest(f"There is no folder {file.parent}.")
    return file
