"""kill -9 while assets move in: after the next run, nothing is doubled and nothing is missing."""

import asyncio
import csv
import os
import signal
import sys
from pathlib import Path

import pytest
from sqlalchemy import func, select

from fieldgate.assets.tables import assets, versions
from fieldgate.move.tables import moved_assets
from fieldgate.settings import Settings
from tests.client.stand_ins.kobo import TOKEN, uid_of
from tests.conftest import BASE_URL, Service, nightly_only, run_service
from tests.data.sql import read_sql
from tests.move.kobo_stand_in import counted, project
from tests.move.places import Place

PEOPLE = [f"user{number}" for number in range(10)]
TIMEOUT_SECONDS = 300

# The command, which kills itself with SIGKILL at one stage.
SELF_KILLING_COMMAND = """
import os, signal, sys
from fieldgate.accounts.invitations import InvitationStore
from fieldgate.assets.asset_writer import AssetWriter
from fieldgate.cli import main
from fieldgate.move import asset_mover
from fieldgate.move.server_source import ServerSource

STAGES = {
    "reading": (ServerSource, "read_record", False, 2),
    "user created": (InvitationStore, "create", False, 3),
    "link created": (InvitationStore, "create", True, 3),
    "asset written": (asset_mover, "write_known", False, 5),
    "before commit": (asset_mover, "write_known", True, 7),
    "after commit": (AssetWriter, "create", True, 4),
}
stage, *arguments = sys.argv[1:]
if stage in STAGES:
    owner, name, is_done_first, left = STAGES[stage]
    step = getattr(owner, name)

    async def killing(*given, **options):
        global left
        left -= 1
        if not left and not is_done_first:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await step(*given, **options)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, killing)
main(arguments)
"""
STAGES = (
    "reading",
    "user created",
    "link created",
    "asset written",
    "before commit",
    "after commit",
)


async def run(stage: str, url: str, *arguments: str) -> int:
    environment = {**os.environ, "FIELDGATE_DATABASE_URL": url, "FIELDGATE_SOURCE_TOKEN": TOKEN}
    environment["FIELDGATE_BASE_URL"] = BASE_URL
    command = (sys.executable, "-c", SELF_KILLING_COMMAND, stage, "move-in", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.DEVNULL
    )
    return await asyncio.wait_for(process.wait(), TIMEOUT_SECONDS)


@pytest.mark.parametrize("count", [20, *nightly_only(200)])
async def test_nothing_is_doubled_or_lost(database_url: str, tmp_path: Path, count: int) -> None:
    kobo = project(count, PEOPLE)
    files = [tmp_path / f"links{number}.csv" for number in range(len(STAGES) + 1)]
    async with run_service(Settings(database_url=database_url, data=tmp_path)) as service:
        target = Place(service)
        await target.add_user("amina")
        with kobo.server:
            for stage, file in zip((*STAGES, "no stage"), files, strict=True):
                arguments = (kobo.server.base_url, "--yes", "--invite", str(file))
                status = await run(stage, database_url, *arguments)
                assert status == (-signal.SIGKILL if stage in STAGES else 0), stage
        moved = kobo.assets.keys() - {uid_of(1)}
        with read_sql(service) as connection:
            uids = connection.execute(select(assets.c.uid)).scalars().all()
            known = connection.execute(select(moved_assets.c.source_uid)).scalars().all()
            version_count = connection.execute(select(func.count()).select_from(versions)).scalar()
        assert sorted(uids) == sorted(known) == sorted(moved)
        assert version_count == len(moved)
        for uid in moved:
            rows = await target.request("GET", f"assets/{uid}/permission-assignments/")
            assert counted(rows).keys() == kobo.held(uid)
        await check_links(service, files)


async def check_links(service: Service, files: list[Path]) -> None:
    """Everybody has a link, and the newest one works."""
    links: dict[str, str] = {}
    for file in files:
        for row in csv.DictReader(file.read_text().splitlines()):
            links[row["username"]] = row["link"]
    assert links.keys() == {*PEOPLE}
    for username, link in links.items():
        page = await service.get(link.removeprefix(BASE_URL))
        assert page.status_code == 200, username
        assert username in page.text
