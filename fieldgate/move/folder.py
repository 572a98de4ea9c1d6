"""A folder that everything can be moved out to, and in from again.

    index.json            what it is; written last, so that a folder without it is not complete
    assets.ndjson         records of assets, as the API sends them, collections first
    forms/UID.xlsx        workbooks (.xls if that was uploaded)
    assignments/UID.csv   who may do what with an asset
    teams.csv, team_members.csv, events.ndjson

Nothing outside the folder is read: no name leads out of it, and symbolic links are refused.
"""

import csv
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any

import msgspec

from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.assets.write_schemas import MAX_NAME_CHARS
from fieldgate.http.response.csv_safe import decode_csv, encode_csv
from fieldgate.move.source_assets import (
    MAX_ROWS,
    AssignmentRow,
    ListedAsset,
    ListedRecord,
    MoveError,
    Source,
    SourceAsset,
    SourceRecord,
    SourceTeam,
    UnreadableAsset,
    collections_first,
    is_uid,
)

FORMAT = 1
INDEX, ASSETS, EVENTS = "index.json", "assets.ndjson", "events.ndjson"
TEAMS, TEAM_MEMBERS = "teams.csv", "team_members.csv"
WORKBOOK_SUFFIXES = (".xlsx", ".xls")
COLUMNS = {TEAMS: ("uid", "name", "description"), TEAM_MEMBERS: ("team", "user", "role")}
ASSIGNMENT_COLUMNS = ("user", "permission", "partial_permissions", "expires_at", "inherited")
is_database = re.compile(r"database [0-9-]{1,30}").fullmatch  # as `read_identity` names it
MAX_FILE_BYTES = 256 * 1024 * 1024  # as of a response


class FolderIndex(msgspec.Struct, frozen=True):
    format: int
    source: str  # the database it is from
    date: str


class FolderSource(Source):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offsets: dict[str, int] = {}
        try:
            index = msgspec.json.decode(self._read(INDEX), type=FolderIndex)
            self.name = index.source
            self.refused: list[str] = []
            self.teams = self._read_teams()
            for name in (ASSETS, EVENTS):
                self._open(name).close()
        except (OSError, ValueError, RecursionError) as error:
            raise MoveError(f"{folder} is no complete folder of move-out: {error}.") from None
        if index.format != FORMAT or not is_database(self.name):
            raise MoveError(f"{folder} was written by another version of Fieldgate.")

    async def list_assets(self) -> list[ListedAsset]:
        found = dict[str, ListedAsset]()
        with self._open(ASSETS) as file:
            for offset, line in _lines(file):
                try:
                    each = msgspec.json.decode(line, type=ListedRecord)
                except (ValueError, RecursionError) as error:
                    raise MoveError(f"{ASSETS} cannot be read: {error}.") from None
                if not is_uid(each.uid):
                    raise MoveError(f"{ASSETS} has a uid that is not valid.")
                found[each.uid] = ListedAsset(each.uid, each.owner__username or "", each.asset_type)
                self._offsets[each.uid] = offset
        return collections_first(list(found.values()))

    async def read(self, listed: ListedAsset) -> SourceAsset:
        asset = await super().read(listed)
        for suffix in WORKBOOK_SUFFIXES:
            name = f"forms/{listed.uid}{suffix}"
            if (self._folder / name).is_file():
                workbook = self._read(name)
                workbook_name = asset.name[: MAX_NAME_CHARS - len(suffix)] + suffix
                return msgspec.structs.replace(
                    asset, workbook=workbook, workbook_name=workbook_name
                )
        return asset

    async def read_record(self, listed: ListedAsset) -> SourceRecord:
        try:
            with self._open(ASSETS) as file:
                file.seek(self._offsets[listed.uid])
                return msgspec.json.decode(file.readline(MAX_FILE_BYTES), type=SourceRecord)
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableAsset(str(error)) from None

    async def read_rows(self, _: ListedAsset, uid: str) -> list[AssignmentRow]:
        try:
            rows = self._read_table(f"assignments/{uid}.csv", ASSIGNMENT_COLUMNS)
            return [_to_row(each) for each in islice(rows, MAX_ROWS + 1)]
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableAsset(str(error)) from None

    def read_events(self) -> Iterator[bytes]:
        with self._open(EVENTS) as file:
            for _, line in _lines(file):
                yield line

    def _open(self, name: str) -> IO[bytes]:
        path = self._folder.resolve() / name
        if path.resolve() != path or not path.is_file():
            raise OSError(f"{name} is a symbolic link, or no file")
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")

    def _read(self, name: str) -> bytes:
        with self._open(name) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise ValueError(f"{name} is too large")
        return data

    def _read_table(self, name: str, columns: Sequence[str]) -> Iterator[dict[str, str]]:
        """The rows of a table with these columns, also if a spreadsheet has saved it."""
        data = self._read(name).removeprefix(BOM_UTF8)
        if b"\0" in data:
            raise ValueError(f"{name} has null characters")
        try:
            rows = decode_csv(data)
            header = next(rows, [])
            if not {*columns} <= {*header}:
                raise ValueError(
                    f"{name} must have the columns {','.join(columns)}, with commas in between"
                )
            for row in rows:
                yield dict(zip_longest(header, row, fillvalue=""))
        except csv.Error as error:
            raise ValueError(f"{name} cannot be read: {error}") from None

    def _read_teams(self) -> list[SourceTeam]:
        members: dict[str, dict[str, str]] = {}
        for row in self._read_table(TEAM_MEMBERS, COLUMNS[TEAM_MEMBERS]):
            members.setdefault(row["team"], {})[row["user"]] = row["role"]
        return [
            SourceTeam(each["uid"], each["name"], each["description"], members.get(each["uid"], {}))
            for each in self._read_table(TEAMS, COLUMNS[TEAMS])
            if is_uid(each["uid"])
        ]


def encode_rows(rows: Iterable[AssignmentRow]) -> bytes:
    """The table of an asset's assignments. What people have through teams is left out: the team is there."""
    return encode_csv([ASSIGNMENT_COLUMNS, *(_to_cells(row) for row in rows if row.via is None)])


def _to_cells(row: AssignmentRow) -> Sequence[str]:
    partial = (
        msgspec.json.encode(row.partial_permissions).decode() if row.partial_permissions else ""
    )
    return *row.key, partial, row.expires_at or "", "yes" if row.inherited else ""


def _to_row(cells: dict[str, str]) -> AssignmentRow:
    partial, user = cells["partial_permissions"], cells["user"]
    is_team = user.startswith(TEAM_PREFIX)
    return AssignmentRow(
        cells["permission"],
        None if is_team else user,
        user.removeprefix(TEAM_PREFIX) if is_team else None,
        msgspec.json.decode(partial, type=list[Any]) if partial else None,
        cells["expires_at"],
        cells["inherited"] == "yes",
    )


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their offsets."""
    while line := file.readline(MAX_FILE_BYTES):
        yield file.tell() - len(line), line
