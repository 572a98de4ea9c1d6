"""The access review as a CSV or XLSX file.

All rows are read before the first is sent, so that nothing is open in the database while a client reads. Memory holds
them as CSV: some megabytes.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Select

from fieldgate.assets.workbook_downloads import write_workbook
from fieldgate.assets.workbook_sheets import ContentSheet
from fieldgate.db import Database, Timestamp, now, snapshot
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


async def stream_review(database: Database, query: Select[Any], *, is_csv: bool) -> AsyncGenerator[bytes, None]:
    """Yield the file of a query that selects the columns of `FileRow`."""
    yield b""  # the response begins, and with it the watch for a client that leaves
    parts = [encode_csv([COLUMNS])]
    async with snapshot(database) as state:
        async for rows in state.batches(query):
            parts.append(await run_in_thread(_encode_rows, rows))
    if not is_csv:
        parts = [await run_in_thread(_to_workbook, parts)]
    for part in parts:
        yield part


def _encode_rows(rows: Sequence[Sequence[Any]]) -> bytes:
    return encode_csv([FileRow(*row).cells for row in rows])


def _to_workbook(parts: Sequence[bytes]) -> bytes:
    rows = decode_csv(b"".join(parts[1:]))
    cells = [dict(zip(COLUMNS, map(_no_markup, row), strict=True)) for row in rows]
    return write_workbook([ContentSheet("access", [*COLUMNS], cells)], now())


def _no_markup(text: str) -> str:
    """What looks like the markup of a workbook is written as it is with a space behind it."""
    return f"{text} " if text.startswith("<r>") else text


def _time(microseconds: int | None) -> str:
    return "" if microseconds is None else str(msgspec.to_builtins(Timestamp.unpack(microseconds)))
