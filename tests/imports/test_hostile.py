"""Hostile files: a clear error within the limits, a worker that stays alive and small, no files written."""

import asyncio
import json
import os
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from fieldgate.imports.sandbox import runner
from fieldgate.imports.xlsform import Form, FormRejected, Library
from tests.data.accounts import create_user
from tests.data.commands import run_command
from tests.data.imports import all_imports, store_import
from tests.imports import hostile
from tests.imports.conftest import OpenHarness
from tests.imports.hostile import COMPLETE, FAST_CASES, MEBIBYTE, REFUSED, SLOW_CASES, HostileFile
from tests.imports.test_worker import PATH, ImportHarness
from tests.imports.workbooks import SURVEY, xlsx
from tests.imports.xlsform import workbooks
from tests.imports.xlsform.test_content_sample import WORKBOOK
from tests.imports.xlsform.workbooks import csv_with_sections, ods, xls, xlsm

ERROR = "error"
MUTATIONS = int(os.environ.get("MUTATIONS", "60"))
SEED = int(os.environ.get("MUTATION_SEED", "20261115"))
READERS = 3
MEMORY = 512 * MEBIBYTE
SECONDS = 15  # a busy machine needs more than an idle one
LIMITS = runner.SandboxLimits(MEMORY, SECONDS)
WORKER_MEMORY = 256 * MEBIBYTE  # of the worker itself, which holds the largest file and its result
TIMEOUT_SECONDS = 300.0  # for one heavy file


@pytest.fixture
async def harness(open_harness: OpenHarness) -> AsyncIterator[ImportHarness]:
    async with open_harness(import_memory=MEMORY, import_seconds=SECONDS) as harness:
        yield harness


async def check_worker_is_well(harness: ImportHarness) -> None:
    """Check that the worker still processes imports."""
    record = await harness.import_workbook(xlsx(), filename="normal.xlsx")
    assert record["status"] == COMPLETE


def result_type(status: str, messages: dict[str, Any]) -> str:
    return str(messages["error_type"]) if status == ERROR else status


def check_error(messages: dict[str, Any]) -> None:
    """Check that an error has a type and a message."""
    assert messages["error_type"]
    assert messages["error"].endswith(".")
    assert "Traceback" not in messages["error"]


def files_outside() -> list[Path]:
    """Return files that a hostile archive may have written outside."""
    folders = {Path("/"), Path("/tmp"), Path(tempfile.gettempdir()), Path.cwd(), Path.cwd().parent}
    return [found for folder in folders for found in folder.glob(f"*{hostile.FORBIDDEN_NAME}*")]


# One of each kind; `make nightly` runs the others.
ALWAYS = (
    "deep XML",
    "a billion laughs",
    "path names in the zip",
    "half a file",
    "a workbook called pdf",
    "a page",
    "an xls that loops",
)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ALWAYS else pytest.param(name, marks=pytest.mark.nightly)
        for name in FAST_CASES
    ],
)
async def test_hostile_file_only_fails_its_own_import(harness: ImportHarness, name: str) -> None:
    file = FAST_CASES[name]
    response = await harness.service.client.post(
        PATH, headers=harness.headers, files={"file": (file.filename, file.build())}, data={}
    )
    if file.expected == REFUSED:
        assert response.status_code == 400, response.text
        assert response.json()["file"]
    else:
        assert response.status_code == 201, response.text
        assert await harness.worker.process_one()
        record = await harness.get(response.json()["url"])
        assert result_type(record["status"], record["messages"]) == file.expected, record[
            "messages"
        ]
        if record["status"] == ERROR:
            check_error(record["messages"])
        else:
            asset = await harness.get(f"/api/v2/assets/{record['messages']['created'][0]['uid']}/")
            assert "root:" not in json.dumps(asset["content"])
            assert (
                await harness.service.get(asset["xform_link"], headers=harness.headers)
            ).status_code == 200
    assert files_outside() == []
    await check_worker_is_well(harness)


@pytest.mark.parametrize("name", ["formulas as text", "formulas in a csv"])
async def test_formulas_are_text(harness: ImportHarness, name: str) -> None:
    """Formulas and scripts are stored as text, and escaped in the XForm."""
    file = FAST_CASES[name]
    asset = await harness.asset(await harness.import_workbook(file.build(), filename=file.filename))
    labels = [row["label"] for row in asset["content"]["survey"]]
    assert labels == [[hostile.FORMULA], [hostile.COMMAND], [hostile.SCRIPT]]
    xform = (await harness.service.get(asset["xform_link"], headers=harness.headers)).text
    assert hostile.SCRIPT not in xform
    assert "&lt;script&gt;" in xform


