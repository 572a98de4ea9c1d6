"""The access review as a CSV or XLSX file.

All rows are read before the first is sent, so that nothing is open in the database while a client reads. Memory holds
them as CSV: some megabytes.
"""

import tempfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Select

from fieldgate.db import AsyncDatabase, Timestamp, snapshot
from fieldgate.http.response.csv_safe import decode_csv, encode_csv
from fieldgate.overload import run_in_thread

MAX_FILE_ROWS = 50_000
COLUMNS = (
    "user", "asset", "asset_name", "owner", "permission", "inherited", "date_created", "expires_at", "last_seen",
    "team", "via",
)  # fmt: skip


class FileRow(NamedTuple):
    """The columns of the query that a file has, as the drivers return them: times are microseconds."""

    username: str
    asset_uid: str
    asset_name: str
    owner: str
    permission: str
    is_inherited: bool
    created_at: int
    expires_at: int | None
    last_seen: int | None
    team_name: str | None
    team_uid: str | None
    is_team: bool

    @property
    def cells(self) -> tuple[str, ...]:
        team = self.team_name or self.team_uid or ""
        return (
            "" if self.is_team else self.username,
            self.asset_uid,
            self.asset_name,
            self.owner,
            self.permission,
            "true" if self.is_inherited else "",
            _time(self.created_at),
            _time(self.expires_at),
            _time(self.last_seen),
            team if self.is_team else "",
            "" if self.is_team else team,
        )


async def stream_review(
    database: AsyncDatabase, query: Select[Any], *, is_csv: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the file of a query that selects the columns of `FileRow`.

    After an empty chunk another export may work.
    """
    parts: list[bytes] = []
    async with snapshot(database) as state:
        async for rows in state.batches(query):
            parts.append(await run_in_thread(_encode_rows, rows))
            yield b""
    if is_csv:
        for part in (encode_csv([COLUMNS]), *parts):
            yield part
        return
    with tempfile.TemporaryDirectory(prefix="fieldgate-review-") as folder:
        workbook = ReviewWorkbook(Path(folder))
        try:
            for part in parts:
                await run_in_thread(workbook.add, part)
                yield b""
            data = await run_in_thread(workbook.complete)
        finally:
            workbook.close_files()
    yield data


def _encode_rows(rows: Sequence[Sequence[Any]]) -> bytes:
    return encode_csv([FileRow(*row).cells for row in rows])


class ReviewWorkbook:
    """A workbook in a folder. Rows are written to a file as they come."""

    def __init__(self, folder: Path) -> None:
        import xlsxwriter  # most processes never need it

        self._file = folder / "review.xlsx"
        self._workbook = xlsxwriter.Workbook(
            str(self._file), {"constant_memory": True, "tmpdir": str(folder)}
        )
        self._sheet = self._workbook.add_worksheet("access")
        self._sheet.freeze_panes(1, 0)
        self._row = 0
        self._write(COLUMNS)

    def add(self, part: bytes) -> None:
        """Add rows of CSV."""
        for cells in decode_csv(part):
            self._write(cells)

    def complete(self) -> bytes:
        self._workbook.close()
        return self._file.read_bytes()

    def close_files(self) -> None:
        self._sheet._opt_close()

    def _write(self, cells: Sequence[str]) -> None:
        for column, text in enumerate(cells):
            # What looks like the markup of a workbook is written as it is with a space behind it.
            self._sheet.write_string(
                self._row, column, f"{text} " if text.startswith("<r>") else text
            )
        self._row += 1


def _time(microseconds: int | None) -> str:
    return "" if microseconds is None else str(msgspec.to_builtins(Timestamp.unpack(microseconds)))
