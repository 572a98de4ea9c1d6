"""`fieldgate move-in` and `move-out` as people run them."""

import stat
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from openpyxl import load_workbook

from tests.client.stand_ins.kobo import TOKEN
from tests.conftest import BASE_URL
from tests.move.kobo_stand_in import KoboServer
from tests.processes import run_command

VARIABLE = "FIELDGATE_SOURCE_TOKEN"


def run(data: Path, *arguments: str, token: str = TOKEN) -> CompletedProcess[str]:
    environment = {"FIELDGATE_BASE_URL": BASE_URL} | ({VARIABLE: token} if token else {})
    return run_command(*arguments, data=data, environment=environment)


def create_user(data: Path, name: str) -> None:
    done = run_command(
        "user", "create", name, "--password-stdin", data=data, stdin="a long password\n"
    )
    assert done.returncode == 0, done.stderr


def test_there_and_back(tmp_path: Path) -> None:
    kobo, data, other = KoboServer(), tmp_path / "data", tmp_path / "other"
    named = kobo.add(1, name="=1+1 \u202e\x1b[31mred")
    kobo.add(2, name="Plain")
    kobo.rows[named] = [("omar", "view_asset", None), ("lena", "view_asset", None)]
    create_user(data, "amina")
    report, links, folder = tmp_path / "report.xlsx", tmp_path / "links.csv", tmp_path / "out"
    with kobo.server:
        address = kobo.server.base_url
        planned = run(data, "move-in", address, "--report", str(report))
        done = run(data, "move-in", address, "--yes", "--invite", str(links))
        again = run(data, "move-in", address, "--yes")
    assert planned.returncode == done.returncode == again.returncode == 0, (
        planned.stderr + done.stderr
    )
    assert "lena is not here. Not assigned: view_asset" in planned.stdout
    assert planned.stdout.endswith(
        "assets: to create 2, to change 0, unchanged 0, kept as they are here 0, not moved 0\n"
        "Nothing was changed. To do it, add --yes.\n"
    )
    assert "\x1b" not in planned.stdout
    assert "\u202e" not in planned.stdout
    assert done.stdout.startswith(f"users created (links, valid for a day, in {links}): ")
    assert done.stdout.endswith(
        "assets: created 2, changed 0, unchanged 0, kept as they are here 0, not moved 0\n"
    )
    assert "unchanged 2" in again.stdout
    assert stat.S_IMODE(links.stat().st_mode) == 0o600
    assert len(links.read_text().splitlines()) == 3
    shown = planned.stdout + planned.stderr + done.stdout + done.stderr + links.read_text()
    assert TOKEN not in shown
    rows = list(load_workbook(report).active.iter_rows(values_only=True))
    assert rows[0][:3] == ("action", "type", "name")
    assert {row[2] for row in rows[1:]} == {"=1+1 [31mred", "Plain"} or "=1+1" in str(rows)
    assert all(
        cell.data_type == "s"
        for row in load_workbook(report).active.iter_rows()
        for cell in row
        if cell.value
    )

    out = run(data, "move-out", str(folder))
    assert (out.returncode, out.stdout) == (0, "assets written 2\n"), out.stderr
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    create_user(other, "amina")
    back = run(other, "move-in", str(folder), "--yes", "--invite", str(tmp_path / "more.csv"))
    assert "assets: created 2" in back.stdout, back.stderr
    same = run(data, "move-in", str(folder), "--yes")
    assert "This folder is from this database" in same.stderr


@pytest.mark.parametrize(
    ("arguments", "token", "message"),
    [
        (
            ("move-in", "http://127.0.0.1:1"),
            "",
            "There is no terminal to ask for the token. Set FIELDGATE_SOURCE_TOKEN.",
        ),
        (("move-in", "http://a:b@127.0.0.1:1"), TOKEN, "Do not write credentials into the URL"),
        (("move-in", "ftp://127.0.0.1"), TOKEN, "It must begin with https://"),
        (("move-in", "nowhere"), TOKEN, "nowhere is no complete folder of move-out"),
        (
            ("move-in", "http://127.0.0.1:1", "--users", "FILE"),
            TOKEN,
            "must have the columns source and username",
        ),
        (
            ("move-in", "http://127.0.0.1:1", "--accounts", "FILE"),
            TOKEN,
            "must have the columns username and token",
        ),
        (
            ("move-in", "http://127.0.0.1:1", "--accounts", "none.csv"),
            TOKEN,
            "none.csv cannot be read",
        ),
        (
            ("move-in", "http://127.0.0.1:1", "--report", "none/r.xlsx"),
            TOKEN,
            "There is no folder none for the report.",
        ),
        (("move-out", "new", "--user", "nobody"), TOKEN, "The user nobody does not exist."),
        (("move-out", "."), TOKEN, "exists. Name a new folder."),
    ],
)
def test_errors_say_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], token: str, message: str
) -> None:
    create_user(tmp_path / "data", "amina")
    (tmp_path / "table.csv").write_text("one,two\nx,y\n")
    given = [str(tmp_path / "table.csv") if each == "FILE" else each for each in arguments]
    done = run(tmp_path / "data", *given, token=token)
    assert done.returncode == 1, done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr
