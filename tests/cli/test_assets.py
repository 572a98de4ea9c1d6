"""`fieldgate assets purge`."""

import asyncio
import os
import pty
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import select

from fieldgate.db.log import log
from fieldgate.settings import Settings
from tests.assets.sharing.sharing_team import SharingTeam
from tests.assets.sharing.test_trash import actions, age, create, delete, trash_of
from tests.conftest import run_service
from tests.data.sql import all_rows
from tests.processes import FIELDGATE_COMMAND, run_command


async def test_purge(tmp_path: Path) -> None:
    async with run_service(Settings(data=tmp_path)) as service:
        team = await SharingTeam.create(service)
        old, new = [await create(team, name=name) for name in ("[/bold] “Älter”", "New")]
        assert [await delete(team, uid) for uid in (old, new)] == [204, 204]
        await age(team, old, days=8)

        def purge(*options: str, code: int = 0) -> str:
            done = run_command("assets", "purge", *options, data=tmp_path)
            assert done.returncode == code, done.stderr
            return done.stdout + done.stderr

        assert purge() == "nothing to delete\n"
        shown = purge("--older-than", "7d", "--dry-run")
        assert (old in shown, "[/bold] “Älter”" in shown, new in shown) == (True, True, False)
        assert shown.endswith("1 would be deleted\n")
        assert "Use --yes." in purge("--older-than", "7d", code=1)
        assert "expected a duration" in purge("--older-than", "soon", code=2)
        assert await trash_of(team, "owner") == {old, new}
        assert purge("--older-than", "7d", "--yes").endswith("1 deleted for good\n")
        assert await trash_of(team, "owner") == {new}
        assert await actions(team, old) == [("in-trash", "owner"), ("delete", "")]
        by = all_rows(service, select(log.c.credential).where(log.c.action == "delete"))
        assert [row.credential for row in by] == ["command"]


@pytest.mark.nightly
async def test_purge_asks_on_a_terminal(tmp_path: Path) -> None:
    async with run_service(Settings(data=tmp_path)) as service:
        team = await SharingTeam.create(service)
        uid = await create(team)
        assert await delete(team, uid) == 204
        await age(team, uid)
        for answer, left in (("n", {uid}), ("y", set())):
            terminal, other = pty.openpty()
            os.write(terminal, f"{answer}\n".encode())
            command = [str(FIELDGATE_COMMAND), "assets", "purge", "--data", str(tmp_path)]
            done = await asyncio.to_thread(
                subprocess.run, command, stdin=other, capture_output=True, check=False
            )
            os.close(terminal)
            os.close(other)
            assert b"Delete these 1 for good?" in done.stdout
            assert await trash_of(team, "owner") == left
