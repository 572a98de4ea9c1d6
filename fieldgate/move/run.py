"""One run of move-in, from a source to the report."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from fieldgate_client.connection import ConnectionOptions

from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.assets.asset_writer import AssetWriter
from fieldgate.assets.store import AssetStore
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.imports.content_checker import SandboxContentChecker
from fieldgate.imports.sandbox.request_sandbox import RequestSandbox
from fieldgate.imports.sandbox.runner import SandboxLimits
from fieldgate.move.asset_mover import AssetMover, MoveResult
from fieldgate.move.event_mover import move_events
from fieldgate.move.folder import FolderSource
from fieldgate.move.folder_writer import read_identity
from fieldgate.move.people import People, read_table
from fieldgate.move.server_source import ServerSource
from fieldgate.move.source_assets import MoveError, Source
from fieldgate.move.team_mover import TeamMover
from fieldgate.settings import Settings

Progress = Callable[[int, int | None], None]


class MoveReport(msgspec.Struct, frozen=True):
    results: list[MoveResult]
    notes: list[str]  # about no asset
    created_events: int


@asynccontextmanager
async def open_source(
    text: str, accounts: Path | None, find_token: Callable[[], str], on_pause: Callable[[str], None]
) -> AsyncIterator[Source]:
    """Open a server or a folder."""
    source: Source
    if "://" in text:
        tokens = read_table(accounts, "username", "token") if accounts else {"": find_token()}
        source = ServerSource(
            text, tokens, ConnectionOptions(on_retry=lambda notice: on_pause(notice.reason))
        )
    else:
        source = FolderSource(Path(text))
    try:
        yield source
    finally:
        await source.close()


async def move(
    database: AsyncDatabase,
    settings: Settings,
    source: Source,
    people: People,
    show: Progress,
    *,
    is_dry_run: bool,
) -> MoveReport:
    if source.name == await read_identity(database):
        raise MoveError("This folder is from this database, which has all that is in it.")
    data_versions = DataVersions(database)
    listed = await source.list_assets()
    teams = TeamMover(database, data_versions, source.name, people)
    notes = [*source.refused, *await teams.move_all(source.teams, is_dry_run=is_dry_run)]
    sandbox = RequestSandbox(SandboxLimits(settings.import_memory, settings.import_seconds))
    checker = SandboxContentChecker(sandbox, settings.max_upload)
    count_stored = AssetStore(database, data_versions).count_stored_bytes
    quota = StorageQuota(settings.max_storage_per_user, count_stored)
    writer = AssetWriter(database, data_versions, checker, quota)
    mover = AssetMover(
        database,
        data_versions,
        writer,
        checker,
        source,
        people,
        max_upload=settings.max_upload,
        is_dry_run=is_dry_run,
    )
    results: list[MoveResult] = []
    try:
        for each in listed:
            show(len(results), len(listed))
            results.append(await mover.move(each))
        results += await mover.list_gone(listed)
    finally:
        sandbox.close()
    created, more = await asyncio.to_thread(
        move_events, database.sync, source.read_events(), is_dry_run=is_dry_run
    )
    return MoveReport(results, notes + more, created)
