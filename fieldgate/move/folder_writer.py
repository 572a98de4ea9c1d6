"""Move out: write assets, assignments, teams and events into a new folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Select, select

from fieldgate.accounts.tables import team_members, teams, users
from fieldgate.assets.routes.asset_records import AssetReader
from fieldgate.assets.routes.form_files import FormFiles
from fieldgate.assets.sharing.serializers import encode_assignments
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.assets.tables import COLLECTION, assets, is_live
from fieldgate.assets.workbook_downloads import XLS_SUFFIX, WorkbookWriter
from fieldgate.db import IDENTITY_TOPIC, AsyncDatabase, DataVersions, Snapshot, now, snapshot
from fieldgate.db.tables import topic_versions
from fieldgate.errors import NotFound
from fieldgate.events.tables import event_contents, events
from fieldgate.http.links import resolve_links
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.move.folder import (
    ASSETS,
    COLUMNS,
    EVENTS,
    FORMAT,
    INDEX,
    TEAM_MEMBERS,
    TEAMS,
    FolderIndex,
    encode_rows,
)
from fieldgate.move.source_assets import AssignmentRow, MoveError

_BY = Caller(is_superuser=True, credential="command")


async def read_identity(database: AsyncDatabase) -> str:
    """What a folder from this database is known by."""
    query = select(topic_versions.c.version).where(topic_versions.c.topic == IDENTITY_TOPIC)
    return f"database {await database.scalar(query)}"


class FolderWriter:
    def __init__(self, database: AsyncDatabase, folder: Path) -> None:
        data_versions = DataVersions(database)
        self._database = database
        self._folder = folder
        self._store = AssetStore(database, data_versions)
        self._sharing = AssignmentStore(database, data_versions)
        self._reader = AssetReader(database, self._store, self._sharing)
        self._files = FormFiles(self._store, WorkbookWriter())

    async def write(
        self, user_id: int | None, on_progress: Callable[[int, int | None], None]
    ) -> int:
        """Write everything, or what belongs to one user. Return the number of assets. Assets are read one by one."""
        try:
            for name in ("", "forms", "assignments"):
                (self._folder / name).mkdir(mode=0o700, parents=not name)
        except FileExistsError:
            raise MoveError(f"{self._folder} exists. Name a new folder.") from None
        async with snapshot(self._database) as state:
            found = await state.rows(_select_assets(user_id))
            await self._write_teams(state, user_id)
            with (self._folder / EVENTS).open("wb") as file:
                if user_id is None:  # events belong to nobody
                    async for batch in state.batches(
                        select(event_contents.c.content)
                        .join_from(events, event_contents, events.c.id == event_contents.c.id)
                        .where(~events.c.is_demo)
                    ):
                        file.writelines(bytes(row[0]) + b"\n" for row in batch)
        written = 0
        with (self._folder / ASSETS).open("wb") as file:
            for asset_id, uid, name, asset_type in found:
                try:
                    file.write(await self._write_asset(asset_id, uid, name, asset_type) + b"\n")
                    written += 1
                except NotFound:  # deleted meanwhile
                    (self._folder / f"assignments/{uid}.csv").unlink(missing_ok=True)
                on_progress(written, len(found))
        index = FolderIndex(
            FORMAT, await read_identity(self._database), f"{now():%Y-%m-%dT%H:%M:%SZ}"
        )
        (self._folder / INDEX).write_bytes(msgspec.json.encode(index) + b"\n")
        return written

    async def _write_asset(self, asset_id: int, uid: str, name: str, asset_type: str) -> bytes:
        """Write the files of an asset. Return its record."""
        asset = await self._sharing.authorize(uid, _BY)
        grants = await self._sharing.load_visible(asset, _BY)
        encoded = encode_assignments(grants, grants.list_all(with_teams=True), Language.ENGLISH)
        rows = msgspec.json.decode(
            resolve_links(bytes(encoded), b"", b""), type=list[AssignmentRow]
        )
        owner = grants.grantees_by_id[grants.scope.owner_id].username
        others = [row for row in rows if row.holder != owner]
        (self._folder / f"assignments/{uid}.csv").write_bytes(encode_rows(others))
        if asset_type != COLLECTION:
            try:
                workbook = await self._files.load_newest(asset_id, asset_type, XLS_SUFFIX, 0)
            except NotFound:  # it does not fit into a workbook; the record has its content
                workbook = None
            if workbook is not None:
                (self._folder / f"forms/{uid}{workbook.suffix}").write_bytes(workbook.data)
        await self._store.count_download(_BY, asset, name)
        return resolve_links(bytes(await self._reader.detail(uid, _BY, Language.ENGLISH)), b"", b"")

    async def _write_teams(self, state: Snapshot, user_id: int | None) -> None:
        teams_of_user = select(team_members.c.team_id).where(team_members.c.user_id == user_id)
        is_meant = teams.c.id.in_(select(teams.c.id) if user_id is None else teams_of_user)
        accounts, members = users.alias(), users.alias()
        named = select(accounts.c.uid, teams.c.name, teams.c.description).join_from(
            teams, accounts, accounts.c.id == teams.c.id
        )
        roles = (
            select(accounts.c.uid, members.c.username, team_members.c.role)
            .join_from(team_members, teams, teams.c.id == team_members.c.team_id)
            .join(accounts, accounts.c.id == teams.c.id)
            .join(members, members.c.id == team_members.c.user_id)
        )
        tables: dict[str, Select[Any]] = {TEAMS: named, TEAM_MEMBERS: roles}
        for name, query in tables.items():
            rows = await state.rows(query.where(is_meant).order_by(teams.c.id))
            (self._folder / name).write_bytes(encode_csv([COLUMNS[name], *map(tuple, rows)]))


def _select_assets(user_id: int | None) -> Select[Any]:
    """Collections first."""
    query = select(assets.c.id, assets.c.uid, assets.c.name, assets.c.asset_type).where(is_live())
    query = query if user_id is None else query.where(assets.c.owner_id == user_id)
    return query.order_by(assets.c.asset_type != COLLECTION, assets.c.id)
