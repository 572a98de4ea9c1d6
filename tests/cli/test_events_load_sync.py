"""`fieldgate events load` and `fieldgate events sync`, run as commands."""

import gzip
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from fieldgate.cli.output import PROGRESS_SECONDS_VARIABLE
from fieldgate.db.log import log
from fieldgate.events.model import Event
from fieldgate.events.tables import events as events_table
from tests.data.events import load_events, stored_event
from tests.data.sql import all_rows, read_sql
from tests.databases import create_database
from tests.events.event_service import make_event
from tests.events.sync.go_server import GoServer, go_event
from tests.processes import FIELDGATE_COMMAND, ServerProcess, run_command

EVENT_COUNT = 4000

encode = msgspec.json.encode


def record(id_: int, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "name": f"Flood {id_}", "disaster_start_date": "2026-01-01", **fields}


def run_load(tmp_path: Path, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    done = run_command("events", "load", *arguments, data=tmp_path / "data", stdin=stdin)
    notice = f"Creating a new database: {tmp_path / 'data' / 'fieldgate.db'}\n"
    return done.returncode, done.stdout, done.stderr.removeprefix(notice)


def test_load(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(encode([record(1), record(2)]))
    (tmp_path / "two.ndjson.gz").write_bytes(
        gzip.compress(encode(record(3)) + b"\n" + encode(record(4, glide=5)))
    )
    names = [str(tmp_path / "one.json"), str(tmp_path / "two.ndjson.gz")]
    status, output, errors = run_load(tmp_path, *names, "--visibility", "public")
    assert (status, output) == (1, "created 3, changed 0, unchanged 0, failed 1\n")
    message = "glide: “5” is not valid. Enter text of at most 18 characters."
    assert errors == f"{names[1]}, record 2 (event 4): {message}\n"
    status, output, errors = run_load(tmp_path, "-", stdin=encode(record(5)).decode())
    assert (status, output.splitlines()[0], errors) == (
        0,
        "created 1, changed 0, unchanged 0, failed 0",
        "",
    )
    assert run_load(tmp_path, "-")[1] == "created 0, changed 0, unchanged 0, failed 0\n"
    logged = sqlite3.connect(tmp_path / "data" / "fieldgate.db").execute(
        "SELECT action, credential, details FROM log"
    )
    assert [
        (action, credential, msgspec.json.decode(details)) for action, credential, details in logged
    ] == [
        ("load", "command", {"created": 3, "failed": 1}),
        ("load", "command", {"created": 1}),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{\n", "This is not valid JSON: "),
        (b"hello", "This is neither JSON nor a CSV table of events. The columns are: appeals.id, "),
        (b"id,name\n\xff", "cannot be read: 'utf-8' codec"),
        (b"\x1f\x8b\x08broken", "cannot be read: "),
        (
            b"PK\x03\x04\x14\x00\xff",
            ": Workbooks and ZIP files are not accepted. Use CSV, NDJSON or JSON.",
        ),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_load_of_invalid_files(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    status, _, errors = run_load(tmp_path, str(tmp_path / "file"))
    assert status == 1
    assert errors.startswith(f"Error: {tmp_path / 'file'}")
    assert message in errors
    assert "Traceback" not in errors


NOT_PUBLIC = [
    "3 events are not public: only users who are logged in can see them",
    "2 of these because the record does not say who can see it. To make such events public, load the same files again "
    "with --visibility public",
]


def test_load_says_which_events_are_not_public(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    records = encode(
        [record(1), record(2, visibility=None), record(3, visibility=3), record(4, visibility=2)]
    )
    (tmp_path / "records.json").write_bytes(records)
    path = str(tmp_path / "records.json")
    status, output, _ = run_load(tmp_path, path)
    assert (status, output.splitlines()) == (
        0,
        ["created 4, changed 0, unchanged 0, failed 0", *NOT_PUBLIC],
    )
    assert run_load(tmp_path, path)[1].splitlines() == [
        "created 0, changed 0, unchanged 4, failed 0",
        *NOT_PUBLIC,
    ]
    wrong = run_load(tmp_path, path, "--visibility", "everybody")
    assert wrong[0] == 2
    assert "choose one of public, movement, societies, secretariat, not 'everybody'." in wrong[2]
    assert run_load(tmp_path, path, "--visibility", "societies")[1].startswith(
        "created 0, changed 2, unchanged 2, "
    )
    assert run_load(tmp_path, path, "--visibility", "public")[1].splitlines() == [
        "created 0, changed 2, unchanged 2, failed 0",
        "1 event is not public: only users who are logged in can see it",
    ]
    assert run_load(tmp_path, path)[1].startswith("created 0, changed 0, unchanged 4, "), (
        "the visibility is kept"
    )
    assert run_load(tmp_path, path, "--visibility", "3")[1].startswith(
        "created 0, changed 0, unchanged 4, "
    )


async def test_load_refuses_to_mix_with_demo_events(tmp_path: Path) -> None:
    assert run_command("migrate", data=tmp_path / "data").returncode == 0
    database = f"sqlite:///{tmp_path / 'data' / 'fieldgate.db'}"
    await load_events(database, [make_event(1), make_event(2)], is_demo=True)
    status, _, errors = run_load(tmp_path, "-", stdin=encode(record(1)).decode())
    assert status == 1
    assert errors == "Error: This database has demo events. Delete them with --replace-demo.\n"
    status, output, _ = run_load(tmp_path, "-", "--replace-demo", stdin=encode(record(1)).decode())
    assert status == 0
    assert output.startswith("deleted 2 demo events\ncreated 1, changed 0, unchanged 0, failed 0\n")
    assert kinds_of_events(database) == {"real"}


@pytest.mark.parametrize(
    "content", ['{"id": 1, "name": "Flood", "demo": true}', "id,name,demo\r\n1,Flood,True\r\n"]
)
async def test_load_refuses_demo_events(tmp_path: Path, content: str) -> None:
    assert run_command("migrate", data=tmp_path / "data").returncode == 0
    start = content.replace('"demo"', '"disaster_start_date": "2026-01-01", "demo"')
    start = start.replace(",demo", ",disaster_start_date,demo").replace(",True", ",2026-01-01,True")
    status, _, errors = run_load(tmp_path, "-", stdin=start)
    assert (
        status,
        "is a demo event, which is invented. To load demo events, use --demo." in errors,
    ) == (1, True)
    database = f"sqlite:///{tmp_path / 'data' / 'fieldgate.db'}"
    assert kinds_of_events(database) == set()
    assert run_load(tmp_path, "-", "--demo", stdin=start)[0] == 0
    assert kinds_of_events(database) == {"demo"}
    await load_events(database, [make_event(2)], replaces_demo=True)
    assert "This database has real events." in run_load(tmp_path, "-", "--demo", stdin=start)[2]


def kill_after(count: int, command: list[Any], path: Path) -> None:
    """Run a synchronization until `count` events are written, then kill it."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while reached(path) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL, "it was running"


async def fill_database(folder: Path, events: list[Event], **options: bool) -> None:
    database = f"sqlite:///{folder / 'fieldgate.db'}"
    await create_database(database)
    await load_events(database, events, **options)


def kinds_of_events(database_url: str) -> set[str]:
    rows = all_rows(database_url, select(events_table.c.is_demo).distinct())
    return {"demo" if row.is_demo else "real" for row in rows}


def many_events() -> list[Event]:
    timestamp = datetime(2020, 1, 1, tzinfo=UTC)
    return [
        make_event(id_, updated_at=timestamp, name={"en": f"Flood {id_}", "ar": f"فيضان {id_}"})
        for id_ in range(1, EVENT_COUNT + 1)
    ]


def all_pages(server: ServerProcess, language: str) -> list[Any]:
    with server.client() as client:
        found, url = [], f"{server.base_url}/api/v2/event/?limit=1000"
        while url:
            page = client.get(url, headers={"Accept-Language": language}).json()
            found += page["results"]
            url = page["next"]
    return found


def reached(path: Path) -> int:
    """The offset up to which the list is saved."""
    query = "SELECT max(json_extract(position, '$.end')) FROM event_syncs"
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            return int(connection.execute(query).fetchone()[0] or 0)
    except sqlite3.OperationalError:
        return 0


@pytest.mark.nightly
async def test_killed_sync_continues(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    await fill_database(source, many_events())
    with ServerProcess(source, "--no-worker") as server:
        command: list[Any] = [FIELDGATE_COMMAND, "events", "sync", server.base_url, "--data", copy]
        kill_after(1000, command, copy / "fieldgate.db")
        assert 1000 <= reached(copy / "fieldgate.db") < EVENT_COUNT

        done = run_command("events", "sync", server.base_url, data=copy)
        assert done.returncode == 0, done.stderr  # a slow machine prints progress there
        assert "continued a run that had been stopped\n" in done.stdout
        second = run_command("events", "sync", server.base_url, data=copy)
        assert second.stdout.endswith("created 0, changed 0, unchanged 0, failed 0\n")

        with ServerProcess(copy, "--no-worker") as copy_server:
            for language in ("en", "fr", "ar", "es"):
                assert all_pages(copy_server, language) == all_pages(server, language), (
                    "everybody sees the copy"
                )


def test_sync_deletes_what_the_server_no_longer_has(tmp_path: Path) -> None:
    with GoServer([go_event(id_) for id_ in range(1, 31)]) as server:
        assert run_command("events", "sync", server.base_url, data=tmp_path).returncode == 0
        for id_ in (1, 2, 3, 4):
            del server.events[id_]
        aborted = run_command("events", "sync", server.base_url, data=tmp_path)
        assert aborted.returncode == 1
        assert aborted.stdout.endswith("created 0, changed 0, unchanged 26, failed 0\n")
        assert aborted.stderr == (
            f"Error: {server.base_url} no longer lists 4 of 30 events. That is more than 10 %, so none was "
            "deleted. Check the server. To delete them, run the command again with --max-missing 100. To keep "
            "them, use --keep-missing.\n"
        )
        kept = run_command("events", "sync", server.base_url, "--keep-missing", data=tmp_path)
        assert (kept.returncode, kept.stderr) == (0, "")
        done = run_command("events", "sync", server.base_url, "--max-missing", "20", data=tmp_path)
        assert done.stdout.endswith(
            "requested 4 by id that are not in the list\ncreated 0, changed 0, unchanged 26, failed 0, deleted 4\n"
        )


@pytest.mark.nightly
async def test_sync_from_another_fieldgate(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    events = [
        make_event(id_, auto_generated_source="WHO scraper", countries_for_preview=())
        for id_ in range(1, 31)
    ]
    await fill_database(source, [*events, make_event(31, countries_for_preview=(84,))])
    run_command(
        "user",
        "create",
        "amina",
        "--password-stdin",
        "--superuser",
        data=source,
        stdin="correct horse",
    )
    token = run_command("token", "create", "amina", data=source).stdout.strip()
    with ServerProcess(source, "--no-worker") as server, server.client() as client:
        assert run_command("events", "sync", server.base_url, data=copy).returncode == 0
        headers = {"Authorization": f"Token {token}"}
        record = client.get("/api/v2/event/2/", headers=headers).json()
        client.put("/api/v2/event/2/", json={**record, "parent_event": 3}, headers=headers)
        client.delete("/api/v2/event/1/", headers=headers)
        for options in ((), ("--full",)):
            done = run_command("events", "sync", server.base_url, *options, data=copy)
            assert (done.returncode, done.stderr) == (0, "")
        with ServerProcess(copy, "--no-worker") as copy_server, copy_server.client() as copy_client:
            for language in ("en", "fr"):
                assert all_pages(copy_server, language) == all_pages(server, language)
            for path in ("mini/", "31/", "2/", "deleted/", "?auto_generated_source=WHO scraper"):
                expected = client.get(f"/api/v2/event/{path}").json()
                found = copy_client.get(f"/api/v2/event/{path}").json()
                for page in (expected, found):
                    for each in page.get("results", []):
                        each.pop("deleted_at", None)
                assert found == expected


async def test_sync_errors(tmp_path: Path) -> None:
    assert "is not a valid URL" in run_command("events", "sync", "nowhere", data=tmp_path).stderr
    bad = run_command("events", "sync", "http://127.0.0.1:9", "--since", "soon", data=tmp_path)
    assert (
        "enter a date or time such as 2026-11-15 or 2026-11-15T08:30:00Z, not 'soon'." in bad.stderr
    )
    both = run_command(
        "events", "sync", "http://127.0.0.1:9", "--since", "2026-01-01", "--full", data=tmp_path
    )
    assert "--since and --full cannot be used together." in both.stderr
    await fill_database(tmp_path, [make_event(1)], is_demo=True)
    demo = run_command("events", "sync", "http://127.0.0.1:9", data=tmp_path)
    assert demo.stderr == "Error: This database has demo events. Delete them with --replace-demo.\n"


async def test_demo_events_are_created_and_replaced(database_url: str, tmp_path: Path) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    done = run_command("events", "demo", "2100", data=tmp_path, environment=environment)
    assert re.fullmatch(r"created 2100 demo events in \d+\.\d s\n", done.stdout), done.stderr
    assert kinds_of_events(database_url) == {"demo"}
    last = stored_event(database_url, 2100)
    assert last is not None

    again = run_command("events", "demo", "3", data=tmp_path, environment=environment)
    assert again.returncode == 1
    assert (
        again.stderr
        == "Error: This database already has demo events. Replace them with --replace.\n"
    )
    assert stored_event(database_url, 2100) == last

    done = run_command(
        "events", "demo", "3", "--replace", "--seed", "5", data=tmp_path, environment=environment
    )
    assert done.stdout.startswith("created 3 demo events in ")
    assert len(all_rows(database_url, select(events_table.c.id))) == 3
    assert stored_event(database_url, 4) is None
    with read_sql(database_url) as connection:
        entries = connection.execute(
            select(log.c.action, log.c.credential, log.c.details).order_by(log.c.id)
        )
        assert entries.all() == [
            ("demo", "command", {"created": 2100}),
            ("demo", "command", {"created": 3}),
        ]


async def test_demo_events_are_refused_beside_real_events(
    database_url: str, tmp_path: Path
) -> None:
    environment = {"FIELDGATE_DATABASE_URL": database_url}
    run_command("events", "demo", "1", data=tmp_path, environment=environment)
    event = stored_event(database_url, 1)
    assert event is not None
    await load_events(database_url, [event], replaces_demo=True)
    for options in ((), ("--replace",)):
        done = run_command("events", "demo", "3", *options, data=tmp_path, environment=environment)
        assert done.returncode == 1
        assert (
            done.stderr
            == "Error: This database has real events. Choose another folder for demo events: --data DIR\n"
        )
    assert kinds_of_events(database_url) == {"real"}


OFTEN = {PROGRESS_SECONDS_VARIABLE: "0.01"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    assert run_command("migrate", data=tmp_path).returncode == 0
    return tmp_path


def test_demo_prints_lines(data: Path) -> None:
    done = run_command("events", "demo", "4500", data=data, environment=OFTEN)
    lines = done.stderr.splitlines()
    assert all(re.fullmatch(r"\d+ s: \d+ of 4500 events", line) for line in lines), done.stderr
    counts = [int(line.split()[2]) for line in lines]
    assert counts == sorted(counts)
    assert {0, 2000, 4000} <= set(counts), "between transactions"
    assert done.stdout.startswith("created 4500 demo events")


def test_sync_with_a_server_that_does_not_answer(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command: list[str | Path] = [FIELDGATE_COMMAND, "events", "sync", base_url, "--data", data]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **OFTEN}
        ) as process:
            assert process.stderr is not None
            line = next((line for line in process.stderr if "waiting" in line), "")
            process.kill()
    assert re.fullmatch(rf"\d+ s: 0 events, waiting for {base_url}\n", line)
