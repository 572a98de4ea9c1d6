"""Exports of events as an Excel workbook."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import suppress

from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.hxl import HASHTAG_ROW
from fieldgate.events.export.sheet_writer import LargeWorkbook
from fieldgate.events.record_shapes import COLUMNS, NUMBER_COLUMNS
from fieldgate.http.response.csv_safe import decode_csv

CHUNK_BYTES = 256 * 1024


async def write_xlsx(batches: AsyncIterable[list[bytes]], context: FileContext) -> AsyncGenerator[bytes, None]:
    """Write a workbook to a temporary file, then stream it. The batches are rows of CSV.

    A workbook is a zip archive with its index at the end, so it is only complete after the last row. Empty chunks are
    yielded meanwhile: they let the caller notice that the client has left.
    """
    header = [COLUMNS, HASHTAG_ROW] if context.with_hashtags else [COLUMNS]
    with tempfile.TemporaryFile(prefix="fieldgate-export-") as file:
        workbook = await asyncio.to_thread(LargeWorkbook, file, "events", header, NUMBER_COLUMNS)
        is_complete = False
        try:
            async for rows in batches:
                await asyncio.to_thread(_add_rows, workbook, rows)
                yield b""
            await asyncio.to_thread(workbook.close)
            is_complete = True
        finally:
            if not is_complete:
                with suppress(Exception):  # the error that ended the export is the one to report
                    workbook.abandon()
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _add_rows(workbook: LargeWorkbook, rows: list[bytes]) -> None:
    workbook.add(decode_csv(b"".join(rows)))