async def test_nothing_is_fetched_or_calculated(harness: ImportHarness) -> None:
    """Formulas keep their stored value; links, external sheets and document types are not followed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        record = await harness.import_workbook(hostile.real_formulas(listener.getsockname()[1]))
        if record["status"] == ERROR:
            check_error(record["messages"])
        else:
            content = (await harness.asset(record))["content"]
            assert content["survey"][2]["label"] == ["claimed"]
        with pytest.raises(BlockingIOError):
            listener.accept()
    await check_worker_is_well(harness)


LONG = "x" * 3_000


async def test_long_titles_and_names_are_truncated_or_refused(harness: ImportHarness) -> None:
    """Also in replaced assets and in collections."""
    titled = xlsx(survey=SURVEY, settings=(("form_title",), (LONG,)))
    first = await harness.import_workbook(xlsx())
    uid = first["messages"]["created"][0]["uid"]
    library = xlsx(
        library=(
            ("block", "type", "name", "label"),
            (LONG, "text", "a", "A"),
            (LONG, "text", "b", "B"),
        )
    )
    for book, fields in (
        (titled, {}),
        (titled, {"destination": uid}),
        (library, {"library": "true"}),
    ):
        record = await harness.import_workbook(book, **fields)
        assert record["status"] in (COMPLETE, ERROR)
        if record["status"] == ERROR:
            check_error(record["messages"])
    await check_worker_is_well(harness)


@pytest.mark.nightly
async def test_worker_survives_heavy_files(tmp_path: Path) -> None:
    """Zip bombs and huge sheets, sent to one worker process: each import ends, and the process stays small."""
    address = f"sqlite:///{tmp_path / 'fieldgate.db'}"
    assert (await run_command(address, "migrate")).exit_code == 0
    user_id = create_user(address, "a")

    async def send(file: HostileFile) -> str:
        book = await asyncio.to_thread(file.build)
        return store_import(address, user_id, file.filename, book)

    async def ended(uid: str) -> Row[Any]:
        limit = time.monotonic() + TIMEOUT_SECONDS
        while True:
            [row] = [row for row in all_imports(address) if row.uid == uid]
            if row.status != "processing":
                return row
            assert time.monotonic() < limit, f"{row.filename} is stuck"
            assert worker.returncode is None, "the worker died"
            await asyncio.sleep(0.05)

    environment = {
        **os.environ,
        "FIELDGATE_DATABASE_URL": address,
        "FIELDGATE_IMPORT_MEMORY": f"{MEMORY // MEBIBYTE}MiB",
        "FIELDGATE_IMPORT_SECONDS": f"{SECONDS}s",
    }
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "fieldgate", "worker", env=environment
    )
    try:
        for name, file in SLOW_CASES.items():
            row = await ended(await send(file))
            assert result_type(row.status, row.messages) == file.expected, (name, row.messages)
            assert row.attempts == 1, name
            if row.status == ERROR:
                assert row.messages["error"], name
            normal = await ended(await send(HostileFile(xlsx, COMPLETE)))
            assert normal.status == COMPLETE, f"after {name}"
            assert peak_memory(worker.pid) < WORKER_MEMORY, f"after {name}"
    finally:
        with suppress(ProcessLookupError):
            worker.terminate()
        await worker.wait()


def peak_memory(pid: int) -> int:
    """Return the peak memory of a process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


BOOKS = {
    write.__name__: write(WORKBOOK) for write in (workbooks.xlsx, xlsm, xls, ods, csv_with_sections)
}
ARCHIVES = ("xlsx", "xlsm", "ods")


def mutation(number: int) -> bytes:
    """Return a damaged file, of each kind in turn. Every other archive is damaged inside a part, so that it opens."""
    chance = random.Random(SEED * 1_000_000 + number)
    turn, index = divmod(number, len(BOOKS))
    kind = list(BOOKS)[index]
    damage = hostile.mutated_part if kind in ARCHIVES and turn % 2 else hostile.mutated
    return damage(BOOKS[kind], chance)


def outcome(number: int) -> str:
    """Parse a mutation. Return how it ended, and check that the result can be stored."""
    try:
        read = runner.parse_in_sandbox(mutation(number), "household", LIMITS)
    except FormRejected as refused:
        return refused.error_type if refused.error.text else "nothing said"
    except runner.SandboxFailure as failed:
        return f"died: {failed}"
    assert isinstance(read, Form | Library)
    if isinstance(read, Form):
        text = json.dumps((read.content, read.summary, read.title, read.xform), ensure_ascii=False)
        text.encode()
        assert "\\u0000" not in text
    return type(read).__name__


def test_mutated_files_are_parsed_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A damaged file is parsed, refused with a reason, or stopped by a limit."""
    for book in BOOKS.values():
        assert isinstance(runner.parse_in_sandbox(book, "household", LIMITS), Form)
    begun = time.monotonic()
    with ThreadPoolExecutor(READERS) as pool:
        outcomes = list(pool.map(_outcome_with_note, range(MUTATIONS)))
    counted = Counter(outcomes)
    failed = [number for number, each in enumerate(outcomes) if each.startswith("died")]
    with capsys.disabled():
        print(
            f"\n{MUTATIONS} mutations in {time.monotonic() - begun:.0f} s: {dict(counted.most_common())}"
        )
        if failed:
            print(f"died: numbers {failed[:20]} of seed {SEED}")
    assert not {"", "nothing said", "died: fault"} & counted.keys()
    assert len(counted) > 2, "some are read and some refused"


def _outcome_with_note(number: int) -> str:
    try:
        return outcome(number)
    except BaseException as error:
        error.add_note(f"mutation {number} of seed {SEED}")
        raise
