"""Downloading a form as an Excel workbook."""

from __future__ import annotations

from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from zipfile import is_zipfile

from fieldgate_client.connection import Connection
from fieldgate_client.errors import InvalidRequest, UnexpectedResponse
from fieldgate_client.exports.output_file import OutputFile
from fieldgate_client.records import Asset
from fieldgate_client.response_body import ByteProgress
from fieldgate_client.sharing import asset_uid


async def download_form(
    connection: Connection, asset: Asset | str, path: str | Path, on_progress: ByteProgress | None = None
) -> Path:
    """Save a form as an xlsx file, complete or not at all. An existing file is replaced."""
    file = _checked(path)
    # KoboToolbox sends xlsx files for .xls and knows no .xlsx. Fieldgate sends old files as they are for .xls.
    suffix = ".xlsx" if await connection.is_fieldgate() else ".xls"
    address = f"assets/{quote(asset_uid(asset), safe='')}{suffix}"
    response = await connection.download(address, on_progress=on_progress)
    if response.status != HTTPStatus.OK or not is_zipfile(BytesIO(response.body)):  # cut off, it has no end
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
        raise InvalidRequest(f"{file} is a folder. Name the file to write, such as {file / 'form.xlsx'}.")
    if not file.parent.is_dir():
        raise InvalidRequest(f"There is no folder {file.parent}.")
    return file
